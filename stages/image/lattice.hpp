// SPDX-License-Identifier: BSD-3-Clause
// The points of a uniform mesh between which values are interpolated: the centres of its cells, and
// points on the mesh's faces, so that all of it is covered. Point i of an axis is the centre of
// cell i; -1 and `cells` are on the faces, and cell i of the lattice lies between points i and i+1.
// It all follows from the mesh alone, not from blocks: a place is in one cell, whoever asks.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "vec.hpp"

namespace pillion::image {

struct Axis {
  double lo = 0, hi = 0;  ///< of the mesh
  double first = 0;       ///< place of point 0
  double spacing = 1;     ///< between points
  int64_t cells = 1;      ///< of the mesh, coarse ones if the publication is coarse

  [[nodiscard]] double place(int64_t point) const {
    if (point < 0) return lo;
    return point < cells ? first + static_cast<double>(point) * spacing : hi;
  }
  /// The lattice's cell that a place of the mesh is in, and how far in it from 0 to 1.
  [[nodiscard]] int64_t cell(double at, double& fraction) const {
    const double q = (at - first) / spacing;
    const auto i = std::clamp(static_cast<int64_t>(std::floor(q)), int64_t{-1}, cells - 1);
    if (i >= 0 && i < cells - 1) fraction = q - static_cast<double>(i);
    else fraction = std::clamp((at - place(i)) / (place(i + 1) - place(i)), 0.0, 1.0);
    return i;
  }
};

struct Lattice {
  std::array<Axis, 3> axes;

  [[nodiscard]] Vec lo() const { return {axes[0].lo, axes[1].lo, axes[2].lo}; }
  [[nodiscard]] Vec hi() const { return {axes[0].hi, axes[1].hi, axes[2].hi}; }
  [[nodiscard]] Vec place(const std::array<int64_t, 3>& point) const {
    return {axes[0].place(point[0]), axes[1].place(point[1]), axes[2].place(point[2])};
  }
  [[nodiscard]] bool contains(const Vec& at) const {
    for (int d = 0; d < 3; ++d)
      if (!(at[d] >= axes[d].lo && at[d] <= axes[d].hi)) return false;
    return true;
  }
};

}  // namespace pillion::image
