// SPDX-License-Identifier: BSD-3-Clause
// The model of an autocorrelation: two decays, rho(k) = a e^(-bk) + (1 - a) e^(-ck). What it says
// of the mean of n samples is a sum over all lags in closed form.
#pragma once

#include <cmath>

namespace pillion::stages {

struct Decay {
  double weight = 1;  ///< a, of the fast part
  double fast = 0;    ///< b, per lag
  double slow = 0;    ///< c, per lag; not above b

  [[nodiscard]] double at(double lag) const {
    return weight * std::exp(-fast * lag) + (1 - weight) * std::exp(-slow * lag);
  }
};

/// Sum over k from 1 to n - 1 of (1 - k/n) e^(-rate k).
inline double decay_sum(double rate, double n) {
  // So slow that the difference of two great numbers would remain: a series in rate * n.
  constexpr double slow = 1e-4;
  if (rate * n < slow)
    return (n - 1) / 2 - rate * (n * n - 1) / 6 + rate * rate * n * (n * n - 1) / 24;
  const double q = std::exp(-rate), rest = -std::expm1(-rate);
  return q / rest + q * std::expm1(-rate * n) / (n * rest * rest);
}

/// 1 + 2 sum of (1 - k/n) rho(k): by how much fewer the independent samples among n are.
inline double inefficiency(const Decay& decay, double n) {
  double sum = 0;
  if (decay.weight != 0) sum += decay.weight * decay_sum(decay.fast, n);
  if (decay.weight != 1) sum += (1 - decay.weight) * decay_sum(decay.slow, n);
  return 1 + 2 * sum;
}

}  // namespace pillion::stages
