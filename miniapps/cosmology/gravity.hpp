// SPDX-License-Identifier: BSD-3-Clause
// Gravity by particles on a mesh. With the momentum p = a^2 dx/dt and time in 1/H0 the equations
// are
//   dx/dt = p / a^2,   dp/dt = -grad(phi) / a,   laplace(phi) = 3/2 Omega_m (density/mean - 1).
#pragma once

#include "background.hpp"
#include "particles.hpp"

namespace cosmology {

/// What a unit of mass has on average, in (Mpc H0)^2, and the sum of all momenta over that of their
/// magnitudes. Peculiar energies: of proper peculiar velocities, and of the peculiar potential.
struct Energy {
  double kinetic;
  double potential;
  double net_momentum;
};

class Gravity {
 public:
  Gravity(const Slabs& slabs, double omega_m);

  /// Sets the particles' accelerations, -grad(phi). [collective]
  void accelerate(Particles& particles);
  /// Energies at scale factor a, the potential being that of the last accelerate(). [collective]
  [[nodiscard]] Energy energy(const Particles& particles, double a) const;

 private:
  const Slabs& slabs_;
  std::vector<double> green_;  ///< potential of a unit density contrast, for every mode
  double potential_ = 0;       ///< mean of (density/mean) phi / 2, of this rank's modes
  Mesh density_;
  Mesh force_;
};

/// One step: kick, drift, kick (Quinn et al. 1997, arXiv:astro-ph/9710043), each with the integrals
/// that are exact for a given force. Accelerations must be those at the start. [collective]
void advance(Particles& particles, Gravity& gravity, const Slabs& slabs,
             const Background& background, double from, double to);

}  // namespace cosmology
