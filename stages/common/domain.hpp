// SPDX-License-Identifier: BSD-3-Clause
// Geometry of the parallelepiped that particles live in: its volume, its widths, and where a
// particle would be had it never been wrapped back into it. The arrangement of edges and tilts is
// that of pillion_domain.
#pragma once

#include <pillion/types.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace pillion::stages {

/// One array per axis.
using Vectors = std::array<std::vector<double>, 3>;

inline std::array<double, 3> lengths(const pillion_domain& d) {
  return {d.hi[0] - d.lo[0], d.hi[1] - d.lo[1], d.hi[2] - d.lo[2]};
}

/// 2 or 3. In two, the third direction does not count anywhere below.
inline int dimensions(const pillion_domain& d) { return d.dimensions == 2 ? 2 : 3; }

/// In two dimensions the area.
inline double volume(const pillion_domain& d) {
  const auto [x, y, z] = lengths(d);
  return dimensions(d) == 2 ? x * y : x * y * z;
}

/// Distances between opposite faces; in two dimensions the third is infinite.
inline std::array<double, 3> widths(const pillion_domain& d) {
  const auto [x, y, z] = lengths(d);
  const auto [xy, xz, yz] = std::array{d.tilt[0], d.tilt[1], d.tilt[2]};
  if (dimensions(d) == 2)
    return {x * y / std::hypot(y, xy), y, std::numeric_limits<double>::infinity()};
  const double area_yz = std::hypot(y * z, xy * z, xy * yz - y * xz);
  const double area_xz = x * std::hypot(z, yz);
  return {x * y * z / area_yz, x * y * z / area_xz, z};
}

/// The largest distance at which every particle has at most one image of every other; infinite if
/// nothing is periodic.
inline double nearest_image_range(const pillion_domain& d) {
  double range = std::numeric_limits<double>::infinity();
  const auto width = widths(d);
  for (int axis = 0; axis < dimensions(d); ++axis)
    if (d.periodic[axis]) range = std::min(range, width[axis] / 2);
  return range;
}

/// Adds to each position the period vectors that its image flags count.
inline void unwrap(Vectors& position, const Vectors& image, const pillion_domain& d) {
  const auto [lx, ly, lz] = lengths(d);
  const auto [xy, xz, yz] = std::array{d.tilt[0], d.tilt[1], d.tilt[2]};
  for (size_t i = 0; i < position[0].size(); ++i) {
    const double ix = image[0][i], iy = image[1][i];
    const double iz = dimensions(d) == 2 ? 0 : image[2][i];
    position[0][i] += ix * lx + iy * xy + iz * xz;
    position[1][i] += iy * ly + iz * yz;
    position[2][i] += iz * lz;
  }
}

}  // namespace pillion::stages
