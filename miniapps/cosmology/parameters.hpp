// SPDX-License-Identifier: BSD-3-Clause
// What a run of the simulation can be told, by `name=value` on the command line or in a file with
// one of them per line. Lengths are comoving Mpc throughout, without a factor of h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cosmology {

struct Parameters {
  int64_t cells = 128;  ///< per side; there is one particle per cell
  double length = 64;   ///< of a side, comoving Mpc
  int64_t box = 32;     ///< cells per side of the boxes that the gas lives on
  uint64_t seed = 1;
  bool fixed = false;  ///< initial amplitudes without scatter (Angulo and Pontzen 2016)

  double redshift = 49;  ///< of the start
  double final_redshift = 0;
  int64_t steps = 100;  ///< of equal length in the logarithm of the scale factor

  // Planck Collaboration VI 2018, table 2, last column. Space is flat.
  double omega_m = 0.3111;
  double omega_b = 0.0490;
  double hubble = 0.6766;  ///< H0 / (100 km/s/Mpc)
  double tilt = 0.9665;    ///< n_s
  double sigma_8 = 0.8102;

  double filter = 1;          ///< standard deviation of the gas's Gaussian filter, in cells
  double T0 = 1e4;            ///< temperature at mean density, K
  double gamma = 1.6;         ///< T ~ density^(gamma - 1); Hui and Gnedin 1997
  double ionisation = 1e-12;  ///< photo-ionisation rate of H I, 1/s; Bolton et al. 2005
  double helium = 0.245;      ///< mass fraction

  std::string analyses = "pillion.yaml";
  std::string output = "results";  ///< of the analyses
  std::string snapshots;           ///< folder of .npy files; none are written if empty
  int64_t snapshot_every = 0;      ///< steps between them; 0: only after the last
};

/// Reads arguments in order, later ones winning; one without '=' is a file of such lines, in which
/// '#' begins a comment. Throws std::invalid_argument if a name or value makes no sense.
Parameters read_parameters(const std::vector<std::string>& arguments);

}  // namespace cosmology
