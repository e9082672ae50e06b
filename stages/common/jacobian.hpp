// SPDX-License-Identifier: BSD-3-Clause
// The Jacobian determinant of hexahedral elements: how much larger a piece of space is than the
// piece of the reference element [-1, 1]^3 that is mapped to it, point by point. The map is that of
// the coordinates at the points, x(r) = sum of x_ijk l_i(r) l_j(s) l_k(t).
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "legendre.hpp"
#include "tensor.hpp"

namespace pillion::stages {

class Jacobian {
 public:
  explicit Jacobian(const LobattoBasis& basis)
      : n_(basis.size()), derivative_(basis.derivative, n_) {
    for (auto& axis : gradient_)
      for (auto& component : axis) component.resize(n_ * n_ * n_);
  }

  /// det dx/dr at the n^3 points of an element whose coordinates are x, y, z, n^3 values each. It
  /// is positive everywhere in an element that is neither folded nor left-handed.
  void determinant(const double* x, const double* y, const double* z, double* out) {
    const std::array<const double*, 3> from{x, y, z};
    for (size_t axis = 0; axis < 3; ++axis)
      for (size_t c = 0; c < 3; ++c)
        apply_along(static_cast<int>(axis), derivative_, n_, from[c], gradient_[axis][c].data());
    const auto& [r, s, t] = gradient_;
    for (size_t p = 0; p < n_ * n_ * n_; ++p)
      out[p] = r[0][p] * (s[1][p] * t[2][p] - s[2][p] * t[1][p]) -
               r[1][p] * (s[0][p] * t[2][p] - s[2][p] * t[0][p]) +
               r[2][p] * (s[0][p] * t[1][p] - s[1][p] * t[0][p]);
  }

 private:
  size_t n_;
  AxisMatrix derivative_;
  std::array<std::array<std::vector<double>, 3>, 3> gradient_;  ///< by axis, then component
};

}  // namespace pillion::stages
