// SPDX-License-Identifier: BSD-3-Clause
// Over one rank nothing is sent.
#include "comm/lagged_reduction.hpp"

namespace pillion::comm {

void LaggedReduction::start(std::vector<double> mine) {
  values_ = std::move(mine);
  is_under_way_ = true;
  if (ranks_.size() == 1) return;
  const auto count = static_cast<int>(values_.size());
  request_ = operation_ == Operation::Sum ? start_sum(ranks_, values_.data(), count)
                                          : start_maximum(ranks_, values_.data(), count);
}

std::optional<std::vector<double>> LaggedReduction::settle() {
  if (!is_under_way_) return {};
  // Every rank has started this reduction, or comes to do so before it waits for anything else.
  request_.wait();
  is_under_way_ = false;
  return values_;
}

}  // namespace pillion::comm
