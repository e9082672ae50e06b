// SPDX-License-Identifier: BSD-3-Clause
// What is written on pictures: a title with step and time, and a bar for each kind of colours.
#pragma once

#include <string>
#include <vector>

#include "picture.hpp"
#include "shading.hpp"

namespace pillion::image {

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

}  // namespace pillion::image
