// SPDX-License-Identifier: BSD-3-Clause
// Truncating one element: the Legendre coefficients of its values, as few of them and as coarsely
// rounded as a bound on the error of the values allows. The bound holds for the decoder's output,
// whose rounding is allowed for; where it could not hold, the values stay as they are.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "../common/element_coding.hpp"
#include "../common/legendre.hpp"
#include "transform.hpp"

namespace pillion::stages::truncate {

/// The points of an element that has `points` of them along each axis.
constexpr size_t points_in(size_t points, int axes) {
  return axes == 2 ? points * points : points * points * points;
}
/// The volume of the reference element: [-1, 1] along each axis.
constexpr double volume_of_reference(int axes) { return axes == 2 ? 4 : 8; }
/// The weight of a point of it.
inline double weight_of_point(const LobattoBasis& basis, int axes, size_t point) {
  const size_t n = basis.size();
  const auto& w = basis.weights;
  return w[point % n] * w[point / n % n] * (axes == 2 ? 1 : w[point / (n * n)]);
}

/// Of one element. Volumes, areas in two dimensions, are by the quadrature of the points.
struct Geometry {
  double volume = 8;
  /// Of the element's volume, the part of each point; empty if the Jacobian is constant.
  std::span<const double> shares{};
  /// The largest Jacobian among the points, in units of the mean.
  double stretch = 1;
  /// Whether the Jacobian is positive at every point; other elements mean nothing to an error.
  bool is_valid = true;
};

/// Geometries of elements from the coordinates of their points.
class GeometryFinder {
 public:
  explicit GeometryFinder(const LobattoBasis& basis, int axes = 3)
      : basis_(basis),
        axes_(axes),
        jacobian_(basis),
        area_(basis),
        values_(points_in(basis.size(), axes)) {}

  /// `shares` has room for a number of each point, which the result may refer to.
  Geometry find(const double* x, const double* y, const double* z, std::span<double> shares) {
    if (axes_ == 2) area_.of(x, y, z, values_.data());
    else jacobian_.determinant(x, y, z, values_.data());
    Geometry out;
    out.volume = 0;
    double least = values_[0], most = values_[0];
    for (size_t p = 0; p < values_.size(); ++p) {
      const double j = values_[p];
      least = std::min(least, j);
      most = std::max(most, j);
      shares[p] = weight_of_point(basis_, axes_, p) * j;
      out.volume += shares[p];
    }
    out.is_valid = least > 0 && std::isfinite(out.volume);
    if (!out.is_valid) return out;
    out.stretch = most * volume_of_reference(axes_) / out.volume;
    if (most - least <= affine_within * most) return out;
    for (auto& share : shares) share /= out.volume;
    out.shares = shares;
    return out;
  }

 private:
  /// Coordinates are rounded, and some programs compute them in single precision.
  static constexpr double affine_within = 1e-10;

  const LobattoBasis& basis_;
  int axes_;
  Jacobian jacobian_;
  ElementArea area_;
  std::vector<double> values_;
};

class LargestKept {
 public:
  explicit LargestKept(const Kernels& kernels) : kernels_(kernels) {}

  /// Sets the dropped coefficients to 0.
  void drop(std::span<double> coefficients, double budget) {
    const auto count = static_cast<int>(coefficients.size());
    // All below `low` may go; of those below `high`, not all.
    double low = std::sqrt(budget / count) * just_below, high = std::sqrt(budget) / just_below;
    for (int i = 0; i < halvings; ++i) {
      const double middle = std::sqrt(low * high);
      (kernels_.squares_below(coefficients.data(), count, middle) <= budget ? low : high) = middle;
    }
    double dropped = kernels_.squares_below(coefficients.data(), count, low);
    between_.clear();
    for (size_t i = 0; i < coefficients.size(); ++i) {
      const double size = std::fabs(coefficients[i]);
      if (size < low) coefficients[i] = 0;
      else if (size < high) between_.emplace_back(size, i);
    }
    std::sort(between_.begin(), between_.end());
    for (const auto& [size, i] : between_) {
      if (!((dropped += size * size) <= budget)) return;
      coefficients[i] = 0;
    }
  }

 private:
  static constexpr double just_below = 1 - 1e-9;
  static constexpr int halvings = 8;  ///< after which few are left to look at

  const Kernels& kernels_;
  std::vector<std::pair<double, size_t>> between_;
};

/// What the bound is on: the root mean square over an element's volume, or every point.
enum class Norm { rms, largest };

struct Rule {
  double bound = 0;  ///< in the field's units; 0: nothing is lost
  Norm norm = Norm::rms;
  bool rounds = true;  ///< coefficients that are kept become multiples of a step
};

struct Outcome {
  double step = as_values;
  double error = 0;  ///< in the norm of the rule, at most
  int64_t kept = 0;  ///< coefficients that are not 0, or all values
};

class ElementTruncation {
 public:
  /// `single`: values are stored in single precision.
  ElementTruncation(const LobattoBasis& basis, bool single, int axes = 3);

  /// From the values of an element to as many coefficients. If the outcome is as_values,
  /// `coefficients` is undefined.
  Outcome truncate(const double* values, const Geometry& geometry, const Rule& rule,
                   double* coefficients);

 private:
  /// The current element, in units in which its numbers can be squared.
  struct Work {
    const Geometry& geometry;
    Norm norm;
    double bound;  ///< what is left of it after all rounding
  };
  [[nodiscard]] double slack(double most, const Geometry& geometry, Norm norm) const;
  double measure(const Work& work, const double* differences);
  [[nodiscard]] double measure_values(const Work& work, const double* values) const;
  [[nodiscard]] double safe_share(const Work& work) const;
  [[nodiscard]] double spectral_error(double step) const;
  double measure_rounded(const Work& work, double step);
  [[nodiscard]] bool is_spectral(const Work& work) const {
    return work.norm == Norm::rms && work.geometry.shares.empty();
  }
  struct Found {
    int index;
    double error;
  };
  template <class ErrorOf>
  static Found search(int guess, double bound, double enough, ErrorOf&& error_of);
  Outcome round(const Work& work, int octaves, double* out);
  Outcome keep(const Work& work, int octaves, double* out);

  int points_, size_;
  bool single_;
  double volume_;     ///< of the reference element
  double reference_;  ///< the least weight of a point, as a part of it
  const Kernels& kernels_;
  Operator analysis_, synthesis_;
  LargestKept largest_kept_;
  std::vector<double> scaled_, all_, some_, values_;
};

}  // namespace pillion::stages::truncate
