// SPDX-License-Identifier: BSD-3-Clause
// The Legendre transform of one element: a small matrix along each of its two or three axes.
// Legendre polynomials are even or odd, and the points lie symmetrically, so that along all axes
// but the first half of the products are enough. Made for each number of points, and for what the
// processor has; the result is the same to the bit whichever it is.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace pillion::stages::truncate {

constexpr int fewest_points = 2, most_points = 16;

/// A matrix as the kernels want it.
struct alignas(64) Operator {
  std::array<double, most_points * most_points> rows{};     ///< [row][column]
  std::array<double, most_points * most_points> columns{};  ///< [column][row], rows padded with 0
};

/// Of a matrix of n x n, row after row, whose rows or columns belong to even and odd polynomials in
/// turn and whose others to points that lie symmetrically.
inline Operator operator_of(const std::vector<double>& matrix, int n) {
  Operator out;
  for (int row = 0; row < n; ++row)
    for (int column = 0; column < n; ++column) {
      const double value = matrix[static_cast<size_t>(row * n + column)];
      out.rows[static_cast<size_t>(row * n + column)] = value;
      out.columns[static_cast<size_t>(column * most_points + row)] = value;
    }
  return out;
}

/// Arithmetic that is worth making for a processor.
struct Kernels {
  /// Along all axes of the values of an element; `from` and `to` are not the same.
  void (*analyse)(const Operator& by, const double* from, double* to);
  void (*synthesise)(const Operator& by, const double* from, double* to);
  /// Largest magnitude; not a number if some value isn't, or is infinite.
  double (*largest)(const double* values, int count);
  double (*sum_of_squares)(const double* values, int count);
  /// Sum of the squares of what rounding to multiples of a step changes, in units of the step.
  double (*rounding_error)(const double* values, int count, double per_step);
  /// The multiples, in units of `unit`; returns how many are not 0.
  int (*multiples)(const double* values, int count, double per_step, double unit, double* to);
  /// Of those whose magnitude is below a limit.
  double (*squares_below)(const double* values, int count, double limit);
  double (*weighted_squares)(const double* values, const double* weights, int count);
};

/// The best for this processor, of elements with that many points along each of two or three axes.
/// `at_most` 0: what every one has, 1: AVX2, 2: AVX-512.
const Kernels& kernels_of(int points, int axes, int at_most = 2);

/// A value of fewer steps than this becomes 0, where plain rounding would make half a step of it a
/// whole one: what that adds to the error costs less than the coefficients that it saves.
constexpr double dead_zone = 0.62;

}  // namespace pillion::stages::truncate
