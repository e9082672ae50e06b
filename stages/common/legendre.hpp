// SPDX-License-Identifier: BSD-3-Clause
// The one-dimensional basis of spectral elements: Gauss-Lobatto-Legendre points and weights, the
// derivative matrix of the Lagrange polynomials through them, and the transform to and from
// Legendre coefficients. Formulas: Deville, Fischer, Mund, High-Order Methods for Incompressible
// Fluid Flow, appendix B; the transform as Otero et al., Flow Turbul. Combust. 101 (2018), has it.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace pillion::stages {

/// L_degree and L_(degree - 1) at x; the latter is 0 for degree 0.
struct Legendre {
  double value = 1;
  double before = 0;
};

inline Legendre legendre(int degree, double x) {
  Legendre l;
  for (int k = 0; k < degree; ++k) {
    const double next = ((2 * k + 1) * x * l.value - k * l.before) / (k + 1);
    l = {next, l.value};
  }
  return l;
}

/// The n = order + 1 points per axis of an element, on [-1, 1], ascending, and what goes with them.
/// Matrices are n x n, row after row. The order is at least 1.
class LobattoBasis {
 public:
  explicit LobattoBasis(int order) : n_(static_cast<size_t>(order) + 1) {
    place_points(order);
    for (const double x : points) {
      const double l = legendre(order, x).value;
      weights.push_back(2 / (order * (order + 1.0) * l * l));
    }
    fill_derivative(order);
    fill_transforms(order);
  }

  [[nodiscard]] size_t size() const { return n_; }

  std::vector<double> points;
  std::vector<double> weights;
  std::vector<double> derivative;   ///< of the j-th Lagrange polynomial at point i
  std::vector<double> to_values;    ///< V: s_j L_j at point i, so that V'WV is the identity
  std::vector<double> to_legendre;  ///< its inverse, V'W

 private:
  // Newton's iteration for the zeros of (1 - x^2) L'_N, from those of Chebyshev's polynomials.
  static double inner_point(int order, int i) {
    double x = -std::cos(std::numbers::pi * i / order);
    for (int iteration = 0; iteration < 20; ++iteration) {
      const Legendre l = legendre(order, x);
      x -= (x * l.value - l.before) / ((order + 1) * l.value);
    }
    return x;
  }

  // The upper half mirrors the lower one to the last bit.
  void place_points(int order) {
    points.assign(n_, 0);
    points.front() = -1;
    for (int i = 1; 2 * i < order; ++i) points[static_cast<size_t>(i)] = inner_point(order, i);
    for (size_t i = 0; 2 * i + 1 < n_; ++i) points[n_ - 1 - i] = -points[i];
  }

  // The diagonal is such that the derivative of a constant vanishes.
  void fill_derivative(int order) {
    derivative.assign(n_ * n_, 0);
    for (size_t i = 0; i < n_; ++i) {
      double rest = 0;
      for (size_t j = 0; j < n_; ++j) {
        if (i == j) continue;
        const double d = legendre(order, points[i]).value /
                         (legendre(order, points[j]).value * (points[i] - points[j]));
        derivative[i * n_ + j] = d;
        rest += d;
      }
      derivative[i * n_ + i] = -rest;
    }
  }

  // The quadrature takes the square of the last polynomial for 2/N, not for 2/(2N + 1).
  void fill_transforms(int order) {
    to_values.resize(n_ * n_);
    to_legendre.resize(n_ * n_);
    for (int j = 0; j <= order; ++j) {
      const double scale = std::sqrt(j == order ? order / 2.0 : (2 * j + 1) / 2.0);
      const auto column = static_cast<size_t>(j);
      for (size_t i = 0; i < n_; ++i) {
        const double v = scale * legendre(j, points[i]).value;
        to_values[i * n_ + column] = v;
        to_legendre[column * n_ + i] = v * weights[i];
      }
    }
  }

  size_t n_;
};

}  // namespace pillion::stages
