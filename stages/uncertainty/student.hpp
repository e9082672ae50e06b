// SPDX-License-Identifier: BSD-3-Clause
// Quantiles of the normal distribution and of Student's t for any real number of degrees of
// freedom, by which the error of a mean becomes an interval.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

namespace pillion::stages {

/// The z that a normal variable stays within, on both sides, with this probability.
inline double normal_reach(double probability) {
  double z = 1;
  for (int i = 0; i < 50; ++i) {
    const double density = 2 * std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    const double step = (std::erf(z / std::numbers::sqrt2) - probability) / density;
    z -= std::clamp(step, -0.5, 0.5);
    if (std::abs(step) < 1e-14) break;
  }
  return z;
}

/// The same for Student's t, from that of the normal distribution: Cornish and Fisher's expansion
/// (Abramowitz and Stegun 26.7.5), good to 1e-3 from four degrees of freedom on at 95 %.
inline double student_reach(double z, double freedom) {
  const double z2 = z * z, f = freedom;
  const double g1 = (z2 + 1) * z / 4;
  const double g2 = ((5 * z2 + 16) * z2 + 3) * z / 96;
  const double g3 = (((3 * z2 + 19) * z2 + 17) * z2 - 15) * z / 384;
  const double g4 = ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) * z / 92160;
  return z + (g1 + (g2 + (g3 + g4 / f) / f) / f) / f;
}

}  // namespace pillion::stages
