// SPDX-License-Identifier: BSD-3-Clause
// The values that halos are sought in: of a type that can be compared as it is, and without NaN,
// which has no place in an order. Values are copied only where that is not so already.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "grid.hpp"
#include "thresholds.hpp"

namespace pillion::stages {

/// What values are compared as: int64 as the nearest double.
template <class T>
using Compared = std::conditional_t<std::is_same_v<T, int64_t>, double, T>;

template <class T>
class FieldValues {
 public:
  FieldValues(const Piece& piece, const T* values) : values_(nullptr) {
    if constexpr (!std::is_same_v<T, Compared<T>>) {
      copy_.assign(values, values + piece.size());
      values_ = copy_.data();
    } else {
      values_ = values;
      if constexpr (std::is_floating_point_v<T>) put_last(piece);
    }
    add_up(piece);
  }
  [[nodiscard]] const Compared<T>* data() const { return values_; }
  /// Of own cells with finite values.
  [[nodiscard]] const ExactSum& sum() const { return sum_; }
  [[nodiscard]] int64_t finite() const { return finite_; }

 private:
  /// NaN becomes lower than everything.
  void put_last(const Piece& piece) {
    const int64_t size = piece.size();
    int64_t unordered = 0;
    for (int64_t i = 0; i < size; ++i) unordered += values_[i] != values_[i] ? 1 : 0;
    if (unordered == 0) return;
    copy_.assign(values_, values_ + size);
    for (auto& value : copy_)
      if (std::isnan(value)) value = -std::numeric_limits<T>::infinity();
    values_ = copy_.data();
  }

  void add_up(const Piece& piece) {
    const int64_t count = piece.inner_hi[0] - piece.inner_lo[0];
    for (int64_t z = piece.inner_lo[2]; z < piece.inner_hi[2]; ++z)
      for (int64_t y = piece.inner_lo[1]; y < piece.inner_hi[1]; ++y)
        add_up(values_ + piece.offset({piece.inner_lo[0], y, z}), count);
    for (const auto& lane : lanes_) sum_.add(lane);
  }
  void add_up(const Compared<T>* row, int64_t count) {
    constexpr int64_t n = lanes;
    int64_t finite = 0;
    for (int64_t i = 0; i < count; ++i)
      finite += std::isfinite(static_cast<double>(row[i])) ? 1 : 0;
    finite_ += finite;
    if (finite < count) {
      for (int64_t i = 0; i < count; ++i)
        if (std::isfinite(static_cast<double>(row[i]))) lanes_[0].add(static_cast<double>(row[i]));
      return;
    }
    int64_t i = 0;
    for (; i + n <= count; i += n)
      for (int64_t l = 0; l < n; ++l) lanes_[l].add(static_cast<double>(row[i + l]));
    for (; i < count; ++i) lanes_[0].add(static_cast<double>(row[i]));
  }

  static constexpr int64_t lanes = 8;
  const Compared<T>* values_;
  std::vector<Compared<T>> copy_;
  ExactSum lanes_[lanes];
  ExactSum sum_;
  int64_t finite_ = 0;
};

}  // namespace pillion::stages
