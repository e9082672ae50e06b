// SPDX-License-Identifier: BSD-3-Clause
// Starting processes without becoming their parent: a shell does it, and is gone at once.
#include "run/supervisor.hpp"

#include <array>

#include "base/clock.hpp"
#include "base/process.hpp"
#include "transport/transport.hpp"

namespace pillion::run {

bool should_restart(const SidecarJobState& state, int64_t allowed) {
  constexpr double patience = 10;  // for a started job to sit down
  if (!state.seen || state.alive || state.left || state.restarts >= allowed) return false;
  return state.restarts == 0 || state.waited >= patience;
}

std::string launch_command(const std::string& configured, const std::string& program,
                           const std::string& run) {
  std::string command = configured.empty() ? "'" + program + "' {run}" : configured;
  const std::string mark = "{run}";
  for (size_t at = command.find(mark); at != std::string::npos; at = command.find(mark, at))
    command.replace(at, mark.size(), run);
  return command;
}

Supervisor::Supervisor(transport::Sender& sender, int64_t allowed, std::string command,
                       std::string folder)
    : sender_(&sender),
      allowed_(allowed),
      command_(std::move(command)),
      folder_(std::move(folder)) {}

void Supervisor::tend() {
  if (sender_ == nullptr || allowed_ == 0) return;
  const bool taken = sender_->slots()->has_sidecars();
  const bool was_alive = state_.alive;
  state_.alive = taken && sender_->is_served();
  state_.left = !taken;
  state_.seen = state_.seen || taken;
  state_.waited = base::monotonic_seconds() - started_;
  // A sidecar job that was seen at work may be replaced at once when it dies.
  if (was_alive && !state_.alive) state_.waited = started_ > 0 ? 1e9 : state_.waited;
  if (!should_restart(state_, allowed_)) return;
  ++state_.restarts;
  started_ = base::monotonic_seconds();
  base::start_detached(command_, folder_);
}

}  // namespace pillion::run
