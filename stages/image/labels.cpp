// SPDX-License-Identifier: BSD-3-Clause
// Titles and bars of colours.
#include "labels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "font.hpp"
#include "ticks.hpp"

namespace pillion::image {

namespace {

/// Letters grow with the picture.
int32_t letter_height(int32_t width, int32_t height) {
  return std::clamp(std::min(width, height) / 42, 9, 60);
}

/// As short as it can be said to so many digits.
std::string written(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value == 0 ? 0.0 : value);
  return text;
}

struct Place {
  int32_t left, top, right, bottom;
};

/// The end of the bar shows beyond what colours go no further; marks say which number is where.
void draw_bar(Picture& picture, const Bar& bar, const Place& at, const Font& font, Colour colour) {
  const int32_t h = font.height(), length = at.bottom - at.top;
  for (int32_t y = at.top; y < at.bottom; ++y) {
    const auto c = bar.paint.map.at(1 - (y - at.top + 0.5) / length);
    picture.fill(at.left, y, at.right, y + 1, rgb(c[0], c[1], c[2]));
  }
  for (int32_t y = at.top; y < at.bottom; ++y)
    for (const int32_t x : {at.left, at.right - 1}) picture.blend(x, y, colour, 0.6);
  for (int32_t x = at.left; x < at.right; ++x)
    for (const int32_t y : {at.top, at.bottom - 1}) picture.blend(x, y, colour, 0.6);
  int32_t widest = 0;
  for (const double tick : ticks(bar.paint.range, std::max(2, length / (3 * h)))) {
    const double fraction = bar.paint.range.fraction(tick);
    const auto y = static_cast<int32_t>(std::lround(at.bottom - 0.5 - fraction * (length - 1)));
    picture.fill(at.right, y, at.right + h / 3, y + 1, colour);
    font.write(picture, at.right + h * 2 / 3, y + h * 3 / 8, written(tick), colour);
    widest = std::max(widest, font.width(written(tick)));
  }
  if (font.width(bar.label) > length + 2 * h) return;  // no room for it
  const int32_t start = (at.top + at.bottom + font.width(bar.label)) / 2;
  font.write(picture, at.right + h * 2 / 3 + widest + h * 5 / 4, start, bar.label, colour,
             Turn::left);
}

}  // namespace

Margins margins_for(int32_t width, int32_t height, bool title, bool bars) {
  const int32_t h = letter_height(width, height);
  return {title ? h * 2 : 0, bars ? std::min(h * 8, width / 2) : 0};
}

void write_title(Picture& picture, const std::string& title, const std::string& when,
                 Colour colour) {
  const Font font(letter_height(picture.width, picture.height));
  const int32_t h = font.height(), edge = h, line = h + h / 2;
  font.write(picture, edge, line, title, colour);
  const int32_t at = picture.width - edge - font.width(when);
  if (at > edge + font.width(title) + h) font.write(picture, at, line, when, colour);
  else font.write(picture, edge, picture.height - h, when, colour);
}

void draw_bars(Picture& picture, const std::vector<Bar>& bars, Colour colour) {
  if (bars.empty()) return;
  const Font font(letter_height(picture.width, picture.height));
  const int32_t h = font.height();
  const Margins margins = margins_for(picture.width, picture.height, true, true);
  const auto count = static_cast<int32_t>(bars.size());
  const int32_t whole = picture.height - margins.top - h;
  for (int32_t b = 0; b < count; ++b) {
    const int32_t left = picture.width - margins.right + h, top = margins.top + whole * b / count;
    draw_bar(picture, bars[static_cast<size_t>(b)],
             {left, top + h, left + h * 5 / 4, margins.top + whole * (b + 1) / count - h}, font,
             colour);
  }
}

}  // namespace pillion::image
