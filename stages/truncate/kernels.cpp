// SPDX-License-Identifier: BSD-3-Clause
// The kernels, compiled for each number of points and each kind of processor.
#include "kernels.hpp"

#include <pillion/error.hpp>
#include <string>
#include <utility>

namespace pillion::stages::truncate {
namespace {

#define PILLION_KERNELS(NAME, VECTOR, ...)                                                      \
  namespace NAME {                                                                              \
  using V = kernel::VECTOR;                                                                     \
  template <int N, int axes>                                                                    \
  __VA_ARGS__ void analyse(const Operator& by, const double* from, double* to) {                \
    kernel::transform<N, axes, true, V>(by, from, to);                                          \
  }                                                                                             \
  template <int N, int axes>                                                                    \
  __VA_ARGS__ void synthesise(const Operator& by, const double* from, double* to) {             \
    kernel::transform<N, axes, false, V>(by, from, to);                                         \
  }                                                                                             \
  __VA_ARGS__ double largest(const double* values, int count) {                                 \
    return kernel::largest<V>(values, count);                                                   \
  }                                                                                             \
  __VA_ARGS__ double sum_of_squares(const double* values, int count) {                          \
    return kernel::sum_over<V>(values, count, kernel::Square<V>{});                             \
  }                                                                                             \
  __VA_ARGS__ double rounding_error(const double* values, int count, double per_step) {         \
    return kernel::sum_over<V>(values, count, kernel::RoundingError<V>{per_step});              \
  }                                                                                             \
  __VA_ARGS__ int multiples(const double* values, int count, double per_step, double unit,      \
                            double* to) {                                                       \
    return kernel::multiples<V>(values, count, per_step, unit, to);                             \
  }                                                                                             \
  __VA_ARGS__ double squares_below(const double* values, int count, double limit) {             \
    return kernel::sum_over<V>(values, count, kernel::SquareBelow<V>{limit});                   \
  }                                                                                             \
  __VA_ARGS__ double weighted_squares(const double* values, const double* weights, int count) { \
    return kernel::weighted_squares<V>(values, weights, count);                                 \
  }                                                                                             \
  template <int axes, int... N>                                                                 \
  const Kernels& of_axes(int points, std::integer_sequence<int, N...>) {                        \
    static const Kernels all[] = {                                                              \
        {analyse<fewest_points + N, axes>, synthesise<fewest_points + N, axes>, largest,        \
         sum_of_squares, rounding_error, multiples, squares_below, weighted_squares}...};       \
    return all[points - fewest_points];                                                         \
  }                                                                                             \
  const Kernels& of(int points, int axes) {                                                     \
    constexpr std::make_integer_sequence<int, most_points - fewest_points + 1> all;             \
    return axes == 2 ? of_axes<2>(points, all) : of_axes<3>(points, all);                       \
  }                                                                                             \
  }

PILLION_KERNELS(plain, Two)
#ifdef __x86_64__
PILLION_KERNELS(avx2, Four, __attribute__((target("avx2"))))
PILLION_KERNELS(avx512, Four, __attribute__((target("avx2,avx512f,avx512dq,avx512vl"))))
#endif

}  // namespace

const Kernels& kernels_of(int points, int axes, int at_most) {
  if (points < fewest_points || points > most_points)
    throw Error(ErrorCode::Stage, "elements with " + std::to_string(points) +
                                      " points along an axis; from 2 to 16 can be transformed");
#ifdef __x86_64__
  if (at_most >= 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    return avx512::of(points, axes);
  if (at_most >= 1 && __builtin_cpu_supports("avx2")) return avx2::of(points, axes);
#endif
  return plain::of(points, axes);
}

}  // namespace pillion::stages::truncate
