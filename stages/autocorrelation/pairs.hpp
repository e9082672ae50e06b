// SPDX-License-Identifier: BSD-3-Clause
// How many samples there are, and how many pairs of samples a lag apart: samples that are missing
// cut the series in pieces, and pairs across a cut do not count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace pillion::stages {

class Pairs {
 public:
  explicit Pairs(size_t lags) : closed_(lags + 1) {}

  [[nodiscard]] int64_t samples() const { return samples_; }
  /// Samples since the last cut.
  [[nodiscard]] int64_t piece() const { return piece_; }
  [[nodiscard]] int64_t at(size_t lag) const {
    return closed_[lag] + std::max<int64_t>(0, piece_ - static_cast<int64_t>(lag));
  }

  void add(int64_t samples) {
    samples_ += samples;
    piece_ += samples;
  }
  void cut() {
    for (size_t k = 0; k < closed_.size(); ++k) closed_[k] = at(k);
    piece_ = 0;
  }

  [[nodiscard]] std::vector<int64_t> integers() const {
    std::vector<int64_t> out{samples_, piece_};
    out.insert(out.end(), closed_.begin(), closed_.end());
    return out;
  }
  void restore(const std::vector<int64_t>& integers) {
    samples_ = integers.at(0);
    piece_ = integers.at(1);
    closed_.assign(integers.begin() + 2, integers.end());
  }

 private:
  int64_t samples_ = 0, piece_ = 0;
  std::vector<int64_t> closed_;  ///< pairs by lag in the pieces before
};

}  // namespace pillion::stages
