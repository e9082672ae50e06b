// SPDX-License-Identifier: BSD-3-Clause
// Clouds in cells (Hockney and Eastwood, Computer simulation using particles, 1988, section 5): a
// particle is a cube of one cell's width, and gives to and takes from the up to eight cells that it
// covers.
#pragma once

#include <cmath>

#include "particles.hpp"

namespace cosmology {

/// Cells that a particle covers: the lower along each axis, the next, and the part in the next.
struct Cloud {
  Cloud(const Vector& position, const Slabs& slabs) {
    for (int axis = 0; axis < 3; ++axis) {
      const double place = position[axis] / slabs.width() - 0.5;
      const double whole = std::floor(place);
      low[axis] = static_cast<int64_t>(whole);
      part[axis] = place - whole;
      high[axis] = low[axis] + 1;
    }
    for (int axis = 0; axis < 2; ++axis) {
      if (low[axis] < 0) low[axis] += slabs.cells;
      if (high[axis] >= slabs.cells) high[axis] -= slabs.cells;
    }
    low[2] -= slabs.first;
    high[2] -= slabs.first;
  }

  /// Calls visit(cell's value, weight) for each of the eight.
  template <class AnyMesh, class Visit>
  void for_each(AnyMesh& mesh, Visit visit) const {
    const double wx[2] = {1 - part[0], part[0]};
    const double wy[2] = {1 - part[1], part[1]};
    const double wz[2] = {1 - part[2], part[2]};
    for (int k = 0; k < 2; ++k)
      for (int j = 0; j < 2; ++j)
        for (int i = 0; i < 2; ++i)
          visit(mesh.at(i ? high[0] : low[0], j ? high[1] : low[1], k ? high[2] : low[2]),
                wx[i] * wy[j] * wz[k]);
  }

  int64_t low[3];
  int64_t high[3];
  double part[3];
};

/// Sets the mesh to the sum of quantity(i) over the particles i in each cell. [collective]
template <class Quantity>
void deposit(const Particles& particles, const Slabs& slabs, Quantity quantity, Mesh& mesh) {
  mesh.clear();
  for (size_t i = 0; i < particles.count(); ++i) {
    const double amount = quantity(i);
    Cloud(particles.position[i], slabs).for_each(mesh, [amount](double& value, double weight) {
      value += weight * amount;
    });
  }
  mesh.add_borders();
}

/// Value at a particle, of a mesh whose borders are filled.
inline double interpolated(const Mesh& mesh, const Cloud& cloud) {
  double sum = 0;
  cloud.for_each(mesh, [&sum](double value, double weight) { sum += weight * value; });
  return sum;
}

}  // namespace cosmology
