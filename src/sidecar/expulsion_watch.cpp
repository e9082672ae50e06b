// SPDX-License-Identifier: BSD-3-Clause
// Looking twice a second.
#include "sidecar/expulsion_watch.hpp"

#include <chrono>
#include <utility>

#include "base/clock.hpp"
#include "base/default_environment.hpp"

namespace pillion::sidecar {

// Under a clock of a simulator no helper thread may wait.
ExpulsionWatch::ExpulsionWatch(std::function<void()> expelled) : expelled_(std::move(expelled)) {
  if (expelled_ && base::is_system_clock()) thread_ = base::start_thread([this] { look(); });
}

ExpulsionWatch::~ExpulsionWatch() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void ExpulsionWatch::watch(const transport::NodeReceiver* slots) {
  const std::lock_guard lock(mutex_);
  slots_ = slots;
}

void ExpulsionWatch::look() {
  constexpr std::chrono::milliseconds between(500);
  std::unique_lock lock(mutex_);
  // The slots stay as long as the lock is held.
  while (!changed_.wait_for(lock, between, [&] { return ends_; }))
    if (slots_ != nullptr && slots_->is_expelled()) return expelled_();
}

}  // namespace pillion::sidecar
