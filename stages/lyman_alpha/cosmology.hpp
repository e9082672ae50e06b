// SPDX-License-Identifier: BSD-3-Clause
// Constants of nature (CODATA 2022, exact ones among them) and what follows from them and from the
// cosmological parameters: the expansion rate, and velocities and optical depths of a line of
// sight.
#pragma once

#include <cmath>
#include <cstdint>

namespace pillion::stages {

namespace nature {
constexpr double electron_charge = 1.602176634e-19;       // C
constexpr double electron_mass = 9.1093837139e-31;        // kg
constexpr double proton_mass = 1.67262192595e-27;         // kg
constexpr double light_speed = 2.99792458e8;              // m/s
constexpr double vacuum_permittivity = 8.8541878188e-12;  // F/m
constexpr double boltzmann = 1.380649e-23;                // J/K
constexpr double megaparsec = 3.0856775814913673e22;      // m
constexpr double lyman_alpha = 1215.67e-10;               // m
constexpr double oscillator_strength = 0.41641;
/// pi e^2 f / (m_e c) in Gaussian units, as m^2 Hz.
constexpr double cross_section = electron_charge * electron_charge * oscillator_strength /
                                 (4 * vacuum_permittivity * electron_mass * light_speed);
}  // namespace nature

struct Cosmology {
  double omega_m, omega_lambda, h;

  /// In km/s/Mpc, with what is missing to a flat space as curvature.
  [[nodiscard]] double hubble(double scale_factor) const {
    const double z1 = 1 / scale_factor, curvature = 1 - omega_m - omega_lambda;
    return 100 * h * std::sqrt(omega_m * z1 * z1 * z1 + curvature * z1 * z1 + omega_lambda);
  }
};

/// Thermal Doppler parameter of hydrogen at 1 K, in km/s; it goes with the root of temperature.
inline double doppler_of_kelvin() {
  return std::sqrt(2 * nature::boltzmann / nature::proton_mass) / 1000;
}

/// A line of sight through the whole mesh.
struct Sight {
  int64_t cells;
  double length;    ///< comoving, in Mpc
  double velocity;  ///< Hubble flow over it, in km/s
  /// Optical depth times pixels of one hydrogen atom per cm^3 in one cell.
  double strength;
};

inline Sight sight_of(const Cosmology& cosmology, double scale_factor, int64_t cells,
                      double length) {
  const double hubble = cosmology.hubble(scale_factor);
  const double per_second = hubble * 1000 / nature::megaparsec;
  return {cells, length, hubble * scale_factor * length,
          1e6 * nature::cross_section * nature::lyman_alpha / per_second};
}

}  // namespace pillion::stages
