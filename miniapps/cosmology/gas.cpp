// SPDX-License-Identifier: BSD-3-Clause
// Density and momentum of the gas are those of the matter, filtered; temperature and ionisation
// follow cell by cell. Constants are CODATA's of 2018 and the IAU's of 2012 and 2015, in cgs units.
#include "gas.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cloud.hpp"

namespace cosmology {
namespace {

constexpr double megaparsec = 3.0856775814913673e24;    // cm
constexpr double gravity = 6.67430e-8;                  // cm^3/(g s^2)
constexpr double solar_mass = 1.32712440e26 / gravity;  // g
constexpr double hydrogen_mass = 1.6735328e-24;         // g

/// Of a universe without curvature today, g/cm^3.
double critical_density(double hubble) {
  const double rate = 1e7 * hubble / megaparsec;  // 1/s
  return 3 * rate * rate / (8 * std::numbers::pi * gravity);
}

/// Recombination of hydrogen to all levels (case A), cm^3/s: Hui and Gnedin, MNRAS 292, 27, 1997,
/// appendix A.
double recombination(double temperature) {
  const double lambda = 2 * 157807 / temperature;
  return 1.269e-13 * std::pow(lambda, 1.503) / std::pow(1 + std::pow(lambda / 0.522, 0.470), 1.923);
}

/// Neutral part of the hydrogen, where ionisations and recombinations balance:
/// x rate = (1 - x)^2 alpha n_H electrons, `electrons` being their number per proton.
double neutral_part(double hydrogen, double temperature, double electrons, double rate) {
  const double b = recombination(temperature) * hydrogen * electrons / rate;
  return 2 * b / (2 * b + 1 + std::sqrt(4 * b + 1));
}

/// Smooths by a Gaussian of so many cells. On the mesh it is the kernel of diffusion between cells,
/// which is positive everywhere, so that a density stays one.
void smooth(Mesh& mesh, double deviation, double width) {
  mesh.forward();
  mesh.for_each_mode([&](const Mode& mode, Complex& value) {
    double exponent = 0;
    for (int axis = 0; axis < 3; ++axis) exponent += 1 - std::cos(mode.k(axis) * width);
    value *= std::exp(-deviation * deviation * exponent);
  });
  mesh.backward();
}

}  // namespace

double mean_density(double omega, double hubble) {
  return omega * critical_density(hubble) * std::pow(megaparsec, 3) / solar_mass;
}

double velocity_unit(const Parameters& parameters, double a) { return 100 * parameters.hubble / a; }

Gas gas_of(const Particles& particles, const Parameters& parameters, const Slabs& slabs,
           const Boxes& boxes, double a) {
  Gas gas{boxes.field(1), boxes.field(1), boxes.field(3), boxes.field(1)};
  Mesh mesh(slabs);
  deposit(
      particles, slabs, [](size_t) { return 1.0; }, mesh);
  smooth(mesh, parameters.filter, slabs.width());
  boxes.fill(mesh, gas.density);
  for (int axis = 0; axis < 3; ++axis) {
    deposit(
        particles, slabs, [&](size_t i) { return particles.momentum[i][axis]; }, mesh);
    smooth(mesh, parameters.filter, slabs.width());
    boxes.fill(mesh, gas.velocity, 3, axis);
  }

  const double mean = mean_density(parameters.omega_b, parameters.hubble);
  const double hydrogen = (1 - parameters.helium) * parameters.omega_b *
                          critical_density(parameters.hubble) / (hydrogen_mass * a * a * a);
  const double electrons = 1 + parameters.helium / (2 * (1 - parameters.helium));
  const double unit = velocity_unit(parameters, a);
  constexpr double emptiest = 1e-6;  // far from all particles only rounding is left
  for (size_t b = 0; b < gas.density.size(); ++b)
    for (size_t i = 0; i < gas.density[b].size(); ++i) {
      const double over = std::max(gas.density[b][i], emptiest);
      const double temperature = parameters.T0 * std::pow(over, parameters.gamma - 1);
      gas.density[b][i] = over * mean;
      gas.temperature[b][i] = temperature;
      gas.neutral[b][i] =
          over * hydrogen *
          neutral_part(over * hydrogen, temperature, electrons, parameters.ionisation);
      for (int axis = 0; axis < 3; ++axis) gas.velocity[b][3 * i + axis] *= unit / over;
    }
  return gas;
}

}  // namespace cosmology
