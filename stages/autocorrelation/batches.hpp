// SPDX-License-Identifier: BSD-3-Clause
// Means of batches of consecutive samples, whose scatter tells the error of the mean without a
// model. There are never fewer than `least` full ones once there were as many, nor twice as many:
// then neighbours are joined and batches are twice as long from there on.
#pragma once

#include <cstdint>

#include "row.hpp"

namespace pillion::stages {

/// How far batches are; their sums are with the series.
struct Batches {
  static constexpr int64_t least = 20;
  static constexpr size_t most = 2 * least;

  int64_t size = 1;  ///< samples of a full one
  int64_t full = 0;
  int64_t open = 0;  ///< samples in the one that is being filled

  /// Takes the next sample, of which the sums are those of the batch that is being filled, and of
  /// full ones. All are null where there are no series.
  void add(Row* filling, Row* sums, const Row* sample) {
    if (filling != nullptr) *filling += *sample;
    if (++open < size) return;
    if (filling != nullptr) {
      sums[full] = *filling;
      *filling = {};
    }
    open = 0;
    if (++full == most) join(sums);
  }

  /// Variance of the mean of all samples, from the full batches; none with fewer than `least`.
  [[nodiscard]] bool is_enough() const { return full >= least; }
  void error(const Row* sums, Row& variance) const {
    Row mean{};
    for (int64_t b = 0; b < full; ++b) mean += sums[b];
    for (double& m : mean.x) m /= static_cast<double>(full);
    variance = {};
    for (int64_t b = 0; b < full; ++b)
      for (size_t l = 0; l < lanes; ++l) {
        const double above = sums[b].x[l] - mean.x[l];
        variance.x[l] += above * above;
      }
    const auto n = static_cast<double>(full), s = static_cast<double>(size);
    for (double& v : variance.x) v /= n * (n - 1) * s * s;
  }

 private:
  void join(Row* sums) {
    for (int64_t b = 0; sums != nullptr && b < least; ++b) {
      sums[b] = sums[2 * b];
      sums[b] += sums[2 * b + 1];
    }
    full = least;
    size *= 2;
  }
};

}  // namespace pillion::stages
