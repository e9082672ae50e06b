// SPDX-License-Identifier: BSD-3-Clause
// Spectral elements: Gauss-Lobatto-Legendre points and weights, bases of polynomials, tensor
// products of operators along the axes, and the Jacobian of an element.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <type_traits>
#include <vector>

namespace pillion::stages {

// The one-dimensional basis of spectral elements: Gauss-Lobatto-Legendre points and weights, the
// derivative matrix of the Lagrange polynomials through them, and the transform to and from
// Legendre coefficients. Formulas: Deville, Fischer, Mund, High-Order Methods for Incompressible
// Fluid Flow, appendix B; the transform as Otero et al., Flow Turbul. Combust. 101 (2018), has it.

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

// Matrices along the axes of one hexahedral element: n x n x n values, the first axis fastest. A
// three-dimensional operator that is a product of one-dimensional ones costs 3 n^4 multiplications
// that way, not n^6. The usual numbers of points are known at compile time, so that loops unroll.

/// An n x n matrix, row after row, and its transpose.
struct AxisMatrix {
  AxisMatrix(const std::vector<double>& matrix, size_t n) : rows(matrix), columns(n * n) {
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j) columns[j * n + i] = rows[i * n + j];
  }
  std::vector<double> rows;
  std::vector<double> columns;
};

namespace detail {

/// to[i] = sum over m of factor[m] * from[m * stride + i], for i below `count`.
template <class Points, class Count>
inline void combine(const double* factor, const double* from, size_t stride, double* to, Points n,
                    Count count) {
  for (size_t i = 0; i < count; ++i) to[i] = factor[0] * from[i];
  for (size_t m = 1; m < n; ++m)
    for (size_t i = 0; i < count; ++i) to[i] += factor[m] * from[m * stride + i];
}

template <class Points>
void along_first(const AxisMatrix& a, const double* from, double* to, Points n) {
  for (size_t row = 0; row < n * n; ++row)
    combine(from + row * n, a.columns.data(), n, to + row * n, n, n);
}

template <class Points>
void along_second(const AxisMatrix& a, const double* from, double* to, Points n) {
  for (size_t k = 0; k < n; ++k)
    for (size_t j = 0; j < n; ++j)
      combine(a.rows.data() + j * n, from + k * n * n, n, to + (k * n + j) * n, n, n);
}

template <class Points>
void along_third(const AxisMatrix& a, const double* from, double* to, Points n) {
  for (size_t k = 0; k < n; ++k)
    for (size_t j = 0; j < n; ++j)
      combine(a.rows.data() + k * n, from + j * n, n * n, to + (k * n + j) * n, n, n);
}

/// Calls body with n as a constant where it is a usual one.
template <class Body>
void with_points(size_t n, Body&& body) {
  switch (n) {
    case 4: return body(std::integral_constant<size_t, 4>());
    case 5: return body(std::integral_constant<size_t, 5>());
    case 6: return body(std::integral_constant<size_t, 6>());
    case 7: return body(std::integral_constant<size_t, 7>());
    case 8: return body(std::integral_constant<size_t, 8>());
    case 9: return body(std::integral_constant<size_t, 9>());
    case 10: return body(std::integral_constant<size_t, 10>());
    case 12: return body(std::integral_constant<size_t, 12>());
    default: return body(n);
  }
}

}  // namespace detail

/// A matrix along one axis, 0 to 2. `from` and `to` may not overlap.
inline void apply_along(int axis, const AxisMatrix& a, size_t n, const double* from, double* to) {
  detail::with_points(n, [&](auto points) {
    if (axis == 0) detail::along_first(a, from, to, points);
    else if (axis == 1) detail::along_second(a, from, to, points);
    else detail::along_third(a, from, to, points);
  });
}

/// The same matrix along all three axes, e.g. values to Legendre coefficients. `from` and `to` may
/// be the same; `scratch` holds n^3 values.
inline void apply_tensor(const AxisMatrix& a, size_t n, const double* from, double* to,
                         double* scratch) {
  detail::with_points(n, [&](auto points) {
    detail::along_first(a, from, scratch, points);
    detail::along_second(a, scratch, to, points);
    detail::along_third(a, to, scratch, points);
    std::copy_n(scratch, n * n * n, to);
  });
}

// The Jacobian determinant of hexahedral elements: how much larger a piece of space is than the
// piece of the reference element [-1, 1]^3 that is mapped to it, point by point. The map is that of
// the coordinates at the points, x(r) = sum of x_ijk l_i(r) l_j(s) l_k(t).

class Jacobian {
 public:
  explicit Jacobian(const LobattoBasis& basis)
      : n_(basis.size()), derivative_(basis.derivative, n_) {
    for (auto& axis : gradient_)
      for (auto& component : axis) component.resize(n_ * n_ * n_);
  }

  /// det dx/dr at the n^3 points of an element whose coordinates are x, y, z, n^3 values each. It
  /// is positive everywhere in an element that is neither folded nor left-handed.
  void determinant(const double* x, const double* y, const double* z, double* out) {
    const std::array<const double*, 3> from{x, y, z};
    for (size_t axis = 0; axis < 3; ++axis)
      for (size_t c = 0; c < 3; ++c)
        apply_along(static_cast<int>(axis), derivative_, n_, from[c], gradient_[axis][c].data());
    const auto& [r, s, t] = gradient_;
    for (size_t p = 0; p < n_ * n_ * n_; ++p)
      out[p] = r[0][p] * (s[1][p] * t[2][p] - s[2][p] * t[1][p]) -
               r[1][p] * (s[0][p] * t[2][p] - s[2][p] * t[0][p]) +
               r[2][p] * (s[0][p] * t[1][p] - s[1][p] * t[0][p]);
  }

 private:
  size_t n_;
  AxisMatrix derivative_;
  std::array<std::array<std::vector<double>, 3>, 3> gradient_;  ///< by axis, then component
};

/// The same of quadrilateral elements, which may be curved in space: how much larger a piece of the
/// surface is than the piece of [-1, 1]^2 that is mapped to it. It is below zero where the surface
/// faces away from where it faces at the first point: there the element is folded.
class ElementArea {
 public:
  explicit ElementArea(const LobattoBasis& basis)
      : n_(basis.size()), derivative_(basis.derivative) {}

  /// +-|dx/dr x dx/ds| at the n^2 points of an element whose coordinates are x, y, z.
  void of(const double* x, const double* y, const double* z, double* out) const {
    const std::array<const double*, 3> from{x, y, z};
    std::array<double, 3> first{};
    for (size_t j = 0; j < n_; ++j)
      for (size_t i = 0; i < n_; ++i) {
        std::array<double, 3> r{}, s{};
        for (size_t c = 0; c < 3; ++c)
          for (size_t m = 0; m < n_; ++m) {
            r[c] += derivative_[i * n_ + m] * from[c][j * n_ + m];
            s[c] += derivative_[j * n_ + m] * from[c][m * n_ + i];
          }
        const std::array<double, 3> normal{r[1] * s[2] - r[2] * s[1], r[2] * s[0] - r[0] * s[2],
                                           r[0] * s[1] - r[1] * s[0]};
        if (i == 0 && j == 0) first = normal;
        const double along = first[0] * normal[0] + first[1] * normal[1] + first[2] * normal[2];
        out[j * n_ + i] = std::copysign(std::hypot(normal[0], normal[1], normal[2]), along);
      }
  }

 private:
  size_t n_;
  std::vector<double> derivative_;
};

}  // namespace pillion::stages
