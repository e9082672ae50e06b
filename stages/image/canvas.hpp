// SPDX-License-Identifier: BSD-3-Clause
// What is seen at the samples of a picture. The nearer fragment is kept, and of two at the same
// depth the one with the smaller colour: so it does not matter in which order, or on which peers,
// things are drawn.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "view.hpp"

namespace pillion::image {

/// Red, green and blue in the lowest three bytes.
using Colour = uint32_t;

struct Fragment {
  double depth = std::numeric_limits<double>::infinity();
  Colour colour = 0;
  int32_t sample = 0;  ///< number of the sample, when it is on its way
};

/// All samples of some rows.
class Canvas {
 public:
  Canvas(int32_t columns, int32_t first_row, int32_t last_row)
      : columns_(columns),
        first_(first_row),
        last_(last_row),
        depth_(size(), std::numeric_limits<double>::infinity()),
        colour_(size(), 0) {}

  [[nodiscard]] int32_t columns() const { return columns_; }
  [[nodiscard]] int32_t first_row() const { return first_; }
  [[nodiscard]] int32_t last_row() const { return last_; }
  [[nodiscard]] double depth(int32_t x, int32_t y) const { return depth_[index(x, y)]; }
  [[nodiscard]] Colour colour(int32_t x, int32_t y) const { return colour_[index(x, y)]; }
  [[nodiscard]] bool is_empty(int32_t x, int32_t y) const {
    return depth(x, y) == std::numeric_limits<double>::infinity();
  }

  /// The sample must be in one of the rows.
  void put(int32_t x, int32_t y, double depth, Colour colour) {
    const size_t at = index(x, y);
    if (depth < depth_[at] || (depth == depth_[at] && colour < colour_[at])) {
      depth_[at] = depth;
      colour_[at] = colour;
    }
  }

 private:
  [[nodiscard]] size_t size() const {
    return static_cast<size_t>(columns_) * static_cast<size_t>(std::max(0, last_ - first_));
  }
  [[nodiscard]] size_t index(int32_t x, int32_t y) const {
    return static_cast<size_t>(y - first_) * static_cast<size_t>(columns_) + static_cast<size_t>(x);
  }

  int32_t columns_, first_, last_;
  std::vector<double> depth_;
  std::vector<Colour> colour_;
};

}  // namespace pillion::image
