// SPDX-License-Identifier: BSD-3-Clause
// PNG files, and labels.
#include "picture.hpp"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <pillion/error.hpp>

#include "colour.hpp"
#include "font.hpp"

namespace pillion::stages::image {

// Pixels, and PNG by libpng. What libpng complains of is an exception.

void Picture::blend(int32_t x, int32_t y, Colour colour, double weight) {
  if (x < 0 || y < 0 || x >= width || y >= height) return;
  const auto c = parts(colour);
  uint8_t* pixel = pixels.data() + (static_cast<size_t>(y) * width + x) * 3;
  for (size_t i = 0; i < 3; ++i)
    pixel[i] = static_cast<uint8_t>(pixel[i] + weight * (c[i] - pixel[i]) + 0.5);
}

void Picture::fill(int32_t x0, int32_t y0, int32_t x1, int32_t y1, Colour colour) {
  for (int32_t y = y0; y < y1; ++y)
    for (int32_t x = x0; x < x1; ++x) blend(x, y, colour, 1);
}

namespace {

[[noreturn]] void fail(png_structp, png_const_charp why) {
  throw Error(ErrorCode::Stage, std::string("the picture cannot become a PNG file: ") + why);
}
void ignore(png_structp, png_const_charp) {}

void append(png_structp png, png_bytep bytes, size_t size) {
  auto& out = *static_cast<std::vector<std::byte>*>(png_get_io_ptr(png));
  const auto* first = reinterpret_cast<const std::byte*>(bytes);
  out.insert(out.end(), first, first + size);
}
void flush(png_structp) {}

/// libpng's two structures.
struct Writer {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, &fail, &ignore);
  png_infop info = png_create_info_struct(png);
  Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { png_destroy_write_struct(&png, &info); }
};

}  // namespace

std::vector<std::byte> png(const Picture& picture,
                           const std::vector<std::pair<std::string, std::string>>& texts) {
  std::vector<std::byte> out;
  const Writer writer;
  png_set_write_fn(writer.png, &out, &append, &flush);
  png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(picture.width),
               static_cast<png_uint_32>(picture.height), 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  // Half the time of the usual level, 6, for a tenth more bytes.
  png_set_compression_level(writer.png, 4);
  std::vector<png_text> entries;
  for (const auto& [key, text] : texts) {
    png_text entry{};
    entry.compression = PNG_ITXT_COMPRESSION_NONE;
    entry.key = const_cast<char*>(key.c_str());
    entry.text = const_cast<char*>(text.c_str());
    entry.itxt_length = text.size();
    entries.push_back(entry);
  }
  png_set_text(writer.png, writer.info, entries.data(), static_cast<int>(entries.size()));
  png_write_info(writer.png, writer.info);
  for (int32_t y = 0; y < picture.height; ++y)
    png_write_row(writer.png, picture.pixels.data() + static_cast<size_t>(y) * picture.width * 3);
  png_write_end(writer.png, writer.info);
  return out;
}

// Titles and bars of colours.

namespace {

/// Letters grow with the picture.
int32_t letter_height(int32_t width, int32_t height) {
  return std::clamp(std::min(width, height) / 42, 9, 60);
}

/// The shortest text with the needed digits.
std::string tick_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value == 0 ? 0.0 : value);
  return text;
}

struct Place {
  int32_t left, top, right, bottom;
};

int32_t widest_of(const std::vector<double>& marks, const Font& font) {
  int32_t widest = 0;
  for (const double mark : marks) widest = std::max(widest, font.width(tick_text(mark)));
  return widest;
}

/// The end of the bar shows beyond what colours go no further; marks have numbers.
void draw_bar(Picture& picture, const Bar& bar, const Place& at, const Font& font, Colour colour) {
  const int32_t h = font.height(), length = at.bottom - at.top;
  const auto marks = ticks(bar.paint.range, std::max(2, length / (3 * h)));
  // Long numbers are smaller, so that the label behind them stays in the picture.
  constexpr int32_t least = 7;
  const int32_t room = picture.width - at.right - h * 5 / 2;
  const int32_t fitting = h * room / std::max(1, widest_of(marks, font));
  const Font of_marks(std::clamp(fitting, std::min(least, h), h));
  const int32_t widest = widest_of(marks, of_marks);
  for (int32_t y = at.top; y < at.bottom; ++y) {
    const auto c = bar.paint.map.at(1 - (y - at.top + 0.5) / length);
    picture.fill(at.left, y, at.right, y + 1, rgb(c[0], c[1], c[2]));
  }
  for (int32_t y = at.top; y < at.bottom; ++y)
    for (const int32_t x : {at.left, at.right - 1}) picture.blend(x, y, colour, 0.6);
  for (int32_t x = at.left; x < at.right; ++x)
    for (const int32_t y : {at.top, at.bottom - 1}) picture.blend(x, y, colour, 0.6);
  for (const double tick : marks) {
    const double fraction = bar.paint.range.fraction(tick);
    const auto y = static_cast<int32_t>(std::lround(at.bottom - 0.5 - fraction * (length - 1)));
    picture.fill(at.right, y, at.right + h / 3, y + 1, colour);
    of_marks.write(picture, at.right + h * 2 / 3, y + of_marks.height() * 3 / 8, tick_text(tick),
                   colour);
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

}  // namespace pillion::stages::image
