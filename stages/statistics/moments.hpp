// SPDX-License-Identifier: BSD-3-Clause
// Count, least, greatest, mean and spread of numbers seen in stretches. The sum of squared
// deviations is taken about the mean of each stretch and stretches are merged by the formula of
// Chan, Golub and LeVeque, so a small spread about a large mean keeps its digits.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "../common/sums.hpp"

namespace pillion::stages {

struct Moments {
  int64_t count = 0;       ///< finite values
  int64_t not_finite = 0;  ///< NaN and infinities, left out of all else
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double mean = 0;
  double rest = 0;     ///< the mean is mean + rest
  double squares = 0;  ///< sum of squared deviations from the mean

  /// How far the mean lies above a number.
  [[nodiscard]] double above(double number) const { return (mean - number) + rest; }

  void merge(const Moments& other) {
    not_finite += other.not_finite;
    if (other.count == 0) return;
    const auto n = static_cast<double>(count), m = static_cast<double>(other.count);
    const double apart = other.above(mean) - rest;
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    squares += other.squares + apart * apart * (n * m / (n + m));
    if (count == 0) mean = other.mean, rest = other.rest;
    else move(rest + apart * (m / (n + m)));
    count += other.count;
  }

  /// Values beyond 1024 at a time are cut into stretches of that size.
  void add(std::span<const double> values) {
    std::array<double, 1024> finite;
    while (!values.empty()) {
      const auto stretch = values.first(std::min(values.size(), finite.size()));
      values = values.subspan(stretch.size());
      size_t n = 0;
      for (const double v : stretch) {
        finite[n] = v;
        n += std::isfinite(v) ? 1 : 0;
      }
      not_finite += static_cast<int64_t>(stretch.size() - n);
      merge(of_finite(finite.data(), static_cast<int64_t>(n)));
    }
  }

 private:
  /// Sets the mean to mean + offset.
  void move(double offset) {
    const double from = mean;
    mean = from + offset;
    rest = offset - (mean - from);
  }

  static Moments of_finite(const double* values, int64_t n) {
    Moments out;
    if (n == 0) return out;
    out.count = n;
    for (int64_t i = 0; i < n; ++i) {
      out.min = std::min(out.min, values[i]);
      out.max = std::max(out.max, values[i]);
    }
    const auto size = static_cast<double>(n);
    const double mean = sum_of(n, [=](int64_t i) { return values[i]; }) / size;
    out.mean = mean;
    out.rest = sum_of(n, [=](int64_t i) { return values[i] - mean; }) / size;
    out.squares = sum_of(n, [=](int64_t i) { return (values[i] - mean) * (values[i] - mean); }) -
                  size * out.rest * out.rest;
    return out;
  }
};

/// One row of the table: what is derived from moments. NaN where nothing was counted.
struct Summary {
  double min, max, mean, deviation, rms;
};

inline Summary summary_of(const Moments& m) {
  if (m.count == 0) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan, nan, nan, nan};
  }
  const double variance = std::max(0.0, m.squares / static_cast<double>(m.count));
  return {m.min, m.max, m.mean + m.rest, std::sqrt(variance),
          std::sqrt(m.mean * m.mean + variance)};
}

}  // namespace pillion::stages
