// SPDX-License-Identifier: BSD-3-Clause
// Colour maps, the range of numbers that one is spread over and the numbers that are marked on it,
// and the colour of a piece of surface in the light of a lamp at the camera.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "canvas.hpp"

namespace pillion::stages::image {

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

/// Round numbers of a range, at most about `most`; its ends if there are fewer than two.
std::vector<double> ticks(const Range& range, int most);

/// How values become colours.
struct Paint {
  ColourMap map;
  Range range;
  bool is_lit = true;
  bool operator==(const Paint&) const = default;

  [[nodiscard]] std::array<double, 3> plain(double value) const {
    return map.at(range.fraction(value));
  }
  [[nodiscard]] Colour flat(double value) const {
    const auto c = plain(value);
    return rgb(c[0], c[1], c[2]);
  }
  /// By Lambert's law, with some light from everywhere and a soft highlight, after Phong. Both
  /// sides of a surface look the same.
  [[nodiscard]] Colour lit(double value, const Vec& normal, const Vec& looking) const {
    if (!is_lit) return flat(value);
    const auto c = plain(value);
    const double size = length(normal) * length(looking);
    const double facing = size > 0 ? std::abs(dot(normal, looking)) / size : 1;
    const double light = 0.35 + 0.65 * facing;
    const double squared = facing * facing, fourth = squared * squared;
    const double highlight = 40 * fourth * fourth * fourth * fourth * fourth;
    return rgb(light * c[0] + highlight, light * c[1] + highlight, light * c[2] + highlight);
  }
};

}  // namespace pillion::stages::image
