// SPDX-License-Identifier: BSD-3-Clause
// Integrals over the expansion history, by Gauss-Legendre quadrature.
#include "background.hpp"

#include <array>
#include <cmath>

namespace cosmology {
namespace {

/// Integral of f over [from, to], by Gauss-Legendre quadrature with 5 points on 16 intervals.
template <class F>
double integral(F f, double from, double to) {
  constexpr std::array<double, 3> node = {0, 0.5384693101056831, 0.9061798459386640};
  constexpr std::array<double, 3> weight = {0.5688888888888889, 0.4786286704993665,
                                            0.2369268850561891};
  constexpr int intervals = 16;
  const double half = (to - from) / (2 * intervals);
  double sum = 0;
  for (int i = 0; i < intervals; ++i) {
    const double middle = from + (2 * i + 1) * half;
    sum += weight[0] * f(middle);
    for (int j : {1, 2})
      sum += weight[j] * (f(middle - node[j] * half) + f(middle + node[j] * half));
  }
  return sum * half;
}

}  // namespace

Background::Background(double omega_m) : omega_m_(omega_m), growing_mode_today_(growing_mode(1)) {}

double Background::expansion(double a) const {
  return std::sqrt(omega_m_ / (a * a * a) + 1 - omega_m_);
}

// The integrand grows as a^(3/2) at first; over the root of a it is smooth.
double Background::growing_mode(double a) const {
  const auto integrand = [this](double root) {
    const double b = root * root;
    return 2 * root / std::pow(b * expansion(b), 3);
  };
  return 2.5 * omega_m_ * expansion(a) * integral(integrand, 0, std::sqrt(a));
}

double Background::growth(double a) const { return growing_mode(a) / growing_mode_today_; }

double Background::growth_rate(double a) const {
  const double ratio = omega_m_ / (a * a * a * expansion(a) * expansion(a));
  return ratio * (2.5 * a / growing_mode(a) - 1.5);
}

double Background::kick(double from, double to) const {
  return integral([this](double ln) { return std::exp(-ln) / expansion(std::exp(ln)); },
                  std::log(from), std::log(to));
}

double Background::drift(double from, double to) const {
  return integral([this](double ln) { return std::exp(-2 * ln) / expansion(std::exp(ln)); },
                  std::log(from), std::log(to));
}

}  // namespace cosmology
