// SPDX-License-Identifier: BSD-3-Clause
// Poisson's equation and the gradient by Fourier transform, and the leapfrog.
#include "gravity.hpp"

#include <cmath>

#include "cloud.hpp"

namespace cosmology {
namespace {

double sinc(double x) { return x == 0 ? 1 : std::sin(x) / x; }

/// How many modes of the whole mesh one of the half that FFTW keeps stands for.
double weight(const Mode& mode, int64_t cells) {
  return mode.n[0] == 0 || 2 * mode.n[0] == cells ? 1 : 2;
}

// Clouds smooth the density and the force; dividing by their window twice undoes that, so that
// waves of many cells grow as they should. A taper keeps what is near the mesh's limit from being
// amplified.
double green(const Mode& mode, const Slabs& slabs) {
  const double squared = mode.squared();
  if (squared == 0) return 0;
  double window = 1;
  for (int axis = 0; axis < 3; ++axis) window *= sinc(mode.k(axis) * slabs.width() / 2);
  const double limit = mode.fundamental * static_cast<double>(slabs.cells) / 2;
  const double taper = std::exp(-2 * std::pow(squared / (limit * limit), 2));
  return -taper / (squared * std::pow(window, 4));
}

void kick(Particles& particles, double factor) {
  for (size_t i = 0; i < particles.count(); ++i)
    for (int axis = 0; axis < 3; ++axis)
      particles.momentum[i][axis] += factor * particles.acceleration[i][axis];
}

void drift(Particles& particles, double factor) {
  for (size_t i = 0; i < particles.count(); ++i)
    for (int axis = 0; axis < 3; ++axis)
      particles.position[i][axis] += factor * particles.momentum[i][axis];
}

}  // namespace

Gravity::Gravity(const Slabs& slabs, double omega_m)
    : slabs_(slabs), density_(slabs), force_(slabs) {
  density_.for_each_mode(
      [&](const Mode& mode, Complex&) { green_.push_back(1.5 * omega_m * green(mode, slabs)); });
}

void Gravity::accelerate(Particles& particles) {
  deposit(
      particles, slabs_, [](size_t) { return 1.0; }, density_);
  density_.forward();
  potential_ = 0;
  const double total = static_cast<double>(slabs_.total());
  const double* green = green_.data();
  density_.for_each_mode([&](const Mode& mode, Complex& value) {
    const double phi = *green++;
    potential_ += 0.5 * weight(mode, slabs_.cells) * phi * std::norm(value) / (total * total);
    value *= phi;
  });
  particles.acceleration.resize(particles.count());
  for (int axis = 0; axis < 3; ++axis) {
    const Complex* phi = density_.modes();
    force_.for_each_mode([&](const Mode& mode, Complex& value) {
      const bool has_gradient = 2 * std::abs(mode.n[axis]) != slabs_.cells;
      value = has_gradient ? *phi * Complex(0, -mode.k(axis)) : 0;
      ++phi;
    });
    force_.backward();
    force_.fill_borders();
    for (size_t i = 0; i < particles.count(); ++i)
      particles.acceleration[i][axis] = interpolated(force_, Cloud(particles.position[i], slabs_));
  }
}

Energy Gravity::energy(const Particles& particles, double a) const {
  double sums[6] = {0, potential_, 0, 0, 0, 0};
  for (const Vector& p : particles.momentum) {
    const double squared = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
    sums[0] += 0.5 * squared;
    for (int axis = 0; axis < 3; ++axis) sums[2 + axis] += p[axis];
    sums[5] += std::sqrt(squared);
  }
  MPI_Allreduce(MPI_IN_PLACE, sums, 6, MPI_DOUBLE, MPI_SUM, slabs_.comm);
  const double net = std::hypot(sums[2], sums[3], sums[4]);
  return {sums[0] / static_cast<double>(slabs_.total()) / (a * a), sums[1] / a, net / sums[5]};
}

void advance(Particles& particles, Gravity& gravity, const Slabs& slabs,
             const Background& background, double from, double to) {
  const double middle = std::sqrt(from * to);
  kick(particles, background.kick(from, middle));
  drift(particles, background.drift(from, to));
  particles.exchange(slabs);
  gravity.accelerate(particles);
  kick(particles, background.kick(middle, to));
}

}  // namespace cosmology
