// SPDX-License-Identifier: BSD-3-Clause
// Elements and fields for tests of the truncation, and what comes out of a decoder that knows
// nothing but the formula.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "truncate/element.hpp"

namespace truncation_scene {

using pillion::stages::Jacobian;
using pillion::stages::LobattoBasis;
using Values = std::vector<double>;

/// An element: of its points, the part of the volume that each has.
struct Shape {
  std::string name;
  Values x, y, z, shares;
  bool is_affine = false;
};

inline Shape shape_of(const LobattoBasis& basis, const std::string& name, bool is_affine,
                      const std::function<void(double, double, double, double*)>& map) {
  const size_t n = basis.size(), size = n * n * n;
  Shape out{name, Values(size), Values(size), Values(size), Values(size), is_affine};
  for (size_t p = 0; p < size; ++p) {
    double at[3];
    map(basis.points[p % n], basis.points[p / n % n], basis.points[p / (n * n)], at);
    out.x[p] = at[0], out.y[p] = at[1], out.z[p] = at[2];
  }
  Jacobian(basis).determinant(out.x.data(), out.y.data(), out.z.data(), out.shares.data());
  double volume = 0;
  for (size_t p = 0; p < size; ++p) {
    const auto& w = basis.weights;
    out.shares[p] *= w[p % n] * w[p / n % n] * w[p / (n * n)];
    volume += out.shares[p];
  }
  for (auto& share : out.shares) share /= volume;
  return out;
}

inline std::vector<Shape> shapes(const LobattoBasis& basis) {
  return {
      shape_of(basis, "cube", true,
               [](double r, double s, double t, double* x) { x[0] = r, x[1] = s, x[2] = t; }),
      shape_of(basis, "slanted", true,
               [](double r, double s, double t, double* x) {
                 x[0] = 1e-3 * (r + 0.5 * s), x[1] = 2e-3 * s - 1e-3 * t, x[2] = 40 * t + r;
               }),
      shape_of(basis, "bent", false,
               [](double r, double s, double t, double* x) {
                 x[0] = r + 0.3 * s, x[1] = s + 0.2 * r * t, x[2] = t * (1 + 0.4 * r);
               }),
      shape_of(basis, "wedge", false,
               [](double r, double s, double t, double* x) {
                 x[0] = (1.01 + r) * (1.01 + r), x[1] = s * (1.02 + r), x[2] = t;
               }),
  };
}

/// Values of n^3 coefficients, by the sum over all of them.
inline Values synthesis(const LobattoBasis& basis, const Values& coefficients) {
  const size_t n = basis.size();
  Values out(n * n * n);
  for (size_t p = 0; p < out.size(); ++p) {
    const double *x = &basis.to_values[p % n * n], *y = &basis.to_values[p / n % n * n],
                 *z = &basis.to_values[p / (n * n) * n];
    for (size_t c = 0; c < out.size(); ++c)
      out[p] += x[c % n] * y[c / n % n] * z[c / (n * n)] * coefficients[c];
  }
  return out;
}

struct Errors {
  double rms = 0, largest = 0;
};
/// In units of `unit`, so that squares neither overflow nor vanish.
inline Errors errors(const Shape& shape, const Values& a, const Values& b, double unit) {
  Errors out;
  for (size_t p = 0; p < a.size(); ++p) {
    const double off = (a[p] - b[p]) / unit;
    out.rms += shape.shares[p] * off * off;
    out.largest = std::max(out.largest, std::fabs(off));
  }
  return {std::sqrt(out.rms), out.largest};
}

/// Fields whose values are about 1.
inline std::vector<Values> fields(const LobattoBasis& basis, std::mt19937& random) {
  const size_t n = basis.size(), size = n * n * n;
  std::normal_distribution<double> normal;
  std::vector<Values> out(7, Values(size));
  for (size_t p = 0; p < size; ++p) {
    const double r = basis.points[p % n], s = basis.points[p / n % n], t = basis.points[p / n / n];
    out[0][p] = normal(random);
    out[1][p] = 0.7;                          // a constant
    out[2][p] = 1 + r - 2 * s + 0.5 * r * t;  // a polynomial
    out[3][p] = std::sin(3 * r + 2 * s - t) + 0.01 * normal(random);
    out[4][p] = p == size / 3 ? 1 : 0;      // a single point
    out[5][p] = p % 2 == 0 ? 1 : -1;        // all that there is of noise
    out[6][p] = 1e6 + std::cos(2 * t * r);  // small beside its mean
  }
  return out;
}

}  // namespace truncation_scene
