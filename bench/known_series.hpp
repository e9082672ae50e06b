// SPDX-License-Identifier: BSD-3-Clause
// series whose mean's variance is known, gathered as the stage `autocorrelation` does: sums
// of first-order autoregressions, and oscillations.
#pragma once

#include <cmath>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

#include "autocorrelation/series.hpp"
#include "uncertainty/mean_error.hpp"

namespace bench {

/// phi, or the real part of it for an oscillation, and its share of the variance.
struct Part {
  double phi = 0, share = 1, angle = 0;
};
using Parts = std::vector<Part>;

/// Variance of the mean of n samples of variance 1.
inline double variance_of_mean(const Parts& parts, int n) {
  double sum = 1;
  for (const auto& part : parts)
    for (int k = 1; k < n; ++k)
      sum += 2 * (1 - static_cast<double>(k) / n) * part.share * std::pow(part.phi, k) *
             std::cos(part.angle * k);
  return sum / n;
}

struct One {
  double mean = 0, batch_variance = 0, batches = 0;
  std::vector<double> covariance;
  [[nodiscard]] pillion::stages::uncertainty::Gathered view() const {
    return {mean, covariance, batch_variance, batches};
  }
};

/// What is known of so many series of true mean 0 after n samples.
inline std::vector<One> gathered(const Parts& parts, size_t count, size_t lags, int n,
                                 unsigned seed) {
  using namespace pillion::stages;
  using namespace pillion::stages::uncertainty;
  using namespace pillion::stages::autocorrelation;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  // Of each part two states, which turn about each other.
  std::vector<std::pair<double, double>> state(count * parts.size());
  for (auto& [x, y] : state) x = normal(random), y = normal(random);
  LaggedSeries series(lags);
  series.resize(count);
  std::vector<double> values(count);
  for (int j = 0; j < n; ++j) {
    for (size_t s = 0; s < count; ++s) {
      values[s] = 0;
      for (size_t p = 0; p < parts.size(); ++p) {
        auto& [x, y] = state[s * parts.size() + p];
        const double c = parts[p].phi * std::cos(parts[p].angle);
        const double d = parts[p].phi * std::sin(parts[p].angle);
        const double noise = std::sqrt(1 - parts[p].phi * parts[p].phi);
        values[s] += std::sqrt(parts[p].share) * x;
        const double next = c * x - d * y + noise * normal(random);
        y = d * x + c * y + noise * normal(random);
        x = next;
      }
    }
    series.take(0, count, values.data(), 1);
    series.advance();
  }
  series.flush();
  std::vector<One> out(count);
  std::vector<Row> rows(series.estimate_rows());
  for (size_t s = 0; s < count; ++s) {
    if (s % lanes == 0) series.estimate(s / lanes, rows);
    auto& one = out[s];
    one.mean = rows[0].x[s % lanes];
    one.batch_variance = rows[1].x[s % lanes];
    one.batches = static_cast<double>(series.batches().full);
    for (size_t r = 2; r < rows.size(); ++r) one.covariance.push_back(rows[r].x[s % lanes]);
  }
  return out;
}

}  // namespace bench
