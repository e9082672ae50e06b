// SPDX-License-Identifier: BSD-3-Clause
// A finished picture, and the file that it becomes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "colour.hpp"

namespace pillion::image {

struct Picture {
  int32_t width = 0, height = 0;
  std::vector<uint8_t> pixels;  ///< red, green and blue, row after row from the top

  /// Mixes in a colour; nothing happens outside of the picture.
  void blend(int32_t x, int32_t y, Colour colour, double weight);
  void fill(int32_t x0, int32_t y0, int32_t x1, int32_t y1, Colour colour);
};

/// The bytes of a PNG file, with texts in it under keywords such as Title.
std::vector<std::byte> png(const Picture& picture,
                           const std::vector<std::pair<std::string, std::string>>& texts);

}  // namespace pillion::image
