// SPDX-License-Identifier: BSD-3-Clause
// Writing with FreeType. Letters are not fitted to pixels (no hints), so that a text is as wide as
// it is designed to be.
#include "font.hpp"

#include <ft2build.h>

#include <pillion/error.hpp>
#include FT_FREETYPE_H

// DejaVu Sans, as it lies in the system that Pillion is built on.
asm(".section .rodata\n"
    "pillion_image_font_begin:\n.incbin \"" PILLION_FONT
    "\"\n"
    "pillion_image_font_end:\n.byte 0\n"
    ".previous\n");
extern "C" __attribute__((visibility("hidden"))) const unsigned char pillion_image_font_begin[];
extern "C" __attribute__((visibility("hidden"))) const unsigned char pillion_image_font_end[];

namespace pillion::stages::image {

struct Font::Face {
  FT_Library library = nullptr;
  FT_Face face = nullptr;
  Face() {
    const auto size = pillion_image_font_end - pillion_image_font_begin;
    if (FT_Init_FreeType(&library) != 0 ||
        FT_New_Memory_Face(library, pillion_image_font_begin, size, 0, &face) != 0)
      throw Error(ErrorCode::Stage, "FreeType cannot read the font of pictures");
  }
  Face(const Face&) = delete;
  Face& operator=(const Face&) = delete;
  ~Face() {
    FT_Done_Face(face);
    FT_Done_FreeType(library);
  }
};

namespace {

constexpr FT_Int32 how = FT_LOAD_RENDER | FT_LOAD_NO_HINTING;

/// Calls use(code) for each letter; bytes that are not UTF-8 count as letters.
template <class F>
void for_each_letter(const std::string& text, F&& use) {
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
    unsigned long code = more == 3   ? first & 0x07
                         : more == 2 ? first & 0x0f
                         : more == 1 ? first & 0x1f
                                     : first;
    for (; more > 0 && i < text.size(); --more)
      code = code << 6 | (static_cast<unsigned char>(text[i++]) & 0x3f);
    use(code);
  }
}

}  // namespace

Font::Font(int32_t height) : height_(height), face_(std::make_unique<Face>()) {
  FT_Set_Pixel_Sizes(face_->face, 0, static_cast<FT_UInt>(height));
}
Font::~Font() = default;

int32_t Font::width(const std::string& text) const {
  long sum = 0;
  for_each_letter(text, [&](unsigned long code) {
    if (FT_Load_Char(face_->face, code, how) == 0) sum += face_->face->glyph->advance.x;
  });
  return static_cast<int32_t>((sum + 63) / 64);
}

void Font::write(Picture& picture, int32_t x, int32_t y, const std::string& text, Colour colour,
                 Turn turn) const {
  long pen = 0;
  for_each_letter(text, [&](unsigned long code) {
    if (FT_Load_Char(face_->face, code, how) != 0) return;
    const FT_GlyphSlot glyph = face_->face->glyph;
    const FT_Bitmap& bitmap = glyph->bitmap;
    for (int32_t row = 0; row < static_cast<int32_t>(bitmap.rows); ++row)
      for (int32_t column = 0; column < static_cast<int32_t>(bitmap.width); ++column) {
        const double weight = bitmap.buffer[row * bitmap.pitch + column] / 255.0;
        const auto along = static_cast<int32_t>(pen / 64) + glyph->bitmap_left + column;
        const int32_t down = row - glyph->bitmap_top;
        if (turn == Turn::none) picture.blend(x + along, y + down, colour, weight);
        else picture.blend(x + down, y - along, colour, weight);
      }
    pen += glyph->advance.x;
  });
}

}  // namespace pillion::stages::image
