// SPDX-License-Identifier: BSD-3-Clause
// Whether the sidecars of a job leave now; any thread may ask.
#pragma once

#include <functional>
#include <mutex>
#include <utility>

#include "base/clock.hpp"
#include "policy/leave_state.hpp"

namespace pillion::sidecar {

class Leaving {
 public:
  using Request = std::function<policy::LeaveRequest()>;
  Leaving(Request request, double grace) : request_(std::move(request)), state_(grace) {}

  [[nodiscard]] bool is_asked() const { return request_() != policy::LeaveRequest::None; }
  [[nodiscard]] bool leaves() {
    const auto request = request_();
    if (request == policy::LeaveRequest::None) return false;
    const std::lock_guard lock(mutex_);
    return state_.leaves(request, base::monotonic_seconds());
  }
  void note_gone() {
    const std::lock_guard lock(mutex_);
    state_.note_gone();
  }
  void note_checkpoint() {
    const std::lock_guard lock(mutex_);
    state_.note_checkpoint(base::monotonic_seconds());
  }

 private:
  Request request_;
  std::mutex mutex_;
  policy::LeaveState state_;
};

}  // namespace pillion::sidecar
