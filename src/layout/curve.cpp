// SPDX-License-Identifier: BSD-3-Clause
// From the whole grid, rounded up to a power of two, down into octants of which only the part
// within the grid counts.
#include "layout/curve.hpp"

#include <algorithm>
#include <bit>

namespace pillion::layout {
namespace {

int64_t side_of(const Index3& grid) {
  const int64_t longest = *std::max_element(grid.begin(), grid.end());
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(longest)));
}

/// Tiles of the grid in the cube of a side that begins at `lo`.
int64_t tiles_in(const Index3& lo, int64_t side, const Index3& grid) {
  int64_t tiles = 1;
  for (size_t d = 0; d < 3; ++d) tiles *= std::clamp<int64_t>(grid[d] - lo[d], 0, side);
  return tiles;
}

Index3 octant_of(const Index3& lo, int64_t half, int octant) {
  Index3 out = lo;
  for (size_t d = 0; d < 3; ++d)
    if ((octant >> d & 1) != 0) out[d] += half;
  return out;
}

}  // namespace

int64_t number_on_curve(const Index3& tile, const Index3& grid) {
  int64_t number = 0;
  Index3 lo{0, 0, 0};
  for (int64_t half = side_of(grid) / 2; half > 0; half /= 2) {
    int mine = 0;
    for (size_t d = 0; d < 3; ++d) mine |= (tile[d] >= lo[d] + half ? 1 : 0) << d;
    for (int o = 0; o < mine; ++o) number += tiles_in(octant_of(lo, half, o), half, grid);
    lo = octant_of(lo, half, mine);
  }
  return number;
}

Index3 tile_on_curve(int64_t number, const Index3& grid) {
  Index3 lo{0, 0, 0};
  for (int64_t half = side_of(grid) / 2; half > 0; half /= 2) {
    int octant = 0;
    for (; octant < 7; ++octant) {
      const int64_t inside = tiles_in(octant_of(lo, half, octant), half, grid);
      if (number < inside) break;
      number -= inside;
    }
    lo = octant_of(lo, half, octant);
  }
  return lo;
}

}  // namespace pillion::layout
