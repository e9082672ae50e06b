// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of mean squared displacements: the sum of squares over particles, and the
// diffusion coefficient from the slope of the curve.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "../common/sums.hpp"
#include "../common/tracks.hpp"

namespace pillion::stages::msd {

/// Sums of the squares of the displacements' components, centres' displacement taken off.
inline Moment squared_displacements(const Vectors& now, const Vectors& then,
                                    const Centre& centre_now, const Centre& centre_then) {
  Moment out{static_cast<int64_t>(now[0].size()), {}};
  for (int axis = 0; axis < 3; ++axis) {
    const double *a = now[axis].data(), *b = then[axis].data();
    const double shift = centre_now[axis] - centre_then[axis];
    out.sum[axis] = sum_of(out.samples, [=](int64_t i) {
      const double d = a[i] - b[i] - shift;
      return d * d;
    });
  }
  return out;
}

/// Slope of the straight line nearest in the sense of least squares; NaN if there is none.
inline double slope(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / n;
    mean_y += y[i] / n;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return xx > 0 ? xy / xx : std::numeric_limits<double>::quiet_NaN();
}

/// The slope between 20 % and 80 % of the longest lag, over twice the dimensions. NaN if fewer than
/// two lags with samples lie there. Lags ascend.
inline double diffusion_from_slope(const std::vector<double>& lag, const std::vector<double>& msd,
                                   int dimensions) {
  std::vector<double> x, y;
  for (size_t i = 0; i < lag.size(); ++i) {
    const bool inside = lag[i] >= 0.2 * lag.back() && lag[i] <= 0.8 * lag.back();
    if (!inside || !(msd[i] == msd[i])) continue;
    x.push_back(lag[i]);
    y.push_back(msd[i]);
  }
  return slope(x, y) / (2 * dimensions);
}

}  // namespace pillion::stages::msd
