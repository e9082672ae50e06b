// SPDX-License-Identifier: BSD-3-Clause
// Gas in the fluctuating Gunn-Peterson approximation (Croft et al., ApJ 495, 44, 1998; Weinberg et
// al. 1997): between galaxies, gas follows the matter above the scale of its pressure, has a
// temperature that follows from its density, and is highly ionised, in equilibrium with the
// background of ultraviolet light.
#pragma once

#include "boxes.hpp"
#include "parameters.hpp"
#include "particles.hpp"

namespace cosmology {

struct Gas {
  BoxField density;      ///< of baryons, comoving, M_sun/Mpc^3
  BoxField temperature;  ///< K
  BoxField velocity;     ///< peculiar, proper, km/s; three components
  BoxField neutral;      ///< neutral hydrogen atoms, proper, 1/cm^3
};

/// The gas that goes with the particles at scale factor a. [collective]
Gas gas_of(const Particles& particles, const Parameters& parameters, const Slabs& slabs,
           const Boxes& boxes, double a);

/// A matter density today of this part of the critical one, M_sun/Mpc^3.
double mean_density(double omega, double hubble);

/// What a momentum a^2 dx/dt in Mpc H0 is as a peculiar velocity in km/s.
double velocity_unit(const Parameters& parameters, double a);

}  // namespace cosmology
