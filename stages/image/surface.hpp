// SPDX-License-Identifier: BSD-3-Clause
// Iso-surfaces: the polygons on which a number that is known at the corners of hexahedra has a
// given value, by marching cubes (Lorensen and Cline, 1987), with the polygons of all 256 cases
// traced around the faces instead of tabled. Where a face can be cut in two ways, the corners above
// are separated. A point where the surface cuts an edge follows from the edge's two ends alone, so
// cells that share a face or an edge always agree, in whatever blocks they are.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "raster.hpp"

namespace pillion::stages::image {

/// Corner c is at (c & 1, c >> 1 & 1, c >> 2 & 1) of the cell; edges are between two of them.
constexpr std::array<std::array<int, 2>, 12> cell_edges = {{{0, 1},
                                                            {2, 3},
                                                            {4, 5},
                                                            {6, 7},
                                                            {0, 2},
                                                            {1, 3},
                                                            {4, 6},
                                                            {5, 7},
                                                            {0, 4},
                                                            {1, 5},
                                                            {2, 6},
                                                            {3, 7}}};

/// Corners are numbers of edges that the surface cuts.
using Polygon = std::vector<int>;

/// By the corners that are above the value, a bit for each.
const std::vector<Polygon>& polygons_of(uint32_t above);

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

}  // namespace pillion::stages::image
