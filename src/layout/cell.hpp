// SPDX-License-Identifier: BSD-3-Clause
// Geometry of the parallelepiped that particles live in, and its division among ranks.
#pragma once

#include <pillion/types.h>

#include <array>
#include <cstdint>

namespace pillion::layout {

using Vector = std::array<double, 3>;
using Index = std::array<int64_t, 3>;

class Cell {
 public:
  /// Throws if the domain has no volume.
  explicit Cell(const pillion_domain& given);

  /// Coordinates in units of the edges: the domain is [0, 1)^3.
  [[nodiscard]] Vector fractional(const Vector& position) const {
    const double z = (position[2] - lo_[2]) * per_zz_;
    const double y = (position[1] - lo_[1] - yz_ * z) * per_yy_;
    const double x = (position[0] - lo_[0] - xy_ * y - xz_ * z) * per_xx_;
    return {x, y, z};
  }
  /// The displacement by whole edges.
  [[nodiscard]] Vector shift(const Index& edges) const;
  /// Distance between opposite faces, per direction.
  [[nodiscard]] const Vector& widths() const { return widths_; }
  [[nodiscard]] bool periodic(int d) const { return periodic_[d]; }
  /// 2 where the third direction neither is divided nor has images.
  [[nodiscard]] int dimensions() const { return dimensions_; }

 private:
  Vector lo_{};
  double xx_ = 0, yy_ = 0, zz_ = 0, xy_ = 0, xz_ = 0, yz_ = 0;
  double per_xx_ = 0, per_yy_ = 0, per_zz_ = 0;
  Vector widths_{};
  std::array<bool, 3> periodic_{};
  int dimensions_;
};

/// Ranks per direction whose product is `ranks`, with the smallest faces between them. With 2
/// dimensions there is one along the third direction.
std::array<int, 3> division(int ranks, const Vector& widths, int dimensions = 3);

}  // namespace pillion::layout
