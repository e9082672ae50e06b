// SPDX-License-Identifier: BSD-3-Clause
// How a run is doing while it goes on, as text for whoever looks (docs/products.md has the keys).
// Pure: who writes it where is in progress_file.hpp.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "run/costs.hpp"
#include "run/step_position.hpp"

namespace pillion::run {

/// `Left` is for sidecars that were asked to leave while the run went on.
enum class Phase { Running, Ended, Left, Failed };

/// An analysis as one rank knows it.
struct AnalysisProgress {
  std::string name, placement, every, when;
  std::string disabled;  ///< why; "" if it is not
  CostCounters account;
};

/// The work at hand.
struct CurrentWork {
  size_t analysis = 0;
  int64_t step = 0;
  double since = 0;  ///< calendar seconds
};

/// What one rank can say of its side of a run. Numbers of which it knows nothing are negative.
struct Snapshot {
  // Who says so.
  std::string role;  ///< "simulation", "sidecars" or "guest"
  std::string attached_job, run, host;
  uint64_t id = 0;                     ///< of the run
  std::vector<std::string> continues;  ///< ids of the runs whose results it continues
  int64_t process = 0;
  int64_t process_start = 0;  ///< clock ticks since boot
  double started = 0;         ///< calendar seconds
  int64_t simulation_ranks = -1, sidecar_ranks = -1;
  // How it goes.
  Phase phase = Phase::Running;
  std::string failure;
  std::string time_units;
  int64_t publications = 0, skipped = 0;
  int64_t behind = -1;
  int64_t restarts = 0;
  int64_t budget = -1, in_use = -1, peak = -1;  ///< bytes of publications in flight
  std::optional<CurrentWork> work;
  std::vector<AnalysisProgress> analyses;
  std::vector<std::pair<std::string, std::string>> products;  ///< analysis and path
  std::vector<std::string> warnings;
};

/// Steps per second of the last few seconds, from looks at the step.
class StepRate {
 public:
  void note(double monotonic_seconds, int64_t step);
  /// Negative if nothing can be said yet.
  [[nodiscard]] double per_second() const;

 private:
  std::deque<std::pair<double, int64_t>> seen_;
};

/// What is read when the file is written.
struct LiveState {
  std::optional<StepPosition::Place> place;
  bool waiting = false;
  double steps_per_second = -1;
  double written = 0;  ///< calendar seconds
};

std::string format_progress(const Snapshot& snapshot, const LiveState& instant);

/// The name of the file below the output folder.
std::string progress_name(const Snapshot& snapshot);

/// Seconds between two writings, given what the environment says (null: nothing); 0 is never.
double progress_period(const char* text);

}  // namespace pillion::run
