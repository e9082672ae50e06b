// SPDX-License-Identifier: BSD-3-Clause
// A mesh cut into boxes, and which rank has which: blocks, slabs, pencils, or boxes whose sides are
// powers of two. Those follow the Z-order (Morton) curve, so that a rank has neighbours. Every rank
// can compute where any cell is, without a list of the boxes and without a message.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "model/block.hpp"

namespace pillion::layout {

using Index3 = std::array<int64_t, 3>;

/// How many tiles of a grid come before `tile` on the curve.
int64_t number_on_curve(const Index3& tile, const Index3& grid);
/// The tile that comes after `number` others.
Index3 tile_on_curve(int64_t number, const Index3& grid);

using model::Box;

/// A box of a layout.
struct Place {
  int rank = 0;
  int32_t number = 0;  ///< among the boxes of that rank
  Box box;
};

class Tiling {
 public:
  /// One box for each rank, as near to cubes as can be; `axes` is the number of axes that may be
  /// cut.
  static Tiling blocks(const Box& domain, int axes, int ranks);
  /// One for each rank, cut along `axis` alone.
  static Tiling slabs(const Box& domain, int axis, int ranks);
  /// One for each rank, cut along all axes but `axis`.
  static Tiling pencils(const Box& domain, int axes, int axis, int ranks);
  /// Boxes of 2^sides[d] cells, smaller at the upper ends, with neighbours on the same rank.
  static Tiling powers_of_two(const Box& domain, const std::array<int, 3>& sides, int ranks);

  [[nodiscard]] const Box& domain() const { return domain_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int64_t tiles() const { return grid_[0] * grid_[1] * grid_[2]; }
  /// All boxes of a rank, some of them empty if there are more ranks than cells.
  [[nodiscard]] std::vector<Place> places_of(int rank) const;

  /// Calls function(place) for each box that has a cell in common with `box` once grown by `width`
  /// cells on all sides; `place.box` is not grown.
  template <class Function>
  void each_near(const Box& box, const Index3& width, Function&& function) const {
    Index3 first{}, last{};
    for (int d = 0; d < 3; ++d) {
      const auto i = static_cast<size_t>(d);
      const int64_t lo = std::max(box.lo[i] - width[i], domain_.lo[i]);
      const int64_t hi = std::min(box.hi[i] + width[i], domain_.hi[i]);
      if (lo >= hi) return;
      first[i] = tile_along(d, lo);
      last[i] = tile_along(d, hi - 1);
    }
    for (int64_t z = first[2]; z <= last[2]; ++z)
      for (int64_t y = first[1]; y <= last[1]; ++y)
        for (int64_t x = first[0]; x <= last[0]; ++x) function(place_of({x, y, z}));
  }

 private:
  Tiling(const Box& domain, int ranks) : domain_(domain), ranks_(ranks) {}
  [[nodiscard]] int64_t tile_along(int axis, int64_t cell) const;
  [[nodiscard]] Box box_of(const Index3& tile) const;
  [[nodiscard]] Place place_of(const Index3& tile) const;
  [[nodiscard]] int64_t first_tile(int rank) const;

  Box domain_;
  int ranks_;
  Index3 grid_{1, 1, 1};        ///< tiles per axis
  std::array<int, 3> sides_{};  ///< powers of two, if is_even_ is not set
  bool is_even_ = true;         ///< each axis is divided evenly
};

}  // namespace pillion::layout
