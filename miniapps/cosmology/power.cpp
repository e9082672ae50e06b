// SPDX-License-Identifier: BSD-3-Clause
// Eisenstein and Hu's fitting formula, and the integral that normalises it.
#include "power.hpp"

#include <cmath>
#include <numbers>

namespace cosmology {
namespace {

double spherical_bessel(double x) { return x < 1e-4 ? 1 - x * x / 6 : std::sin(x) / x; }

/// Fourier transform of a sphere of radius 1, 1 at 0.
double top_hat(double x) {
  return x < 1e-2 ? 1 - x * x / 10 : 3 * (std::sin(x) - x * std::cos(x)) / (x * x * x);
}

/// Eq. 19 and 20, with q = k / (13.41 k_equality) (eq. 10).
double pressureless(double q, double alpha, double beta) {
  const double logarithm = std::log(std::numbers::e + 1.8 * beta * q);
  const double c = 14.2 / alpha + 386 / (1 + 69.9 * std::pow(q, 1.08));
  return logarithm / (logarithm + c * q * q);
}

/// Eq. 15.
double suppression(double y) {
  const double root = std::sqrt(1 + y);
  return y * (-6 * root + (2 + 3 * y) * std::log((root + 1) / (root - 1)));
}

}  // namespace

Transfer::Transfer(const Parameters& parameters)
    : baryon_fraction_(parameters.omega_b / parameters.omega_m) {
  const double h2 = parameters.hubble * parameters.hubble;
  const double m = parameters.omega_m * h2, b = parameters.omega_b * h2, f = baryon_fraction_;
  const double theta = 2.7255 / 2.7;  // Fixsen 2009

  // Eq. 2 to 6: equality, the drag epoch, and the sound horizon there.
  const double z_equality = 2.50e4 * m * std::pow(theta, -4);
  k_equality_ = 7.46e-2 * m * std::pow(theta, -2);
  const double b1 = 0.313 * std::pow(m, -0.419) * (1 + 0.607 * std::pow(m, 0.674));
  const double b2 = 0.238 * std::pow(m, 0.223);
  const double z_drag =
      1291 * std::pow(m, 0.251) / (1 + 0.659 * std::pow(m, 0.828)) * (1 + b1 * std::pow(b, b2));
  const double baryons_to_photons = 31.5e3 * b * std::pow(theta, -4);
  const double r_drag = baryons_to_photons / z_drag, r_equality = baryons_to_photons / z_equality;
  sound_horizon_ = 2 / (3 * k_equality_) * std::sqrt(6 / r_equality) *
                   std::log((std::sqrt(1 + r_drag) + std::sqrt(r_drag + r_equality)) /
                            (1 + std::sqrt(r_equality)));
  k_silk_ = 1.6 * std::pow(b, 0.52) * std::pow(m, 0.73) * (1 + std::pow(10.4 * m, -0.95));

  // Eq. 11, 12, 14, 24 and 23.
  const double a1 = std::pow(46.9 * m, 0.670) * (1 + std::pow(32.1 * m, -0.532));
  const double a2 = std::pow(12.0 * m, 0.424) * (1 + std::pow(45.0 * m, -0.582));
  alpha_c_ = std::pow(a1, -f) * std::pow(a2, -f * f * f);
  const double c1 = 0.944 / (1 + std::pow(458 * m, -0.708)), c2 = std::pow(0.395 * m, -0.0266);
  beta_c_ = 1 / (1 + c1 * (std::pow(1 - f, c2) - 1));
  alpha_b_ = 2.07 * k_equality_ * sound_horizon_ * std::pow(1 + r_drag, -0.75) *
             suppression((1 + z_equality) / (1 + z_drag));
  beta_b_ = 0.5 + f + (3 - 2 * f) * std::sqrt(std::pow(17.2 * m, 2) + 1);
  beta_node_ = 8.41 * std::pow(m, 0.435);
}

// Eq. 17 and 18.
double Transfer::dark_matter(double k) const {
  const double q = k / (13.41 * k_equality_);
  const double f = 1 / (1 + std::pow(k * sound_horizon_ / 5.4, 4));
  return f * pressureless(q, 1, beta_c_) + (1 - f) * pressureless(q, alpha_c_, beta_c_);
}

// Eq. 21 and 22.
double Transfer::baryons(double k) const {
  const double q = k / (13.41 * k_equality_), ks = k * sound_horizon_;
  const double shifted = ks / std::cbrt(1 + std::pow(beta_node_ / ks, 3));
  const double smooth = pressureless(q, 1, 1) / (1 + std::pow(ks / 5.2, 2));
  const double waves =
      alpha_b_ / (1 + std::pow(beta_b_ / ks, 3)) * std::exp(-std::pow(k / k_silk_, 1.4));
  return (smooth + waves) * spherical_bessel(shifted);
}

// Eq. 16.
double Transfer::operator()(double k) const {
  return baryon_fraction_ * baryons(k) + (1 - baryon_fraction_) * dark_matter(k);
}

LinearPower::LinearPower(const Parameters& parameters)
    : transfer_(parameters), tilt_(parameters.tilt) {
  const double ratio = parameters.sigma_8 / sigma(8 / parameters.hubble);
  amplitude_ = ratio * ratio;
}

double LinearPower::operator()(double k) const {
  const double t = transfer_(k);
  return amplitude_ * std::pow(k, tilt_) * t * t;
}

double LinearPower::sigma(double radius) const {
  const double from = std::log(1e-5), step = 1e-3;
  double sum = 0;
  for (int i = 0; i < 16000; ++i) {  // up to k = 90 / Mpc
    const double k = std::exp(from + i * step), window = top_hat(k * radius);
    sum += k * k * k * (*this)(k)*window * window;
  }
  return std::sqrt(sum * step / (2 * std::numbers::pi * std::numbers::pi));
}

}  // namespace cosmology
