// SPDX-License-Identifier: BSD-3-Clause
// The linear power spectrum of matter today: a power law of primordial fluctuations times the
// transfer function of Eisenstein and Hu (ApJ 496, 605, 1998) with baryon acoustic oscillations,
// normalised to sigma_8. Wave numbers are in 1/Mpc, power in Mpc^3.
#pragma once

#include "parameters.hpp"

namespace cosmology {

/// Transfer function of cold dark matter and baryons together; equation numbers are that paper's.
class Transfer {
 public:
  explicit Transfer(const Parameters& parameters);
  [[nodiscard]] double operator()(double k) const;

 private:
  [[nodiscard]] double baryons(double k) const;
  [[nodiscard]] double dark_matter(double k) const;

  double baryon_fraction_;
  double k_equality_;
  double sound_horizon_;
  double k_silk_;
  double alpha_c_;
  double beta_c_;
  double alpha_b_;
  double beta_b_;
  double beta_node_;
};

class LinearPower {
 public:
  explicit LinearPower(const Parameters& parameters);
  [[nodiscard]] double operator()(double k) const;
  /// Standard deviation of the density contrast in spheres of this radius in Mpc.
  [[nodiscard]] double sigma(double radius) const;

 private:
  Transfer transfer_;
  double tilt_;
  double amplitude_ = 1;
};

}  // namespace cosmology
