// SPDX-License-Identifier: BSD-3-Clause
// The error function, fast: a Taylor polynomial about the middle of the interval that the argument
// is in. It is right to 4e-16, which is what a difference of two values near 1 can have at best.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace pillion::stages {

class ErfTable {
 public:
  /// From here on erf is 1 in double precision, for erfc(6) = 2e-17.
  static constexpr double end = 6;

  ErfTable() : polynomials_(static_cast<size_t>(2 * end * per_unit) + 2) {
    for (size_t i = 0; i < polynomials_.size(); ++i) polynomials_[i] = about(middle(i));
  }

  /// erf(x), for x between -end and end, or beyond by rounding.
  double operator()(double x) const {
    const auto i = static_cast<int32_t>((x + end) * per_unit + 0.5);
    const double d = x - middle(static_cast<size_t>(i));
    const auto& c = polynomials_[static_cast<size_t>(i)];
    // In pairs, so that additions need not wait for each other.
    const double dd = d * d, d4 = dd * dd;
    const double low = (c[0] + c[1] * d) + (c[2] + c[3] * d) * dd;
    const double high = (c[4] + c[5] * d) + (c[6] + c[7] * d) * dd;
    return low + high * d4;
  }

 private:
  static constexpr double per_unit = 32;
  using Polynomial = std::array<double, 8>;

  static double middle(size_t i) { return static_cast<double>(i) / per_unit - end; }

  /// Coefficients of erf about x, from erf'' = -2 x erf'.
  static Polynomial about(double x) {
    Polynomial c{std::erf(x), 2 * std::numbers::inv_sqrtpi * std::exp(-x * x)};
    for (size_t k = 0; k + 2 < c.size(); ++k) {
      const auto n = static_cast<double>(k);
      c[k + 2] = -2 * (x * (n + 1) * c[k + 1] + n * c[k]) / ((n + 2) * (n + 1));
    }
    return c;
  }

  std::vector<Polynomial> polynomials_;
};

}  // namespace pillion::stages
