// SPDX-License-Identifier: BSD-3-Clause
// Letters, drawn by FreeType from a font that is in the plug-in itself, so that pictures do not
// depend on what is installed where a run takes place.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "picture.hpp"

namespace pillion::stages::image {

enum class Turn { none, left };

class Font {
 public:
  /// A font with a height in pixels.
  explicit Font(int32_t height);
  ~Font();
  Font(const Font&) = delete;
  Font& operator=(const Font&) = delete;

  /// Pixels that a text takes up along its direction. Texts are UTF-8.
  [[nodiscard]] int32_t width(const std::string& text) const;
  [[nodiscard]] int32_t height() const { return height_; }
  /// Writes a text whose first letter stands at (x, y) on the base line; one turned left goes
  /// upwards.
  void write(Picture& picture, int32_t x, int32_t y, const std::string& text, Colour colour,
             Turn turn = Turn::none) const;

 private:
  struct Face;
  int32_t height_;
  std::unique_ptr<Face> face_;
};

}  // namespace pillion::stages::image
