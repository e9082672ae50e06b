// SPDX-License-Identifier: BSD-3-Clause
// The account of attached jobs.
#include "policy/time_share.hpp"

#include <algorithm>

namespace pillion::policy {

void TimeShare::settle(double spent, double running, int64_t steps) {
  if (steps < steps_) return;
  const double passed = std::max(running - running_, 0.0);
  const double cost = std::max(spent - spent_, 0.0);
  credit_ = std::min(credit_ + share_ * passed, share_ * window) - cost;
  if (steps > steps_) seconds_per_step_ = passed / static_cast<double>(steps - steps_);
  spent_ = std::max(spent, spent_);
  running_ = std::max(running, running_);
  steps_ = steps;
}

bool TimeShare::allows(int64_t steps) const {
  if (share_ >= 1) return true;
  const double since =
      seconds_per_step_ * static_cast<double>(std::max<int64_t>(steps - steps_, 0));
  return share_ > 0 && credit_ + share_ * since >= 0;
}

}  // namespace pillion::policy
