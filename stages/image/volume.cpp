// SPDX-License-Identifier: BSD-3-Clause
// Casting rays through a brick.
#include "volume.hpp"

#include <algorithm>
#include <cmath>

namespace pillion::image {

namespace {

constexpr int shades = 1024;

/// Colour and optical thickness by value, for speed.
struct Shade {
  float red, green, blue;
  float thickness;  ///< minus the logarithm of what a unit of length lets through
};

/// 1 - exp(-x), by its series where that is as good.
float held_back(float x) {
  if (x > 0.1F) return -std::expm1(-x);
  return x * (1 - x * (0.5F - x * (1.0F / 6 - x * (1.0F / 24))));
}

std::vector<Shade> shades_of(const Paint& paint, const Opacity& opacity) {
  std::vector<Shade> out;
  for (int i = 0; i <= shades; ++i) {
    const double fraction = static_cast<double>(i) / shades;
    const auto c = paint.map.at(fraction);
    const double opaque = std::min(opacity.at(fraction), 1 - 1e-6);
    out.push_back({static_cast<float>(c[0]), static_cast<float>(c[1]), static_cast<float>(c[2]),
                   static_cast<float>(-std::log1p(-opaque) / opacity.thickness)});
  }
  return out;
}

/// Depths between which a ray is in a box, a little generous.
bool crosses(const Ray& ray, const Vec& lo, const Vec& hi, double& from, double& to) {
  for (int d = 0; d < 3; ++d) {
    if (ray.direction[d] == 0) {
      if (ray.origin[d] < lo[d] || ray.origin[d] > hi[d]) return false;
      continue;
    }
    const double a = (lo[d] - ray.origin[d]) / ray.direction[d];
    const double b = (hi[d] - ray.origin[d]) / ray.direction[d];
    from = std::max(from, std::min(a, b));
    to = std::min(to, std::max(a, b));
  }
  return from <= to;
}

class Caster {
 public:
  Caster(const Patch& patch, const std::vector<double>& values, const Paint& paint,
         const Opacity& opacity, double spacing)
      : patch_(patch),
        values_(values),
        range_(paint.range),
        shades_(shades_of(paint, opacity)),
        spacing_(spacing) {}

  /// What a ray gathers about from one depth to another, before `end`; its opacity is 0 if that is
  /// nothing.
  [[nodiscard]] Piece cast(const Ray& ray, double from, double to, double end) const {
    Piece out;
    float through = 1;
    const auto step = static_cast<float>(spacing_ * length(ray.direction));
    const auto first = static_cast<int32_t>(std::ceil(from / spacing_ - 0.5)) - 1;
    const double last = std::min(to + spacing_, end);
    for (int32_t k = first; (k + 0.5) * spacing_ < last && through > 1e-4F; ++k) {
      const Shade* shade = shade_at(ray.at((k + 0.5) * spacing_));
      if (shade == nullptr || shade->thickness == 0) continue;
      const float opaque = held_back(shade->thickness * step), seen = through * opaque;
      if (out.opacity == 0) out.first = k;
      out.red += seen * shade->red;
      out.green += seen * shade->green;
      out.blue += seen * shade->blue;
      out.opacity += seen;
      through *= 1 - opaque;
    }
    return out;
  }

 private:
  /// Null where there is nothing, or nothing of this brick's.
  [[nodiscard]] const Shade* shade_at(const Vec& at) const {
    const Lattice& lattice = patch_.lattice();
    if (!lattice.contains(at)) return nullptr;
    Index cell;
    Vec fraction;
    for (int d = 0; d < 3; ++d) cell[d] = lattice.axes[d].cell(at[d], fraction[d]);
    if (!patch_.owns(cell)) return nullptr;
    const double value = range_.fraction(patch_.interpolated(values_, cell, fraction));
    if (!std::isfinite(value)) return nullptr;
    return &shades_[static_cast<size_t>(std::clamp(value, 0.0, 1.0) * shades + 0.5)];
  }

  const Patch& patch_;
  const std::vector<double>& values_;
  const Range& range_;
  std::vector<Shade> shades_;
  double spacing_;
};

}  // namespace

double Opacity::at(double fraction) const {
  if (ramp.size() == 1) return ramp[0];
  const double place = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(ramp.size() - 1);
  const auto i = std::min(static_cast<size_t>(place), ramp.size() - 2);
  return ramp[i] + (place - static_cast<double>(i)) * (ramp[i + 1] - ramp[i]);
}

void gather_light(std::vector<Piece>& pieces, const View& view, const Patch& patch,
                  const std::vector<double>& values, const Paint& paint, const Opacity& opacity,
                  double spacing, const std::vector<double>& ends) {
  const Caster caster(patch, values, paint, opacity, spacing);
  const int32_t samples = view.frame().samples, width = view.frame().width;
  const Rectangle box = rectangle_of(view, patch.lower(), patch.upper());
  for (int32_t y = box.y0 / samples; y < (box.y1 + samples - 1) / samples; ++y)
    for (int32_t x = box.x0 / samples; x < (box.x1 + samples - 1) / samples; ++x) {
      const Ray ray = view.ray((x + 0.5) * samples, (y + 0.5) * samples);
      double enter = view.nearest(), leave = HUGE_VAL;
      if (!crosses(ray, patch.lower(), patch.upper(), enter, leave)) continue;
      for (const bool is_far : {false, true}) {
        const int32_t number = ray_of(y * width + x, is_far);
        const double end = ends[static_cast<size_t>(number)];
        if (!(enter < end)) continue;
        Piece piece = caster.cast(ray, enter, leave, end);
        piece.ray = number;
        if (piece.opacity > 0) pieces.push_back(piece);
      }
    }
}

}  // namespace pillion::image
