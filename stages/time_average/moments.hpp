// SPDX-License-Identifier: BSD-3-Clause
// Means and covariances of quantities over weighted samples, updated with each sample: the method
// of B. P. Welford (1962) with weights, by D. H. D. West (1979), which loses no digits to a large
// mean. Many places are updated side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pillion::stages::time_average {

/// Pairs of quantities whose covariance is wanted.
using Pairs = std::vector<std::pair<int32_t, int32_t>>;

/// Pairs within a field of `components` whose first quantity is `first`: xx, yy, zz, xy, yz, xz.
inline Pairs pairs_within(int32_t first, int32_t components) {
  Pairs out;
  for (int32_t distance = 0; distance < components; ++distance)
    for (int32_t c = 0; c + distance < components; ++c)
      out.emplace_back(first + c, first + c + distance);
  return out;
}

/// Pairs of each component of one field with each of another, those of the second varying fastest.
inline Pairs pairs_between(int32_t first, int32_t components, int32_t second, int32_t others) {
  Pairs out;
  for (int32_t c = 0; c < components; ++c)
    for (int32_t d = 0; d < others; ++d) out.emplace_back(first + c, second + d);
  return out;
}

/// The weight of all samples before, and of the next one.
struct Weights {
  double before = 0, next = 0;
};

/// Takes a sample at `points` places. `values` has the quantities one after the other, each at all
/// places; so has `record`, means first, and then, for each pair, the weighted sum of products of
/// deviations. `scratch` has room for as many as `values`.
inline void take_sample(const Weights& weights, size_t points, const Pairs& pairs,
                        std::span<const double> values, std::span<double> record,
                        std::span<double> scratch) {
  const double part = weights.next / (weights.before + weights.next);
  for (size_t v = 0; v < values.size(); ++v) {
    scratch[v] = values[v] - record[v];
    record[v] += part * scratch[v];
  }
  // Deviations are from the mean before for one quantity, and from that after for the other.
  const double factor = weights.next * (1 - part);
  double* sums = record.data() + values.size();
  for (const auto& [a, b] : pairs) {
    const double* x = scratch.data() + static_cast<size_t>(a) * points;
    const double* y = scratch.data() + static_cast<size_t>(b) * points;
    for (size_t p = 0; p < points; ++p) sums[p] += factor * x[p] * y[p];
    sums += points;
  }
}

}  // namespace pillion::stages::time_average
