// SPDX-License-Identifier: BSD-3-Clause
// The choice of a step, or of the coefficients that are kept. Whatever is chosen has been measured:
// by its coefficients if these define the error of the values, by the values otherwise.
#include "element.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../common/element_coding.hpp"

namespace pillion::stages::truncate {
namespace {

constexpr double tiny_loss =
    1 - 1e-9;  ///< for the rounding of sums, and "affine" not quite being so
/// The error at one point of an element, a corner, in units of the root mean square: where to
/// begin.
constexpr double usual_peak = 20;
constexpr int none = std::numeric_limits<int>::min();

/// Numbers beyond these would overflow in a decoder, or be too small for its arithmetic.
double highest(bool single) { return single ? 0x1p120 : 0x1p1000; }
double lowest(bool single) { return single ? 0x1p-100 : 0x1p-960; }
/// Multiples up to this are exact in the type of the field, and found again by division.
double most_steps(bool single) { return single ? 0x1p21 : 0x1p40; }

int64_t count_kept(const double* values, int size) {
  return size - std::count(values, values + size, 0.0);
}

double squared(double x) { return x * x; }

}  // namespace

ElementTruncation::ElementTruncation(const LobattoBasis& basis, bool single, int axes)
    : points_(static_cast<int>(basis.size())),
      size_(static_cast<int>(points_in(basis.size(), axes))),
      single_(single),
      volume_(volume_of_reference(axes)),
      reference_(weight_of_point(basis, axes, 0) / volume_),
      kernels_(kernels_of(points_, axes)),
      analysis_(operator_of(basis.to_legendre, points_)),
      synthesis_(operator_of(basis.to_values, points_)),
      largest_kept_(kernels_),
      scaled_(static_cast<size_t>(size_)),
      all_(scaled_),
      some_(scaled_),
      values_(scaled_) {}

/// A bound on what the arithmetic of the transforms, in any order of sums, and of a field in single
/// precision adds to the error: the matrices are orthogonal in the norm of the quadrature, and
/// their magnitudes are at most sqrt(n) in it.
double ElementTruncation::slack(double most, const Geometry& geometry, Norm norm) const {
  const double n = points_, epsilon = std::numeric_limits<double>::epsilon() / 2;
  const double of_norm =
      norm == Norm::rms ? std::sqrt(geometry.stretch) : 1 / std::sqrt(reference_);
  const double storing = single_ ? 0x1p-23 : 0;
  return most * (6 * n * n * std::sqrt(n) * epsilon + storing) * of_norm;
}

double ElementTruncation::measure(const Work& work, const double* differences) {
  if (is_spectral(work)) return std::sqrt(kernels_.sum_of_squares(differences, size_) / volume_);
  kernels_.synthesise(synthesis_, differences, values_.data());
  return measure_values(work, values_.data());
}

/// Of values in an element that is not affine, or at points.
double ElementTruncation::measure_values(const Work& work, const double* values) const {
  if (work.norm == Norm::largest) return kernels_.largest(values, size_);
  return std::sqrt(kernels_.weighted_squares(values, work.geometry.shares.data(), size_));
}

/// Of coefficients that are rounded, by themselves alone.
double ElementTruncation::spectral_error(double step) const {
  return step * std::sqrt(kernels_.rounding_error(all_.data(), size_, 1 / step) / volume_);
}

double ElementTruncation::measure_rounded(const Work& work, double step) {
  if (is_spectral(work)) return spectral_error(step);
  kernels_.multiples(all_.data(), size_, 1 / step, step, some_.data());
  for (int i = 0; i < size_; ++i) some_[i] = all_[i] - some_[i];
  return measure(work, some_.data());
}

/// The error of coefficients that is within the bound whatever the values, as a part of its square.
double ElementTruncation::safe_share(const Work& work) const {
  return work.norm == Norm::rms ? 1 / work.geometry.stretch : reference_;
}

/// The largest step found at which an error is within a bound, from a guess on. The error grows
/// with the step all but everywhere; what is found has been looked at, and depends on nothing else.
/// With an error above `enough` the next step would hardly do, and is not tried. Index `none` if
/// there is no such step.
template <class ErrorOf>
ElementTruncation::Found ElementTruncation::search(int guess, double bound, double enough,
                                                   ErrorOf&& error_of) {
  constexpr int usual = 8, most = 40;
  Found good{none, 0};
  int index = guess, bad = std::numeric_limits<int>::max();
  for (int tried = 1; tried <= most; ++tried) {
    const double error = error_of(step_at(index));
    const bool is_within = error <= bound;
    if (is_within) good = {index, error};
    else bad = index;
    if (good.index != none && (bad - 1 == good.index || tried >= usual || error > enough)) break;
    const double ratio = std::clamp(bound / error, 1e-3, 2.0);
    const int jump = static_cast<int>(std::floor(steps_per_octave * std::log2(ratio)));
    index += is_within ? std::max(jump, 1) : std::min(jump, -1);
    if (index >= bad || index <= good.index) index = good.index + (bad - good.index) / 2;
  }
  return good;
}

Outcome ElementTruncation::round(const Work& work, int octaves, double* out) {
  const double most = kernels_.largest(all_.data(), size_);
  const double bound = work.norm == Norm::rms ? work.bound : work.bound / usual_peak;
  // From here on nothing is left, which is more than may go.
  const double nothing = 2 * most;
  auto found = search(index_below(0.55 * bound), bound, bound, [&](double step) {
    return step < nothing ? spectral_error(step) : std::numeric_limits<double>::infinity();
  });
  if (!is_spectral(work) && found.index != none)
    found = search(found.index, work.bound, 0.975 * work.bound,
                   [&](double step) { return measure_rounded(work, step); });
  if (found.index == none) return {};
  const double step = step_at(found.index),
               shown = step_at(found.index + octaves * steps_per_octave);
  if (most >= most_steps(single_) * step || shown < lowest(single_)) return {};
  const int kept = kernels_.multiples(all_.data(), size_, 1 / step, shown, out);
  return {shown, std::ldexp(found.error, octaves), kept};
}

Outcome ElementTruncation::keep(const Work& work, int octaves, double* out) {
  constexpr int tries = 12;
  const double unit = std::ldexp(1.0, octaves);
  double bound = work.norm == Norm::rms ? work.bound : work.bound / usual_peak;
  for (int i = 0; i < tries; ++i) {
    if (i == tries - 1) bound = work.bound * std::sqrt(safe_share(work));
    some_ = all_;
    largest_kept_.drop(some_, volume_ * squared(bound));
    for (int p = 0; p < size_; ++p) {
      out[p] = some_[p] * unit;
      some_[p] = all_[p] - some_[p];
    }
    const double error = measure(work, some_.data());
    if (error <= work.bound)
      return {not_rounded, std::ldexp(error, octaves), count_kept(out, size_)};
    bound *= std::min(0.98, 0.995 * work.bound / error);
  }
  return {};
}

Outcome ElementTruncation::truncate(const double* values, const Geometry& geometry,
                                    const Rule& rule, double* coefficients) {
  const Outcome untouched{as_values, 0, size_};
  const double most = kernels_.largest(values, size_);
  const double rounding = slack(most, geometry, rule.norm);
  const double left = tiny_loss * (rule.bound - rounding);
  if (!(most <= highest(single_)) || !geometry.is_valid || rule.bound < lowest(single_) ||
      !(left >= rule.bound / 2))
    return untouched;
  int octaves = 0;
  if (most > 0x1p300 || most < 0x1p-300) {
    std::frexp(most, &octaves);
    for (int i = 0; i < size_; ++i) scaled_[i] = std::ldexp(values[i], -octaves);
    values = scaled_.data();
  }
  kernels_.analyse(analysis_, values, all_.data());
  const Work work{geometry, rule.norm, std::ldexp(left, -octaves)};
  const double of_nothing =
      is_spectral(work) ? measure(work, all_.data()) : measure_values(work, values);
  Outcome out;
  if (of_nothing <= work.bound) {
    std::fill_n(coefficients, size_, 0.0);
    out = {rule.rounds ? step_at(0) : not_rounded, std::ldexp(of_nothing, octaves), 0};
  } else {
    out = rule.rounds ? round(work, octaves, coefficients) : keep(work, octaves, coefficients);
  }
  if (out.step == as_values) return untouched;
  out.error += rounding;
  return out;
}

}  // namespace pillion::stages::truncate
