// SPDX-License-Identifier: BSD-3-Clause
// Particles of equal mass, each on the rank whose slab it lies in. Positions are comoving, in Mpc;
// the momentum of a unit of mass is a^2 dx/dt, in Mpc H0.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "slabs.hpp"

namespace cosmology {

using Vector = std::array<double, 3>;

struct Particles {
  std::vector<int64_t> id;
  std::vector<Vector> position;
  std::vector<Vector> momentum;
  std::vector<Vector> acceleration;  ///< at these positions; not kept by exchange()

  [[nodiscard]] size_t count() const { return id.size(); }
  void add(int64_t identity, const Vector& where, const Vector& how) {
    id.push_back(identity);
    position.push_back(where);
    momentum.push_back(how);
  }

  /// Puts positions back into the box and every particle on the rank that its place belongs to.
  /// [collective]
  void exchange(const Slabs& slabs);
};

/// Plane of cells that a coordinate within the box lies in.
inline int64_t plane_of(double coordinate, const Slabs& slabs) {
  const auto plane = static_cast<int64_t>(coordinate / slabs.width());
  return plane < slabs.cells ? plane : slabs.cells - 1;
}

}  // namespace cosmology
