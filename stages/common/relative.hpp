// SPDX-License-Identifier: BSD-3-Clause
// Values relative to their mean, and means that nothing can be divided by. A velocity component or
// a fluctuation has a mean of rounding errors, and a ratio to that is a number without meaning. So
// a mean is compared with the rms of the same values before anything is divided by it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <pillion/stage.hpp>
#include <span>
#include <string>

namespace pillion::stages {

/// How large finite values are.
struct ValueSizes {
  double weight = 0, squares = 0;      ///< sums of weights, and of these times squares of values
  int64_t negative = 0, positive = 0;  ///< how many are below 0, and above
  int64_t not_finite = 0;

  void add(double value, double each = 1) {
    if (!std::isfinite(value)) {
      ++not_finite;
      return;
    }
    weight += each;
    squares += each * value * value;
    negative += value < 0 ? 1 : 0;
    positive += value > 0 ? 1 : 0;
  }
  /// Values of one weight, as a rule finite: without a branch for each.
  void add(std::span<const double> values) {
    constexpr size_t lanes = 8, longest = 1024;
    for (; !values.empty(); values = values.subspan(std::min(longest, values.size()))) {
      const auto some = values.first(std::min(longest, values.size()));
      std::array<double, lanes> sums{};
      int64_t below = 0, above = 0;
      size_t i = 0;
      for (; i + lanes <= some.size(); i += lanes)
        for (size_t l = 0; l < lanes; ++l) {
          const double v = some[i + l];
          sums[l] += v * v;
          below += v < 0 ? 1 : 0;
          above += v > 0 ? 1 : 0;
        }
      const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
      if (!std::isfinite(sum)) i = 0;  // some value is not, or has too large a square
      if (i > 0) {
        weight += static_cast<double>(i);
        squares += sum;
        negative += below, positive += above;
      }
      for (; i < some.size(); ++i) add(some[i]);
    }
  }
  /// Over all peers. [peers]
  void combine(const stage::Step& step) {
    std::array<double, 2> sums{weight, squares};
    std::array<int64_t, 3> counts{negative, positive, not_finite};
    step.sum(std::span<double>(sums));
    step.sum(std::span<int64_t>(counts));
    weight = sums[0], squares = sums[1];
    negative = counts[0], positive = counts[1], not_finite = counts[2];
  }
  [[nodiscard]] double rms() const { return weight > 0 ? std::sqrt(squares / weight) : 0; }
  /// Whether some values are below 0 and others above.
  [[nodiscard]] bool have_both_signs() const { return negative > 0 && positive > 0; }
};

/// A number in messages.
inline std::string short_text(double value) {
  std::array<char, 32> out{};
  (void)std::snprintf(out.data(), out.size(), "%.4g", value);
  return out.data();
}

/// The least part of their rms that the mean of values of both signs must be. The mean of N values
/// about 0 is 1/sqrt(N) of their rms by chance alone.
inline constexpr double least_mean = 1e-3;

/// Why values cannot be divided by their mean: "" if they can, or if there are none. The mean of
/// values of one sign may be small beside their rms, because nothing cancels in it.
inline std::string fault_of_mean(double mean, const ValueSizes& sizes) {
  if (sizes.weight == 0) return "";
  if (mean == 0) return "has the mean 0 (its rms is " + short_text(sizes.rms()) + ")";
  if (sizes.have_both_signs() && std::abs(mean) < least_mean * sizes.rms())
    return "has the mean " + short_text(mean) + ", which is next to nothing beside its rms of " +
           short_text(sizes.rms());
  return "";
}

/// Throws ErrorCode::Stage if values cannot be divided by their mean. `what` is relative to it, and
/// `remedy` tells the way out.
inline void expect_mean(double mean, const ValueSizes& sizes, const std::string& field,
                        const std::string& what, const std::string& remedy) {
  const auto fault = fault_of_mean(mean, sizes);
  if (fault.empty()) return;
  throw Error(ErrorCode::Stage, "field '" + field + "' " + fault + "; " + what +
                                    " is relative to the mean, so " + remedy);
}

}  // namespace pillion::stages
