// SPDX-License-Identifier: BSD-3-Clause
// Drawing planes through a uniform mesh.
#include "slice.hpp"

#include <cmath>

namespace pillion::image {

namespace {

/// Where a ray meets the plane; false if nowhere in front of the camera.
bool meets(const Plane& plane, const View& view, const Ray& ray, Vec& at, double& depth) {
  const double slope = dot(ray.direction, plane.normal);
  if (slope == 0) return false;
  depth = dot(plane.origin - ray.origin, plane.normal) / slope;
  if (!(depth > view.nearest()) || !std::isfinite(depth)) return false;
  at = ray.at(depth);
  if (plane.axis >= 0) at[plane.axis] = plane.origin[plane.axis];
  return true;
}

}  // namespace

Cells cells_of(const Plane& plane, const Lattice& lattice) {
  Cells out;
  if (plane.axis < 0) return out;
  double fraction = 0;
  const auto d = static_cast<size_t>(plane.axis);
  out.lo[d] = lattice.axes[d].cell(plane.origin[plane.axis], fraction);
  out.hi[d] = out.lo[d] + 1;
  return out;
}

void draw_slice(Canvas& canvas, const View& view, const Patch& patch,
                const std::vector<double>& values, const Plane& plane, const Paint& paint) {
  const Lattice& lattice = patch.lattice();
  const Rectangle box = rectangle_of(view, patch.lower(), patch.upper());
  for (int32_t y = box.y0; y < box.y1; ++y)
    for (int32_t x = box.x0; x < box.x1; ++x) {
      Vec at, fraction;
      double depth = 0;
      if (!meets(plane, view, view.ray(x + 0.5, y + 0.5), at, depth) || !lattice.contains(at))
        continue;
      Index cell;
      for (int d = 0; d < 3; ++d) cell[d] = lattice.axes[d].cell(at[d], fraction[d]);
      if (patch.owns(cell))
        canvas.put(x, y, depth, paint.flat(patch.interpolated(values, cell, fraction)));
    }
}

}  // namespace pillion::image
