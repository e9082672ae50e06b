// SPDX-License-Identifier: BSD-3-Clause
// Pixels, and PNG by libpng. What libpng complains of is an exception.
#include "picture.hpp"

#include <png.h>

#include <pillion/error.hpp>

namespace pillion::image {

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

}  // namespace pillion::image
