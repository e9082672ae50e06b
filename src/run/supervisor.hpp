// SPDX-License-Identifier: BSD-3-Clause
// Starts dead sidecars of another job again, as often as the configuration allows. One simulation
// rank has one that does so; the others' do nothing.
#pragma once

#include <cstdint>
#include <string>

namespace pillion::transport {
class Sender;
}

namespace pillion::run {

/// What is known of the sidecars when one looks at them.
struct SidecarJobState {
  bool seen = false;  ///< some were there at some time
  bool alive = false;
  bool left = false;     ///< they left of their own accord
  double waited = 0;     ///< seconds since they were started last
  int64_t restarts = 0;  ///< so far
};

/// Whether to start them again, given that `allowed` restarts are.
bool should_restart(const SidecarJobState& state, int64_t allowed);

/// The command that starts sidecars of run `run`: the configured one, or `program` alone.
std::string launch_command(const std::string& configured, const std::string& program,
                           const std::string& run);

class Supervisor {
 public:
  Supervisor() = default;
  /// The command is run in `folder`, whatever the program's working folder is by then.
  Supervisor(transport::Sender& sender, int64_t allowed, std::string command, std::string folder);
  /// Starts sidecars if they are dead. Costs nothing to speak of otherwise.
  void tend();
  [[nodiscard]] int64_t restarts() const { return state_.restarts; }

 private:
  transport::Sender* sender_ = nullptr;
  int64_t allowed_ = 0;
  std::string command_, folder_;
  SidecarJobState state_;
  double started_ = 0;  ///< monotonic seconds
};

}  // namespace pillion::run
