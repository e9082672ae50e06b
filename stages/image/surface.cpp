// SPDX-License-Identifier: BSD-3-Clause
// Tracing the polygons of marching cubes.
#include "surface.hpp"

#include <algorithm>

namespace pillion::stages::image {

namespace {

/// Corners of each face, in turn as seen from outside.
constexpr std::array<std::array<int, 4>, 6> faces = {
    {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}}};

int edge_between(int a, int b) {
  const std::array<int, 2> ends = {std::min(a, b), std::max(a, b)};
  return static_cast<int>(std::find(cell_edges.begin(), cell_edges.end(), ends) -
                          cell_edges.begin());
}

/// Of each edge that is cut, the one where the surface leaves the face that it comes to there. On
/// every face a piece of the surface goes around each row of corners that are above.
std::array<int, 12> successors(uint32_t above) {
  std::array<int, 12> next;
  next.fill(-1);
  const auto is_above = [&](int corner) { return (above >> corner & 1U) != 0; };
  for (const auto& face : faces)
    for (int c = 0; c < 4; ++c) {
      if (is_above(face[c]) || !is_above(face[(c + 1) % 4])) continue;
      int last = c + 1;
      while (is_above(face[(last + 1) % 4])) ++last;
      next[edge_between(face[c], face[(c + 1) % 4])] =
          edge_between(face[last % 4], face[(last + 1) % 4]);
    }
  return next;
}

std::vector<Polygon> traced(uint32_t above) {
  std::vector<Polygon> out;
  auto next = successors(above);
  for (int start = 0; start < 12; ++start) {
    Polygon polygon;
    for (int edge = start; next[edge] >= 0;) {
      polygon.push_back(edge);
      const int following = next[edge];
      next[edge] = -1;
      edge = following;
    }
    if (!polygon.empty()) out.push_back(std::move(polygon));
  }
  return out;
}

}  // namespace

const std::vector<Polygon>& polygons_of(uint32_t above) {
  static const auto all = [] {
    std::array<std::vector<Polygon>, 256> cases;
    for (uint32_t c = 0; c < 256; ++c) cases[c] = traced(c);
    return cases;
  }();
  return all[above];
}

}  // namespace pillion::stages::image
