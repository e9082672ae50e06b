// SPDX-License-Identifier: BSD-3-Clause
// Colour maps, and the range of numbers that one is spread over.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "canvas.hpp"

namespace pillion::image {

inline Colour rgb(double red, double green, double blue) {
  const auto byte = [](double v) {
    return static_cast<Colour>(v <= 0 ? 0 : v >= 255 ? 255 : v + 0.5);
  };
  return byte(red) << 16 | byte(green) << 8 | byte(blue);
}
inline std::array<double, 3> parts(Colour colour) {
  return {static_cast<double>(colour >> 16 & 255), static_cast<double>(colour >> 8 & 255),
          static_cast<double>(colour & 255)};
}

/// A colour such as #ff8800, #f80, white or orange; false if it is none.
bool parse_colour(const std::string& text, Colour& colour);

/// Colours at equal distances from 0 to 1, and straight lines between them.
class ColourMap {
 public:
  explicit ColourMap(std::vector<Colour> colours);
  /// Red, green and blue, from 0 to 255. What is not a number gets the colour of nothing, grey.
  [[nodiscard]] std::array<double, 3> at(double fraction) const;

  /// Of a name; false if there is none.
  static bool find(const std::string& name, std::vector<Colour>& colours);
  static std::string names();
  bool operator==(const ColourMap&) const = default;

 private:
  std::vector<std::array<double, 3>> colours_;
};

/// Numbers from lo to hi as fractions from 0 to 1.
struct Range {
  double lo = 0, hi = 1;
  bool logarithmic = false;

  /// What is not finite has none.
  [[nodiscard]] double fraction(double value) const {
    if (!std::isfinite(value)) return std::numeric_limits<double>::quiet_NaN();
    if (logarithmic) return (std::log(value) - std::log(lo)) / (std::log(hi) - std::log(lo));
    return hi > lo ? (value - lo) / (hi - lo) : 0.5;
  }
  bool operator==(const Range&) const = default;
};

}  // namespace pillion::image
