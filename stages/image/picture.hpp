// SPDX-License-Identifier: BSD-3-Clause
// A finished picture: what is written on it, a title with step and time and a bar for each kind of
// colours, and the file that it becomes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "colour.hpp"

namespace pillion::stages::image {

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

struct Bar {
  std::string label;
  Paint paint;
  bool operator==(const Bar&) const = default;
};

/// Room that labels need, in pixels.
struct Margins {
  int32_t top = 0, right = 0;
};
Margins margins_for(int32_t width, int32_t height, bool title, bool bars);

void write_title(Picture& picture, const std::string& title, const std::string& when,
                 Colour colour);
/// One below the other in the margin on the right.
void draw_bars(Picture& picture, const std::vector<Bar>& bars, Colour colour);

}  // namespace pillion::stages::image
