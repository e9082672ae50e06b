// SPDX-License-Identifier: BSD-3-Clause
// Planes through a uniform mesh: every sample of the picture shows the value at the very place that
// it sees, interpolated between the points of the lattice.
#pragma once

#include "patch.hpp"
#include "shading.hpp"

namespace pillion::image {

struct Plane {
  Vec origin, normal;
  int axis = -1;  ///< across it, where it is along two axes of the mesh
};

/// The cells of a lattice that a plane goes through.
Cells cells_of(const Plane& plane, const Lattice& lattice);

void draw_slice(Canvas& canvas, const View& view, const Patch& patch,
                const std::vector<double>& values, const Plane& plane, const Paint& paint);

}  // namespace pillion::image
