// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of velocity autocorrelations: the sum of products over particles, and the integral
// that gives the diffusion coefficient.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "../common/sums.hpp"
#include "../common/tracks.hpp"

namespace pillion::stages::vacf {

/// Sums of the products of the velocities' components, relative to the centres' velocities.
inline Moment velocity_products(const Vectors& now, const Vectors& then, const Centre& centre_now,
                                const Centre& centre_then) {
  Moment out{static_cast<int64_t>(now[0].size()), {}};
  for (int axis = 0; axis < 3; ++axis) {
    const double *a = now[axis].data(), *b = then[axis].data();
    const double ca = centre_now[axis], cb = centre_then[axis];
    out.sum[axis] = sum_of(out.samples, [=](int64_t i) { return (a[i] - ca) * (b[i] - cb); });
  }
  return out;
}

/// The integral of y up to each x, by the trapezoidal rule, over the dimensions. Points whose y is
/// NaN are stepped over.
inline std::vector<double> diffusion_so_far(const std::vector<double>& x,
                                            const std::vector<double>& y, int dimensions) {
  std::vector<double> out;
  double integral = 0, last_x = 0, last_y = 0;
  bool begun = false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!std::isnan(y[i])) {
      if (begun) integral += (x[i] - last_x) * (y[i] + last_y) / 2;
      last_x = x[i];
      last_y = y[i];
      begun = true;
    }
    out.push_back(integral / dimensions);
  }
  return out;
}

/// Whether lags are short enough for the integral to mean something: within the first one the curve
/// keeps at least half of its value.
inline bool resolved(const std::vector<double>& c) { return c.size() > 1 && c[1] >= 0.5 * c[0]; }

/// How much of the curve is left at its end: the mean over the last fifth of the lags, of its value
/// at lag 0. Of particles that drift, or fly freely, the integral grows with the longest lag.
inline double left_at_end(const std::vector<double>& c) {
  const size_t few = (c.size() + 4) / 5;
  double sum = 0, count = 0;
  for (size_t i = c.size() - few; i < c.size(); ++i)
    if (!std::isnan(c[i])) sum += c[i], count += 1;
  return sum / count / c[0];
}

/// Whether that little is left that the integral tells a diffusion coefficient.
inline bool has_decayed(const std::vector<double>& c) { return std::abs(left_at_end(c)) <= 0.1; }

}  // namespace pillion::stages::vacf
