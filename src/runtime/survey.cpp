// SPDX-License-Identifier: BSD-3-Clause
// Samples as numbers of which the maximum is taken.
#include "runtime/survey.hpp"

namespace pillion::runtime {

void Survey::start(const std::vector<Sample>& mine) {
  auto to = values_.begin();
  for (const auto& s : mine)
    for (const double value : {s.interval, s.own, s.worked, s.finished, s.busy}) *to++ = value;
  request_ = comm::start_maximum(simulation_, values_.data(), static_cast<int>(values_.size()));
  pending_ = true;
}

std::vector<Sample> Survey::settle() {
  std::vector<Sample> all;
  if (!pending_) return all;
  request_.wait();
  pending_ = false;
  for (size_t i = 0; i < values_.size(); i += values_each) {
    const double* v = values_.data() + i;
    all.push_back({.interval = v[0], .own = v[1], .worked = v[2], .finished = v[3], .busy = v[4]});
  }
  return all;
}

}  // namespace pillion::runtime
