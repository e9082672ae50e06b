// SPDX-License-Identifier: BSD-3-Clause
// What is seen at the samples of a picture. The nearer fragment is kept, and of two at the same
// depth the one with the smaller colour: so it does not matter in which order, or on which peers,
// things are drawn.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "camera.hpp"

namespace pillion::stages::image {

/// Red, green and blue in the lowest three bytes.
using Colour = uint32_t;

struct Fragment {
  double depth = std::numeric_limits<double>::infinity();
  Colour colour = 0;
  int32_t sample = 0;  ///< number of the sample, when it is on its way
};

/// All samples of a picture, in square tiles; only tiles that are drawn on take up memory.
class Canvas {
 public:
  Canvas(int32_t columns, int32_t rows)
      : columns_(columns),
        rows_(rows),
        across_((columns + side - 1) / side),
        tiles_(static_cast<size_t>(across_) * static_cast<size_t>((rows + side - 1) / side)) {}

  [[nodiscard]] int32_t columns() const { return columns_; }
  [[nodiscard]] int32_t rows() const { return rows_; }
  [[nodiscard]] double depth(int32_t x, int32_t y) const {
    const auto& tile = tiles_[tile_of(x, y)];
    return tile ? tile->depth[place_in_tile(x, y)] : nowhere;
  }
  [[nodiscard]] Colour colour(int32_t x, int32_t y) const {
    const auto& tile = tiles_[tile_of(x, y)];
    return tile ? tile->colour[place_in_tile(x, y)] : 0;
  }
  [[nodiscard]] bool is_empty(int32_t x, int32_t y) const { return depth(x, y) == nowhere; }
  /// The colour, or that of what is behind all where nothing has been drawn.
  [[nodiscard]] Colour seen(int32_t x, int32_t y, Colour behind) const {
    const auto& tile = tiles_[tile_of(x, y)];
    const size_t at = place_in_tile(x, y);
    return tile && tile->depth[at] != nowhere ? tile->colour[at] : behind;
  }

  void put(int32_t x, int32_t y, double depth, Colour colour) {
    auto& tile = tiles_[tile_of(x, y)];
    if (!tile) tile = std::make_unique<Tile>();
    const size_t at = place_in_tile(x, y);
    if (depth < tile->depth[at] || (depth == tile->depth[at] && colour < tile->colour[at])) {
      tile->depth[at] = depth;
      tile->colour[at] = colour;
    }
  }

  /// Calls use(x, y, depth, colour) for what has been drawn in rows [first, last), in any order.
  template <class F>
  void for_each_drawn(int32_t first, int32_t last, F&& use) const {
    for (size_t t = 0; t < tiles_.size(); ++t) {
      if (!tiles_[t]) continue;
      const Tile& tile = *tiles_[t];
      const auto row = static_cast<int32_t>(t) / across_ * side;
      const auto column = static_cast<int32_t>(t) % across_ * side;
      for (int32_t y = std::max(row, first); y < std::min(row + side, last); ++y)
        for (int32_t x = column; x < column + side; ++x) {
          const size_t at = place_in_tile(x, y);
          if (tile.depth[at] != nowhere) use(x, y, tile.depth[at], tile.colour[at]);
        }
    }
  }

 private:
  static constexpr int32_t side = 64;
  static constexpr double nowhere = std::numeric_limits<double>::infinity();
  struct Tile {
    std::array<double, side * side> depth;
    std::array<Colour, side * side> colour{};
    Tile() { depth.fill(nowhere); }
  };

  [[nodiscard]] size_t tile_of(int32_t x, int32_t y) const {
    return static_cast<size_t>(y / side) * static_cast<size_t>(across_) +
           static_cast<size_t>(x / side);
  }
  [[nodiscard]] static size_t place_in_tile(int32_t x, int32_t y) {
    return static_cast<size_t>(y % side * side + x % side);
  }

  int32_t columns_, rows_, across_;
  std::vector<std::unique_ptr<Tile>> tiles_;
};

}  // namespace pillion::stages::image
