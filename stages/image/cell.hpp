// SPDX-License-Identifier: BSD-3-Clause
// The surface on which a number that is known at the corners of a hexahedron has a given value, as
// polygons: marching cubes (Lorensen and Cline, 1987), with the polygons of all 256 cases traced
// around the faces instead of tabled. Where a face can be cut in two ways, the corners above are
// separated, whatever way the cell is turned; so cells that share a face always agree on it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace pillion::image {

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

}  // namespace pillion::image
