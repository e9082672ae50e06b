// SPDX-License-Identifier: BSD-3-Clause
// Casting rays through a brick.
#include "volume.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace pillion::stages::image {

namespace {

constexpr int shades = 1024;
constexpr double most_samples = 0x1p50;  // samples from the camera, which are still told apart

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

/// A ray in steps of the lattice's points, so that a place along it costs little: along each axis
/// it is at `from + depth * slope`. It follows from the ray and the mesh alone.
class LatticeRay {
 public:
  LatticeRay(const Ray& ray, const Lattice& lattice) {
    for (int d = 0; d < 3; ++d) {
      const Axis& axis = lattice.axes[static_cast<size_t>(d)];
      along_[d] = {(ray.origin[d] - axis.first) / axis.spacing, ray.direction[d] / axis.spacing,
                   (axis.lo - axis.first) / axis.spacing, (axis.hi - axis.first) / axis.spacing,
                   axis.cells - 1};
    }
  }
  /// The lattice's cell at a depth, and how far in it; false outside of the mesh.
  [[nodiscard]] bool cell_at(double depth, Index& cell, Vec& fraction) const {
    for (int d = 0; d < 3; ++d) {
      const Along& axis = along_[d];
      const double place = axis.from + depth * axis.slope;
      if (!(place >= axis.lo && place <= axis.hi)) return false;
      // Above -1, where this is the floor.
      const int64_t i = std::min(static_cast<int64_t>(place + 1) - 1, axis.last);
      const double lower = i < 0 ? axis.lo : static_cast<double>(i);
      const double width = (i < axis.last ? static_cast<double>(i) + 1 : axis.hi) - lower;
      cell[static_cast<size_t>(d)] = i;
      fraction[d] = width == 1 ? place - lower : (place - lower) / width;
    }
    return true;
  }

 private:
  struct Along {
    double from, slope, lo, hi;
    int64_t last;
  };
  std::array<Along, 3> along_{};
};

/// Values to shades, whose number of steps is small.
class Shading {
 public:
  Shading(const Paint& paint, const Opacity& opacity)
      : range_(paint.range), shades_(shades_of(paint, opacity)), seen_before_{0} {
    for (const Shade& shade : shades_)
      seen_before_.push_back(seen_before_.back() + (shade.thickness > 0 ? 1 : 0));
  }
  /// Null for NaN.
  [[nodiscard]] const Shade* of(double value) const {
    const double fraction = range_.fraction(value);
    return std::isfinite(fraction) ? &shades_[number(fraction)] : nullptr;
  }
  /// Whether nothing is seen of values from one to another.
  [[nodiscard]] bool is_clear(double least, double most) const {
    const double lo = range_.fraction(least), hi = range_.fraction(most);
    if (!std::isfinite(lo) || !std::isfinite(hi)) return false;
    return seen_before_[number(hi) + 1] == seen_before_[number(lo)];
  }

 private:
  [[nodiscard]] static size_t number(double fraction) {
    return static_cast<size_t>(std::clamp(fraction, 0.0, 1.0) * shades + 0.5);
  }
  const Range& range_;
  std::vector<Shade> shades_;
  std::vector<int> seen_before_;  ///< how many shades before one are not clear
};

/// Cubes of cells of a patch in which there is nothing to see.
class ClearCubes {
 public:
  ClearCubes(const Patch& patch, const std::vector<double>& values, const Shading& shading)
      : lo_(patch.lo()) {
    for (size_t d = 0; d < 3; ++d) count_[d] = (patch.hi()[d] - lo_[d] + side - 1) / side;
    Index cube;
    for (cube[2] = 0; cube[2] < count_[2]; ++cube[2])
      for (cube[1] = 0; cube[1] < count_[1]; ++cube[1])
        for (cube[0] = 0; cube[0] < count_[0]; ++cube[0])
          clear_.push_back(is_clear(patch, values, shading, cube) ? 1 : 0);
  }
  [[nodiscard]] bool hold(const Index& cell) const {
    const int64_t x = (cell[0] - lo_[0]) / side, y = (cell[1] - lo_[1]) / side,
                  z = (cell[2] - lo_[2]) / side;
    return clear_[static_cast<size_t>((z * count_[1] + y) * count_[0] + x)] != 0;
  }

 private:
  static constexpr int64_t side = 8;

  [[nodiscard]] bool is_clear(const Patch& patch, const std::vector<double>& values,
                              const Shading& shading, const Index& cube) const {
    Index first, end;
    for (size_t d = 0; d < 3; ++d) {
      first[d] = lo_[d] + cube[d] * side;
      end[d] = std::min(first[d] + side, patch.hi()[d]) + 1;
    }
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (int64_t k = first[2]; k < end[2]; ++k)
      for (int64_t j = first[1]; j < end[1]; ++j) {
        const double* const row = values.data() + patch.at({first[0], j, k});
        for (int64_t i = 0; i < end[0] - first[0]; ++i) {
          least = std::min(least, row[i]);
          most = std::max(most, row[i]);
        }
      }
    return shading.is_clear(least, most);
  }

  Index lo_, count_{};
  std::vector<char> clear_;
};

class Caster {
 public:
  Caster(const Patch& patch, const std::vector<double>& values, const Paint& paint,
         const Opacity& opacity, double spacing)
      : patch_(patch),
        values_(values),
        shading_(paint, opacity),
        clear_(patch, values, shading_),
        spacing_(spacing) {}

  /// What a ray gathers about from one depth to another, before `end`; its opacity is 0 if that is
  /// nothing.
  [[nodiscard]] RaySegment cast(const Ray& ray, double from, double to, double end) const {
    RaySegment out;
    float through = 1;
    const LatticeRay way(ray, patch_.lattice());
    const auto step = static_cast<float>(spacing_ * length(ray.direction));
    const double before = std::ceil(from / spacing_ - 0.5) - 1;
    if (!(std::abs(before) < most_samples)) return out;
    const auto first = static_cast<int64_t>(before);
    const double last = std::min(to + spacing_, end);
    for (int64_t k = first; (static_cast<double>(k) + 0.5) * spacing_ < last && through > 1e-4F;
         ++k) {
      const Shade* shade = shade_at(way, (static_cast<double>(k) + 0.5) * spacing_);
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
  [[nodiscard]] const Shade* shade_at(const LatticeRay& way, double depth) const {
    Index cell;
    Vec fraction;
    if (!way.cell_at(depth, cell, fraction) || !patch_.owns(cell) || clear_.hold(cell))
      return nullptr;
    return shading_.of(patch_.interpolated(values_, cell, fraction));
  }

  const Patch& patch_;
  const std::vector<double>& values_;
  Shading shading_;
  ClearCubes clear_;
  double spacing_;
};

}  // namespace

double Opacity::at(double fraction) const {
  if (ramp.size() == 1) return ramp[0];
  const double place = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(ramp.size() - 1);
  const auto i = std::min(static_cast<size_t>(place), ramp.size() - 2);
  return ramp[i] + (place - static_cast<double>(i)) * (ramp[i + 1] - ramp[i]);
}

void gather_light(std::vector<RaySegment>& pieces, const View& view, const Patch& patch,
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
        RaySegment piece = caster.cast(ray, enter, leave, end);
        piece.ray = number;
        if (piece.opacity > 0) pieces.push_back(piece);
      }
    }
}

}  // namespace pillion::stages::image
