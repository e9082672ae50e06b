// SPDX-License-Identifier: BSD-3-Clause
// Iso-surfaces: the triangles on which a field has a value, in cells with eight corners. A point
// where the surface cuts an edge follows from the edge's two ends alone, taken from the lower value
// to the higher: cells that share the edge, of whatever blocks, get the same point.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "cell.hpp"
#include "raster.hpp"

namespace pillion::image {

/// A corner of a cell.
struct Known {
  Vec position;
  double level = 0;  ///< the number whose surface is sought
  Vec normal;        ///< its gradient
  double value = 0;  ///< the number that is shown
};

/// Which corners are above, a bit for each; none if any is not finite.
template <class Level>
uint32_t corners_above(double value, Level&& level) {
  uint32_t above = 0;
  for (int c = 0; c < 8; ++c) {
    const double here = level(c);
    if (!std::isfinite(here)) return 0;
    if (here >= value) above |= 1U << c;
  }
  return above;
}

inline bool is_cut(uint32_t above) { return above != 0 && above != 255; }

/// Where the surface cuts the edge between two corners.
inline Corner cut(const Known& a, const Known& b, double value) {
  const Known &low = a.level < value ? a : b, &high = a.level < value ? b : a;
  const double t = (value - low.level) / (high.level - low.level);
  return {between(low.position, high.position, t), between(low.normal, high.normal, t),
          low.value + t * (high.value - low.value)};
}

/// Calls use(const Triangle&) for the triangles in a cell.
template <class F>
void triangulate(const std::array<Known, 8>& corners, uint32_t above, double value, F&& use) {
  for (const Polygon& polygon : polygons_of(above)) {
    std::array<Corner, 12> cuts;
    for (size_t i = 0; i < polygon.size(); ++i) {
      const auto& [a, b] = cell_edges[static_cast<size_t>(polygon[i])];
      cuts[i] = cut(corners[static_cast<size_t>(a)], corners[static_cast<size_t>(b)], value);
    }
    for (size_t i = 2; i < polygon.size(); ++i) use(Triangle{cuts[0], cuts[i - 1], cuts[i]});
  }
}

}  // namespace pillion::image
