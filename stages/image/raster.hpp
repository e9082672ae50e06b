// SPDX-License-Identifier: BSD-3-Clause
// Drawing triangles, lines and spheres on a canvas. Corners of triangles are rounded to a fine grid
// and coverage is decided in integers by the top-left rule, so that of a closed surface every
// sample has exactly one triangle: no cracks, and nothing drawn twice along edges.
#pragma once

#include <array>

#include "canvas.hpp"
#include "colour.hpp"

namespace pillion::stages::image {

/// A corner of a triangle: where, the normal of the surface (of any length, either side), and the
/// number that is shown as a colour.
struct Corner {
  Vec position, normal;
  double value = 0;
};
using Triangle = std::array<Corner, 3>;

void draw_triangle(Canvas& canvas, const View& view, const Triangle& triangle, const Paint& paint);

/// A line whose width is in samples.
void draw_line(Canvas& canvas, const View& view, const Vec& from, const Vec& to, double width,
               Colour colour);

void draw_sphere(Canvas& canvas, const View& view, const Vec& centre, double radius, double value,
                 const Paint& paint);

}  // namespace pillion::stages::image
