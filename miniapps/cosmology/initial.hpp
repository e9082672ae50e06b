// SPDX-License-Identifier: BSD-3-Clause
// Initial conditions: Gaussian fluctuations with the linear power spectrum, and particles displaced
// from the cells' centres by Zel'dovich's approximation.
#pragma once

#include "background.hpp"
#include "particles.hpp"
#include "power.hpp"

namespace cosmology {

/// The particles at scale factor a, one per cell. [collective]
Particles initial_particles(const Parameters& parameters, const Slabs& slabs,
                            const Background& background, const LinearPower& power, double a);

}  // namespace cosmology
