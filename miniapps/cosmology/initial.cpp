// SPDX-License-Identifier: BSD-3-Clause
// White noise, a number per cell, coloured by the power spectrum; then x = q + D psi with
// div(psi) = -delta, and the momentum a^2 dx/dt = a^2 H f D psi.
#include "initial.hpp"

#include <cmath>

#include "random.hpp"

namespace cosmology {
namespace {

/// Waves at the mesh's limit stand for two directions at once and have no displacement there.
bool at_limit(const Mode& mode, int64_t cells) {
  for (int64_t n : mode.n)
    if (2 * std::abs(n) == cells) return true;
  return false;
}

/// Transform of the linear density contrast of today.
Mesh linear_density(const Parameters& parameters, const Slabs& slabs, const LinearPower& power) {
  Mesh density(slabs);
  density.for_each_cell([&](int64_t x, int64_t y, int64_t z, double& value) {
    value = normal(parameters.seed, x + slabs.cells * (y + slabs.cells * (slabs.first + z)));
  });
  density.forward();
  const double total = static_cast<double>(slabs.total()), volume = std::pow(slabs.length, 3);
  density.for_each_mode([&](const Mode& mode, Complex& value) {
    const double squared = mode.squared();
    if (squared == 0 || at_limit(mode, slabs.cells)) {
      value = 0;
      return;
    }
    if (parameters.fixed) value *= std::sqrt(total) / std::abs(value);
    value *= std::sqrt(total * power(std::sqrt(squared)) / volume);
  });
  return density;
}

}  // namespace

Particles initial_particles(const Parameters& parameters, const Slabs& slabs,
                            const Background& background, const LinearPower& power, double a) {
  const double growth = background.growth(a);
  const double speed = a * a * background.expansion(a) * background.growth_rate(a) * growth;
  Particles particles;
  Mesh density = linear_density(parameters, slabs, power), psi(slabs);
  psi.for_each_cell([&](int64_t x, int64_t y, int64_t z, double&) {
    const int64_t cell[3] = {x, y, slabs.first + z};
    Vector centre;
    for (int axis = 0; axis < 3; ++axis)
      centre[axis] = static_cast<double>(cell[axis]) * slabs.width();
    particles.add(cell[0] + slabs.cells * (cell[1] + slabs.cells * cell[2]), centre, {});
  });
  for (int axis = 0; axis < 3; ++axis) {
    const Complex* delta = density.modes();
    psi.for_each_mode([&](const Mode& mode, Complex& value) {
      const double squared = mode.squared();
      value = squared == 0 ? 0 : *delta * Complex(0, mode.k(axis) / squared);
      ++delta;
    });
    psi.backward();
    size_t i = 0;
    psi.for_each_cell([&](int64_t, int64_t, int64_t, double& value) {
      particles.position[i][axis] += growth * value;
      particles.momentum[i][axis] = speed * value;
      ++i;
    });
  }
  particles.exchange(slabs);
  return particles;
}

}  // namespace cosmology
