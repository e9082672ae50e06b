// SPDX-License-Identifier: BSD-3-Clause
// Volumes: light that is given off and held back along the rays of a picture (the emission and
// absorption of Max, 1995). Rays are sampled at depths that depend on the picture alone, and the
// mesh is cut into bricks that depend on the mesh alone; what a ray gathers in a brick is a piece,
// and pieces are put together in their order along the ray. So nothing depends on who held what.
#pragma once

#include <cstdint>
#include <vector>

#include "colour.hpp"
#include "patch.hpp"

namespace pillion::stages::image {

/// A pixel has two rays: one that ends at the nearest thing that is seen in it, and one that ends
/// at the farthest; but for edges these are the same, and only the second one is needed.
inline int32_t ray_of(int32_t pixel, bool is_far) { return 2 * pixel + (is_far ? 1 : 0); }

/// What a ray gathers in a brick: colours times opacity, from 0 to 255.
struct RaySegment {
  int32_t ray = 0;
  int64_t first = 0;  ///< sample along the ray
  float red = 0, green = 0, blue = 0, opacity = 0;
};

/// Opacities of a way of one `thickness` through the volume, at equal distances of the range.
struct Opacity {
  std::vector<double> ramp;
  double thickness = 1;

  [[nodiscard]] double at(double fraction) const;
};

/// Adds pieces of a brick, of the part of each ray that is nearer than its end.
void gather_light(std::vector<RaySegment>& pieces, const View& view, const Patch& patch,
                  const std::vector<double>& values, const Paint& paint, const Opacity& opacity,
                  double spacing, const std::vector<double>& ends);

}  // namespace pillion::stages::image
