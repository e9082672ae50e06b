// SPDX-License-Identifier: BSD-3-Clause
// The edges of a box.
#pragma once

#include "camera.hpp"
#include "raster.hpp"

namespace pillion::image {

inline void draw_outline(Canvas& canvas, const View& view, const Box& box, Colour colour) {
  const double width = 1.2 * view.frame().samples;
  for (int a = 0; a < 8; ++a)
    for (const int bit : {1, 2, 4})
      if ((a & bit) == 0)
        draw_line(canvas, view, box.corner(a), box.corner(a | bit), width, colour);
}

}  // namespace pillion::image
