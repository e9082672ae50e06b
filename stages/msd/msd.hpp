// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of mean squared displacements: the sum of squares over particles, and the
// diffusion coefficient from the slope of the curve.
#pragma once

#include <cmath>
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

/// The lags between 20 % and 80 % of the longest one that have samples. Lags ascend.
struct FitWindow {
  std::vector<double> lag, msd;

  FitWindow(const std::vector<double>& lags, const std::vector<double>& values) {
    for (size_t i = 0; i < lags.size(); ++i) {
      const bool inside = lags[i] >= 0.2 * lags.back() && lags[i] <= 0.8 * lags.back();
      if (!inside || !(values[i] == values[i])) continue;
      lag.push_back(lags[i]);
      msd.push_back(values[i]);
    }
  }
};

/// The slope in the window, over twice the dimensions. NaN if fewer than two lags lie there.
inline double diffusion_from_slope(const std::vector<double>& lag, const std::vector<double>& msd,
                                   int dimensions) {
  const FitWindow window(lag, msd);
  return slope(window.lag, window.msd) / (2 * dimensions);
}

/// How the curve grows in the window: as lag^exponent. 2 if particles fly freely or drift, 0 if
/// they stay where they are, 1 if they diffuse. NaN if fewer than two lags lie there, or nothing
/// moves.
inline double growth_exponent(const std::vector<double>& lag, const std::vector<double>& msd) {
  const FitWindow window(lag, msd);
  std::vector<double> x, y;
  for (size_t i = 0; i < window.lag.size(); ++i) {
    if (!(window.lag[i] > 0 && window.msd[i] > 0)) continue;
    x.push_back(std::log(window.lag[i]));
    y.push_back(std::log(window.msd[i]));
  }
  return slope(x, y);
}

/// Whether a curve that grows so tells a diffusion coefficient: a slope over its whole window does
/// not mean another thing at its ends.
inline bool is_diffusive(double exponent) { return exponent >= 0.75 && exponent <= 1.25; }

}  // namespace pillion::stages::msd
