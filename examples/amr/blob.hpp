// SPDX-License-Identifier: BSD-3-Clause
// A blob of mass 1 that the flow carries through the periodic unit cube, its shape unchanged. Its
// mean in any cell is known, so the example needs no solver.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

struct Blob {
  static constexpr double radius = 0.2;
  static constexpr std::array<double, 3> start{0.3, 0.5, 0.45}, velocity{1.0, 0.5, -0.25};
  std::array<double, 3> centre{};

  explicit Blob(double time) {
    for (size_t d = 0; d < 3; ++d) {
      const double along = start[d] + velocity[d] * time;
      centre[d] = along - std::floor(along);
    }
  }

  /// Mean density between lo and hi along each axis. The density is the product of
  /// (1 + cos(pi x / radius)) / (2 radius) along the three axes, and 0 from the radius on.
  [[nodiscard]] double mean(const std::array<double, 3>& lo,
                            const std::array<double, 3>& hi) const {
    double product = 1;
    for (size_t d = 0; d < 3; ++d) {
      double mass = 0;
      for (const double image : {-1.0, 0.0, 1.0})
        mass += below(hi[d] - centre[d] + image) - below(lo[d] - centre[d] + image);
      product *= mass / (hi[d] - lo[d]);
    }
    return product;
  }

  /// Distance of its centre from a box, along the axis in which it is farthest.
  [[nodiscard]] double distance(const std::array<double, 3>& lo,
                                const std::array<double, 3>& hi) const {
    double farthest = 0;
    for (size_t d = 0; d < 3; ++d) {
      double away = 1;
      for (const double image : {-1.0, 0.0, 1.0})
        away =
            std::min(away, std::max({lo[d] - centre[d] + image, centre[d] - image - hi[d], 0.0}));
      farthest = std::max(farthest, away);
    }
    return farthest;
  }

 private:
  /// The part of the mass below x, along one axis.
  static double below(double x) {
    if (x <= -radius) return 0;
    if (x >= radius) return 1;
    return 0.5 +
           (x + radius / std::numbers::pi * std::sin(std::numbers::pi * x / radius)) / (2 * radius);
  }
};
