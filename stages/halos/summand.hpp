// SPDX-License-Identifier: BSD-3-Clause
// Other fields that are added up over the cells of halos, for averages.
#pragma once

#include <cstdint>
#include <pillion/stage.hpp>

#include "grid.hpp"

namespace pillion::stages {

/// One component of a field in a block: the sum of its values, or of values times weights.
struct Summand {
  stage::Array array{};
  Cell lo{};  ///< of the block
  int32_t component = 0;
  bool is_weighted = false;

  /// Sum over `count` cells from `first` on along the first axis.
  [[nodiscard]] double of(const Cell& first, int64_t count, const double* weights) const {
    switch (array.type) {
      case PILLION_INT32: return sum<int32_t>(first, count, weights);
      case PILLION_INT64: return sum<int64_t>(first, count, weights);
      case PILLION_FLOAT32: return sum<float>(first, count, weights);
      default: return sum<double>(first, count, weights);
    }
  }

 private:
  template <class T>
  [[nodiscard]] double sum(const Cell& first, int64_t count, const double* weights) const {
    const auto* at = static_cast<const T*>(array.data) + component * array.strides[3];
    for (int d = 0; d < 3; ++d) at += (first[d] - lo[d]) * array.strides[d];
    double out = 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<double>(at[i * array.strides[0]]);
      out += is_weighted ? value * weights[i] : value;
    }
    return out;
  }
};

}  // namespace pillion::stages
