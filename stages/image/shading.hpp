// SPDX-License-Identifier: BSD-3-Clause
// The colour of a piece of surface: that of its value, in the light of a lamp at the camera.
#pragma once

#include <algorithm>
#include <cmath>

#include "colour.hpp"

namespace pillion::image {

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
  /// sides of a surface are alike.
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

}  // namespace pillion::image
