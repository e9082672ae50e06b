// SPDX-License-Identifier: BSD-3-Clause
// Boxes of a mesh with three levels of refinement around a point that moves: cubes of one size,
// half of the coarsest refined, a quarter of the finer ones again, each by 2. Properly nested.
// Ranks have equal stretches of the Z-order curve of every level, as AMReX and others deal boxes
// out.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace bench {

struct Tile {
  std::array<int64_t, 3> place{};  ///< in cubes of its level
  int32_t level = 0;
};

/// Bits of the three places, one after the other.
inline uint64_t along_curve(const std::array<int64_t, 3>& place) {
  uint64_t key = 0;
  for (unsigned bit = 0; bit < 21; ++bit)
    for (unsigned d = 0; d < 3; ++d)
      key |= ((static_cast<uint64_t>(place[d]) >> bit) & 1) << (3 * bit + d);
  return key;
}

/// The tiles nearest to a point of the unit cube, which is periodic.
inline std::vector<Tile> nearest(std::vector<Tile> tiles, size_t count, int64_t across,
                                 const std::array<double, 3>& point) {
  const auto distance = [&](const Tile& tile) {
    double sum = 0;
    for (size_t d = 0; d < 3; ++d) {
      const double along =
          (static_cast<double>(tile.place[d]) + 0.5) / static_cast<double>(across) - point[d];
      const double near = along - std::round(along);
      sum += near * near;
    }
    return sum;
  };
  std::nth_element(tiles.begin(), tiles.begin() + static_cast<std::ptrdiff_t>(count), tiles.end(),
                   [&](const Tile& a, const Tile& b) { return distance(a) < distance(b); });
  tiles.resize(count);
  return tiles;
}

/// The eight tiles of the next level in each.
inline std::vector<Tile> refined(const std::vector<Tile>& tiles) {
  std::vector<Tile> out;
  for (const auto& tile : tiles)
    for (int64_t n = 0; n < 8; ++n)
      out.push_back(
          {{2 * tile.place[0] + n % 2, 2 * tile.place[1] + n / 2 % 2, 2 * tile.place[2] + n / 4},
           tile.level + 1});
  return out;
}

/// A rank's tiles of all levels; there are about 13 * across^3 altogether.
inline std::vector<Tile> hierarchy(int64_t across, const std::array<double, 3>& point, int rank,
                                   int ranks) {
  std::vector<Tile> level, out;
  for (int64_t k = 0; k < across; ++k)
    for (int64_t j = 0; j < across; ++j)
      for (int64_t i = 0; i < across; ++i) level.push_back({{i, j, k}, 0});
  for (int l = 0; l < 3; ++l) {
    std::sort(level.begin(), level.end(), [](const Tile& a, const Tile& b) {
      return along_curve(a.place) < along_curve(b.place);
    });
    const auto size = level.size(), of = static_cast<size_t>(rank),
               all = static_cast<size_t>(ranks);
    const auto begin = level.begin();
    out.insert(out.end(), begin + static_cast<std::ptrdiff_t>(size * of / all),
               begin + static_cast<std::ptrdiff_t>(size * (of + 1) / all));
    if (l < 2) level = refined(nearest(level, size / (l == 0 ? 2 : 4), across << l, point));
  }
  return out;
}

}  // namespace bench
