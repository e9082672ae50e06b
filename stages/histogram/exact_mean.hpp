// SPDX-License-Identifier: BSD-3-Clause
// The mean of many values, the same to the last bit however they are divided among ranks: values
// are cut into pieces of 22 bits below the greatest of all, and pieces are added as integers. Which
// bin a value relative to the mean falls in must not depend on the order of a sum.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace pillion::stages::histogram {

class ExactMean {
 public:
  /// `greatest` is at least the size of every value that will come. Up to 2^40 of them may.
  explicit ExactMean(double greatest) : exponent_(greatest > 0 ? std::ilogb(greatest) + 1 : 0) {}

  void add(double value) {
    if (!std::isfinite(value)) return;
    ++sums_[pieces];
    double rest = std::ldexp(value, -exponent_);
    for (size_t p = 0; p < pieces; ++p) {
      rest *= unit;
      const double piece = std::trunc(rest);
      sums_[p] += static_cast<int64_t>(piece);
      rest -= piece;
    }
  }
  /// Integers that add up to those of all values, and their number.
  [[nodiscard]] std::span<int64_t> integers() { return sums_; }

  /// 0 if there are no values.
  [[nodiscard]] double mean() const {
    double sum = 0;
    for (size_t p = pieces; p-- > 0;) sum = (sum + static_cast<double>(sums_[p])) / unit;
    return sums_[pieces] == 0 ? 0 : std::ldexp(sum / static_cast<double>(sums_[pieces]), exponent_);
  }

 private:
  static constexpr size_t pieces = 4;
  static constexpr double unit = 1 << 22;
  int exponent_;
  std::vector<int64_t> sums_ = std::vector<int64_t>(pieces + 1);
};

}  // namespace pillion::stages::histogram
