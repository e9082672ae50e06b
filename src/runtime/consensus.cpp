// SPDX-License-Identifier: BSD-3-Clause
// Agreement one publication late.
#include "runtime/consensus.hpp"

#include <algorithm>

namespace pillion::runtime {

bool skip(model::WhenFull policy, const Standing& before) {
  return policy == model::WhenFull::Skip && before.full;
}

void Consensus::start(const Standing& mine) {
  std::fill(values_.begin(), values_.end(), 0.0);
  values_[0] = mine.full ? 1 : 0;
  for (const auto analysis : mine.disabled) values_[static_cast<size_t>(analysis) + 1] = 1;
  request_ = comm::start_maximum(simulation_, values_.data(), static_cast<int>(values_.size()));
  pending_ = true;
}

const Standing& Consensus::settle() {
  if (!pending_) return standing_;
  request_.wait();
  pending_ = false;
  standing_.full = values_[0] != 0;
  for (size_t a = 1; a < values_.size(); ++a)
    if (values_[a] != 0) standing_.disabled.insert(static_cast<int32_t>(a - 1));
  return standing_;
}

}  // namespace pillion::runtime
