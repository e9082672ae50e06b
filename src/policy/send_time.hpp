// SPDX-License-Identifier: BSD-3-Clause
// How long a step may keep the solver to send messages that are on their way, where no thread can
// do it. MPI moves a large message only within its calls, so one that is not sent in pillion_step
// waits for the next step. The time is a share of the run's. What was not used is kept, so that a
// message that takes longer than usual still leaves within its step. A sidecar that works takes
// nothing in: then less is spent, and the rest kept for when it waits for the message.
#pragma once

#include <algorithm>

namespace pillion::policy {

class SendTime {
 public:
  static constexpr double share = 0.1;  ///< of the time of the run
  static constexpr double most = 0.5;   ///< seconds that are kept, and so the most in a step

  explicit SendTime(double now = 0) : last_(now) {}

  /// Seconds for which to send now. All that is left if sidecars wait for the next message: then
  /// they take it in. If they work, a share of the time since the last call, halved after each time
  /// in a row, but the first, in which not all could be sent.
  [[nodiscard]] double allow(double now, bool is_awaited) {
    const double earned = share * std::max(now - last_, 0.0);
    left_ = std::min(left_ + earned, most);
    last_ = now;
    if (is_awaited) return left_;
    return std::min(left_, earned / static_cast<double>(1 << std::max(in_vain_ - 1, 0)));
  }
  /// After the time that was allowed last. Of a process that was stopped meanwhile, more is not
  /// deducted than it had.
  void ended(double now, bool all_sent) {
    in_vain_ = all_sent ? 0 : std::min(in_vain_ + 1, 7);
    left_ = std::clamp(left_ - (now - last_), 0.0, most);
    last_ = now;
  }

 private:
  double last_;
  double left_ = most;  ///< seconds
  int in_vain_ = 0;
};

}  // namespace pillion::policy
