// SPDX-License-Identifier: BSD-3-Clause
// What an element's shape means to an error in it: how much each point counts. Where the Jacobian
// is the same at all points (affine elements), the error of values is that of coefficients;
// elsewhere it has to be looked at point by point.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "../common/jacobian.hpp"

namespace pillion::stages::truncation {

/// Of one element. Volumes are by the quadrature of the points.
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
  explicit GeometryFinder(const LobattoBasis& basis)
      : basis_(basis), jacobian_(basis), values_(basis.size() * basis.size() * basis.size()) {}

  /// `shares` has room for n^3 numbers, which the result may refer to.
  Geometry find(const double* x, const double* y, const double* z, std::span<double> shares) {
    const size_t n = basis_.size();
    jacobian_.determinant(x, y, z, values_.data());
    Geometry out;
    out.volume = 0;
    double least = values_[0], most = values_[0];
    for (size_t p = 0; p < values_.size(); ++p) {
      const double j = values_[p];
      least = std::min(least, j);
      most = std::max(most, j);
      const auto& w = basis_.weights;
      shares[p] = w[p % n] * w[p / n % n] * w[p / (n * n)] * j;
      out.volume += shares[p];
    }
    out.is_valid = least > 0 && std::isfinite(out.volume);
    if (!out.is_valid) return out;
    out.stretch = most * 8 / out.volume;
    if (most - least <= affine_within * most) return out;
    for (auto& share : shares) share /= out.volume;
    out.shares = shares;
    return out;
  }

 private:
  /// Coordinates are rounded, and some programs compute them in single precision.
  static constexpr double affine_within = 1e-10;

  const LobattoBasis& basis_;
  Jacobian jacobian_;
  std::vector<double> values_;
};

}  // namespace pillion::stages::truncation
