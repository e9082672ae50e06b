// SPDX-License-Identifier: BSD-3-Clause
// Points of spectral elements beside those of the mesh, such as the Gauss points at which solvers
// hold the pressure: their weights, and the Jacobian of an element there. The map of an element is
// the polynomial through the coordinates at the points of the mesh.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <pillion/stage.hpp>
#include <utility>
#include <vector>

#include "legendre.hpp"

namespace pillion::stages {

class PointSet {
 public:
  /// `points` along each of the axes, for elements with the points of `mesh`.
  PointSet(const LobattoBasis& mesh, int axes, int points, pillion_quadrature quadrature)
      : n_(mesh.size()), m_(static_cast<size_t>(points)), axes_(axes) {
    if (quadrature == PILLION_GAUSS) place_gauss(points);
    else place_lobatto(points);
    fill(mesh);
  }

  /// Of an element.
  [[nodiscard]] size_t size() const { return axes_ == 2 ? m_ * m_ : m_ * m_ * m_; }

  /// Weight times Jacobian at each point of an element, of the coordinates at the points of the
  /// mesh; of elements of two dimensions the third ones count, too.
  void volumes(const std::array<const double*, 3>& coordinates, double* out) {
    const auto axes = static_cast<size_t>(axes_);
    for (size_t axis = 0; axis < axes; ++axis)
      for (size_t c = 0; c < 3; ++c) gradient_[axis][c] = along_axes(coordinates[c], axis);
    const auto& [r, s, t] = gradient_;
    for (size_t p = 0; p < size(); ++p) {
      const double x = r[1][p] * s[2][p] - r[2][p] * s[1][p],
                   y = r[2][p] * s[0][p] - r[0][p] * s[2][p],
                   z = r[0][p] * s[1][p] - r[1][p] * s[0][p];
      const double jacobian =
          axes_ == 2 ? std::hypot(x, y, z) : std::abs(x * t[0][p] + y * t[1][p] + z * t[2][p]);
      out[p] = jacobian * weights_[p % m_] * weights_[p / m_ % m_] *
               (axes_ == 2 ? 1 : weights_[p / m_ / m_]);
    }
  }

 private:
  // Newton's iteration for the zeros of L_m.
  void place_gauss(int m) {
    for (int i = 0; i < m; ++i) {
      double x = -std::cos(std::numbers::pi * (i + 0.75) / (m + 0.5)), slope = 1;
      for (int iteration = 0; iteration < 20; ++iteration) {
        const Legendre l = legendre(m, x);
        slope = m * (x * l.value - l.before) / (x * x - 1);
        x -= l.value / slope;
      }
      points_.push_back(x);
      weights_.push_back(2 / ((1 - x * x) * slope * slope));
    }
  }
  void place_lobatto(int m) {
    const LobattoBasis basis(m - 1);
    points_ = basis.points;
    weights_ = basis.weights;
  }

  // By the Legendre coefficients of the polynomials of Lagrange through the points of the mesh.
  void fill(const LobattoBasis& mesh) {
    values_.assign(m_ * n_, 0);
    slopes_.assign(m_ * n_, 0);
    for (size_t i = 0; i < m_; ++i) {
      double slope = 0, slope_before = 0;  // of the polynomials of degree k and k - 1
      for (size_t k = 0; k < n_; ++k) {
        const Legendre l = legendre(static_cast<int>(k), points_[i]);
        const double next = k == 0 ? 0 : slope_before + (2 * static_cast<double>(k) - 1) * l.before;
        slope_before = std::exchange(slope, next);
        const double scale = k + 1 == n_ ? std::sqrt(static_cast<double>(k) / 2)
                                         : std::sqrt(static_cast<double>(k) + 0.5);
        for (size_t j = 0; j < n_; ++j) {
          values_[i * n_ + j] += scale * l.value * mesh.to_legendre[k * n_ + j];
          slopes_[i * n_ + j] += scale * slope * mesh.to_legendre[k * n_ + j];
        }
      }
    }
  }

  /// The derivative along one axis, at the points of the set.
  std::vector<double> along_axes(const double* from, size_t derived) const {
    const auto axes = static_cast<size_t>(axes_);
    std::vector<double> now(from, from + (axes_ == 2 ? n_ * n_ : n_ * n_ * n_)), next;
    size_t inner = 1, outer = now.size() / n_;
    for (size_t axis = 0; axis < axes; ++axis, inner *= m_, outer /= n_) {
      const auto& matrix = axis == derived ? slopes_ : values_;
      next.assign(inner * m_ * outer, 0);
      for (size_t o = 0; o < outer; ++o)
        for (size_t i = 0; i < m_; ++i)
          for (size_t j = 0; j < n_; ++j)
            for (size_t a = 0; a < inner; ++a)
              next[(o * m_ + i) * inner + a] += matrix[i * n_ + j] * now[(o * n_ + j) * inner + a];
      now.swap(next);
    }
    return now;
  }

  size_t n_, m_;
  int axes_;
  std::vector<double> points_, weights_;
  std::vector<double> values_, slopes_;  ///< [point of the set][point of the mesh]
  std::array<std::array<std::vector<double>, 3>, 3> gradient_;  ///< by axis, then component
};

}  // namespace pillion::stages
