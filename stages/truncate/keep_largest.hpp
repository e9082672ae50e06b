// SPDX-License-Identifier: BSD-3-Clause
// As few coefficients as can be: the smallest are dropped while the sum of their squares is within
// a budget. Whatever else is dropped, no choice keeps fewer.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "transform.hpp"

namespace pillion::stages::truncation {

class LargestKept {
 public:
  explicit LargestKept(const Kernels& kernels) : kernels_(kernels) {}

  /// Sets the dropped coefficients to 0.
  void drop(std::span<double> coefficients, double budget) {
    const auto count = static_cast<int>(coefficients.size());
    // All below `low` may go; of those below `high`, not all.
    double low = std::sqrt(budget / count) * just_below, high = std::sqrt(budget) / just_below;
    for (int i = 0; i < halvings; ++i) {
      const double middle = std::sqrt(low * high);
      (kernels_.squares_below(coefficients.data(), count, middle) <= budget ? low : high) = middle;
    }
    double dropped = kernels_.squares_below(coefficients.data(), count, low);
    between_.clear();
    for (size_t i = 0; i < coefficients.size(); ++i) {
      const double size = std::fabs(coefficients[i]);
      if (size < low) coefficients[i] = 0;
      else if (size < high) between_.emplace_back(size, i);
    }
    std::sort(between_.begin(), between_.end());
    for (const auto& [size, i] : between_) {
      if (!((dropped += size * size) <= budget)) return;
      coefficients[i] = 0;
    }
  }

 private:
  static constexpr double just_below = 1 - 1e-9;
  static constexpr int halvings = 8;  ///< after which few are left to look at

  const Kernels& kernels_;
  std::vector<std::pair<double, size_t>> between_;
};

}  // namespace pillion::stages::truncation
