// SPDX-License-Identifier: BSD-3-Clause
// Where fits start: all pairs of some rates of decay, a factor apart. Of each pair the best weights
// follow from inner products that are known beforehand, so trying them all costs less than one step
// of an iteration, and no basin is missed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "decay.hpp"

namespace pillion::stages {

/// The rates that decays over lags 1 to `lags` may have.
struct RateBounds {
  explicit RateBounds(size_t lags, double reach)
      : slowest(1 / (reach * static_cast<double>(lags))) {}
  double slowest;       ///< what decays more slowly cannot be told from a constant
  double fastest = 40;  ///< nothing is left of it at lag 1
};

class Rates {
 public:
  Rates(size_t lags, const RateBounds& bounds) : lags_(lags) {
    constexpr int steps = 15;
    constexpr double quick = 4;  // 2 % are left after one lag
    const double ratio = std::pow(quick / bounds.slowest, 1.0 / (steps - 1));
    for (int i = 0; i < steps; ++i) rates_.push_back(bounds.slowest * std::pow(ratio, i));
    rates_.push_back(bounds.fastest);
    for (const double rate : rates_)
      for (size_t k = 1; k <= lags; ++k)
        powers_.push_back(std::exp(-rate * static_cast<double>(k)));
    for (size_t i = 0; i < rates_.size(); ++i)
      for (size_t j = 0; j < rates_.size(); ++j)
        products_.push_back(dot(&powers_[i * lags], &powers_[j * lags]));
  }

  struct Starts {
    Decay one, two;
  };
  /// The best single decay and the best pair for rho at lags 1 to `lags`.
  [[nodiscard]] Starts best(const double* rho) const {
    const size_t n = rates_.size();
    double along[max_rates];
    for (size_t i = 0; i < n; ++i) along[i] = dot(&powers_[i * lags_], rho);
    Starts best;
    double least_one = 0, least_two = 0;
    bool is_first = true;
    for (size_t slow = 0; slow < n; ++slow) {
      // Squares of residuals, but for those of rho alone, which all have.
      const double one = product(slow, slow) - 2 * along[slow];
      if (is_first || one < least_one) least_one = one, best.one = {1, rates_[slow], rates_[slow]};
      for (size_t fast = slow + 1; fast < n; ++fast) {
        const double across = along[fast] - along[slow] - product(fast, slow) + product(slow, slow);
        const double width = product(fast, fast) - 2 * product(fast, slow) + product(slow, slow);
        const double weight = std::clamp(across / width, 0.0, 1.0);
        const double two = one - 2 * weight * across + weight * weight * width;
        if (is_first || two < least_two)
          least_two = two, best.two = {weight, rates_[fast], rates_[slow]};
        is_first = false;
      }
    }
    return best;
  }

 private:
  static constexpr size_t max_rates = 16;

  [[nodiscard]] double dot(const double* a, const double* b) const {
    double sum = 0;
    for (size_t k = 0; k < lags_; ++k) sum += a[k] * b[k];
    return sum;
  }
  [[nodiscard]] double product(size_t i, size_t j) const {
    return products_[i * rates_.size() + j];
  }

  size_t lags_;
  std::vector<double> rates_;
  std::vector<double> powers_;    ///< e^(-rate k), by rate
  std::vector<double> products_;  ///< of these, by pair of rates
};

}  // namespace pillion::stages
