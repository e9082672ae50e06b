// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "layout/tiling.hpp"

using namespace pillion::layout;

namespace {

/// Bits of the coordinates taken in turns, the last axis first.
uint64_t interleaved(const Index3& tile) {
  uint64_t code = 0;
  for (int bit = 20; bit >= 0; --bit)
    for (int d = 2; d >= 0; --d)
      code = code << 1 | (static_cast<uint64_t>(tile[static_cast<size_t>(d)]) >> bit & 1);
  return code;
}

}  // namespace

TEST_CASE("the curve visits every tile once, in the order of interleaved bits") {
  for (const Index3 grid :
       {Index3{1, 1, 1}, {5, 1, 1}, {3, 7, 1}, {4, 4, 4}, {6, 3, 9}, {1, 2, 17}}) {
    std::vector<Index3> tiles;
    for (int64_t k = 0; k < grid[2]; ++k)
      for (int64_t j = 0; j < grid[1]; ++j)
        for (int64_t i = 0; i < grid[0]; ++i) tiles.push_back({i, j, k});
    std::sort(tiles.begin(), tiles.end(),
              [](const auto& a, const auto& b) { return interleaved(a) < interleaved(b); });
    for (size_t n = 0; n < tiles.size(); ++n) {
      CHECK(number_on_curve(tiles[n], grid) == static_cast<int64_t>(n));
      CHECK(tile_on_curve(static_cast<int64_t>(n), grid) == tiles[n]);
    }
  }
}
