// SPDX-License-Identifier: BSD-3-Clause
// How long a step may keep the solver to send messages that are on their way, where no thread can
// do it. MPI moves a large message only within its calls, so one that is not sent in pillion_step
// waits for the next step. Time for it is bounded, for a sidecar that works on something else takes
// nothing in.
#pragma once

#include <algorithm>

namespace pillion::policy {

class SendTime {
 public:
  static constexpr double share = 0.1;  ///< of the time since it was last asked
  static constexpr double most = 0.5;   ///< seconds

  explicit SendTime(double now = 0) : last_(now) {}

  /// Seconds for which to send now: a share of the time since the last call, halved after each
  /// time in a row, but the first, in which not all could be sent.
  [[nodiscard]] double allow(double now) {
    const double seconds = std::clamp(share * (now - last_), 0.0, most);
    last_ = now;
    return seconds / static_cast<double>(1 << std::max(in_vain_ - 1, 0));
  }
  void ended(double now, bool all_sent) {
    in_vain_ = all_sent ? 0 : std::min(in_vain_ + 1, 7);
    last_ = now;
  }

 private:
  double last_;
  int in_vain_ = 0;
};

}  // namespace pillion::policy
