// SPDX-License-Identifier: BSD-3-Clause
// A number on the curve and its tile, and the tiles of each rank.
#include "layout/tiling.hpp"

#include <algorithm>
#include <bit>
#include <limits>

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

namespace {

int64_t ceiling(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Parts per axis whose product is `ranks`, with the least surface for their volume; axes that may
/// not be cut have one. No axis gets more parts than cells if that can be. One part if nothing may
/// be cut.
Index3 parts_of(const Box& domain, const std::array<bool, 3>& may_be_cut, int ranks) {
  Index3 best{1, 1, 1};
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](const Index3& parts) {
    double surface = 0;
    for (int d = 0; d < 3; ++d) {
      const auto i = static_cast<size_t>(d);
      if (parts[i] > 1 && !may_be_cut[i]) return;
      const double share = static_cast<double>(parts[i]) /
                           static_cast<double>(std::max<int64_t>(domain.extent(d), 1));
      surface += may_be_cut[i] ? (share > 1 ? 1e6 * share : share) : 0;
    }
    if (surface < least) {
      least = surface;
      best = parts;
    }
  };
  for (int64_t x = 1; x <= ranks; ++x)
    for (int64_t y = 1; ranks % x == 0 && y <= ranks / x; ++y)
      if (ranks / x % y == 0) consider({x, y, ranks / x / y});
  return best;
}

}  // namespace

Tiling Tiling::blocks(const Box& domain, int axes, int ranks) {
  Tiling tiling(domain, ranks);
  tiling.grid_ = parts_of(domain, {true, axes > 1, axes > 2}, ranks);
  return tiling;
}

Tiling Tiling::slabs(const Box& domain, int axis, int ranks) {
  Tiling tiling(domain, ranks);
  tiling.grid_[static_cast<size_t>(axis)] = ranks;
  return tiling;
}

Tiling Tiling::pencils(const Box& domain, int axes, int axis, int ranks) {
  Tiling tiling(domain, ranks);
  tiling.grid_ = parts_of(domain, {axis != 0, axis != 1 && axes > 1, axis != 2 && axes > 2}, ranks);
  return tiling;
}

Tiling Tiling::powers_of_two(const Box& domain, const std::array<int, 3>& sides, int ranks) {
  Tiling tiling(domain, ranks);
  tiling.is_even_ = false;
  tiling.sides_ = sides;
  for (int d = 0; d < 3; ++d) {
    const auto i = static_cast<size_t>(d);
    tiling.grid_[i] = std::max<int64_t>(ceiling(domain.extent(d), int64_t{1} << sides[i]), 1);
  }
  return tiling;
}

int64_t Tiling::tile_along(int axis, int64_t cell) const {
  const auto i = static_cast<size_t>(axis);
  const int64_t at = cell - domain_.lo[i];
  return is_even_ ? ((at + 1) * grid_[i] - 1) / domain_.extent(axis) : at >> sides_[i];
}

Box Tiling::box_of(const Index3& tile) const {
  Box box;
  for (int d = 0; d < 3; ++d) {
    const auto i = static_cast<size_t>(d);
    const int64_t extent = domain_.extent(d);
    const int64_t lo = is_even_ ? extent * tile[i] / grid_[i] : tile[i] << sides_[i];
    const int64_t hi =
        is_even_ ? extent * (tile[i] + 1) / grid_[i] : std::min((tile[i] + 1) << sides_[i], extent);
    box.lo[i] = domain_.lo[i] + lo;
    box.hi[i] = domain_.lo[i] + hi;
  }
  return box;
}

// Rank r has the tiles from r * tiles / ranks, rounded up, to the same for r + 1.
int64_t Tiling::first_tile(int rank) const { return ceiling(rank * tiles(), ranks_); }

Place Tiling::place_of(const Index3& tile) const {
  const int64_t number = number_on_curve(tile, grid_);
  const auto rank = static_cast<int>(number * ranks_ / tiles());
  return {rank, static_cast<int32_t>(number - first_tile(rank)), box_of(tile)};
}

std::vector<Place> Tiling::places_of(int rank) const {
  std::vector<Place> places;
  for (int64_t n = first_tile(rank); n < first_tile(rank + 1); ++n)
    places.push_back({rank, static_cast<int32_t>(places.size()), box_of(tile_on_curve(n, grid_))});
  return places;
}

}  // namespace pillion::layout
