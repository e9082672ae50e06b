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
  explicit Cell(const pillion_domain& domain);

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

 private:
  Vector lo_{};
  double xx_, yy_, zz_, xy_, xz_, yz_;
  double per_xx_, per_yy_, per_zz_;
  Vector widths_{};
  std::array<bool, 3> periodic_{};
};

/// Ranks per direction whose product is `ranks`, with the smallest faces between them.
std::array<int, 3> division(int ranks, const Vector& widths);

}  // namespace pillion::layout
