// SPDX-License-Identifier: BSD-3-Clause
// When sidecars leave that were asked to. At the end of a batch job the simulation is asked at the
// same time, and no successors come. So sidecars first work on for a moment: if the simulation dies
// meanwhile, they finish what it has published, for as long as they may.
#pragma once

#include <algorithm>
#include <limits>

namespace pillion::policy {

enum class LeaveRequest {
  None,
  Asked,    ///< as batch systems ask before they kill
  Insisted  ///< they are asked for the second time, or by hand
};

class LeaveState {
 public:
  /// `grace`: seconds from the request on for what a dead simulation has published.
  explicit LeaveState(double grace) : grace_(grace) {}

  /// Whether to leave now. The simulation ends within the moment, or makes a checkpoint first.
  [[nodiscard]] bool leaves(LeaveRequest request, double now) {
    constexpr double moment = 3, after_checkpoint = 15;  // seconds
    if (request == LeaveRequest::None) return false;
    asked_at_ = std::min(asked_at_, now);
    if (request == LeaveRequest::Insisted) return true;
    if (is_gone_) return now >= asked_at_ + grace_;
    return now >= std::max(asked_at_ + moment, checkpoint_at_ + after_checkpoint);
  }
  /// The simulation has died.
  void note_gone() { is_gone_ = true; }
  void note_checkpoint(double now) { checkpoint_at_ = now; }

 private:
  double grace_;
  double asked_at_ = std::numeric_limits<double>::infinity();  ///< monotonic seconds
  double checkpoint_at_ = -std::numeric_limits<double>::infinity();
  bool is_gone_ = false;
};

}  // namespace pillion::policy
