// SPDX-License-Identifier: BSD-3-Clause
// The step at which a rank is, for a thread that looks now and then. Setting it is a few plain
// stores, and never waits; a reader in the middle of that tries again later.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "run/costs.hpp"

namespace pillion::run {

class StepPosition {
 public:
  struct Place {
    int64_t step = 0;
    double time = 0;
    bool operator==(const Place&) const = default;
  };

  /// By one thread only.
  void set(int64_t step, double time) {
    const uint64_t turn = turn_.load(std::memory_order_relaxed);
    turn_.store(turn + 1, std::memory_order_relaxed);
    step_.store(step, std::memory_order_release);
    time_.store(time, std::memory_order_release);
    turn_.store(turn + 2, std::memory_order_release);
  }
  /// Nothing before the first step, or if the rank is just setting it.
  [[nodiscard]] std::optional<Place> get() const {
    const uint64_t before = turn_.load(std::memory_order_acquire);
    const Place place{step_.load(std::memory_order_acquire), time_.load(std::memory_order_acquire)};
    const bool whole = before != 0 && before % 2 == 0 && turn_.load() == before;
    return whole ? std::optional(place) : std::nullopt;
  }

  /// Whether the rank waits for others just now.
  void set_waiting(bool waiting) { waiting_.store(waiting, std::memory_order_relaxed); }
  [[nodiscard]] bool is_waiting() const { return waiting_.load(std::memory_order_relaxed); }

 private:
  alignas(64) std::atomic<uint64_t> turn_{0};  ///< odd while it is being set
  std::atomic<int64_t> step_{0};
  std::atomic<double> time_{0};
  std::atomic<bool> waiting_{false};
};

/// Says that a rank waits, for as long as this lives.
class Waiting {
 public:
  explicit Waiting(StepPosition& mark) : mark_(mark) { mark_.set_waiting(true); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() { mark_.set_waiting(false); }

 private:
  StepPosition& mark_;
};

// The progress of an active run as text (docs/products.md has the keys). Pure: ProgressFile below
// writes the file.

/// `Left` is for sidecars that were asked to leave while the run was active.
enum class Phase { Running, Ended, Left, Failed };

/// An analysis as one rank knows it.
struct AnalysisProgress {
  std::string name, placement, every, when;
  std::string disabled;  ///< why; "" if it is not
  Counts counts;         ///< since the run first began
  CostCounters account;  ///< of this execution
};

/// The current work.
struct CurrentWork {
  size_t analysis = 0;
  int64_t step = 0;
  double since = 0;  ///< calendar seconds
};

/// The batch job of this process, as the batch system says in the environment; empty outside of
/// one. `nodes` in the batch system's own notation, such as "n[0-3]", if it is short.
struct BatchJob {
  std::string system, id, nodes;
};
BatchJob batch_job_of(const std::function<const char*(const char*)>& environment);

/// What one rank can say of its side of a run. Unknown numbers are negative.
struct Snapshot {
  // The rank that reports.
  std::string role;  ///< "simulation", "sidecars" or "attached job"
  std::string attached_job, run, host;
  uint64_t id = 0;                     ///< of the run
  std::vector<std::string> continues;  ///< ids of the runs whose results it continues
  int64_t process = 0;
  int64_t process_start = 0;  ///< clock ticks since boot
  int64_t pid_namespace = 0;  ///< in which `process` is its number; 0 if it is not known
  std::string boot;           ///< of the machine, as node::boot_id() has it
  BatchJob batch_job;
  double heartbeat = 0;  ///< seconds; see heartbeat_of()
  double started = 0;    ///< calendar seconds
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
  /// Negative if it is not known yet.
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
  double changed = 0;  ///< the same, when something was new last
};

std::string format_progress(const Snapshot& snapshot, const LiveState& instant);

/// The name of the file below the output folder.
std::string progress_name(const Snapshot& snapshot);

/// Seconds between two writings, given what the environment says (null: nothing); 0 is never.
double progress_period(const char* text);
/// Seconds after which progress is written again, also if nothing is new.
double heartbeat_of(double period);

// Keeps a file with the progress of a run. A thread of its own writes it, so that a slow file
// system delays no rank; it makes no MPI call, takes no signal, and sleeps nearly all the time. The
// rank tells it what is new at publications, and at other steps only sets its StepPosition.

class ProgressFile {
 public:
  /// Starts to write below `folder`, every `period` seconds if there is something new, and every
  /// heartbeat; the rest of who writes is found out here. Throws std::system_error if there can be
  /// no thread.
  ProgressFile(const std::filesystem::path& folder, Snapshot first, const StepPosition& mark,
               double period);
  ProgressFile(const ProgressFile&) = delete;
  ProgressFile& operator=(const ProgressFile&) = delete;
  /// Writes a last time; without a call of end(), the state is failure.
  ~ProgressFile();

  /// Lets `change` change the snapshot. Waits at most until the thread has copied it.
  template <class Change>
  void tell(Change&& change) {
    const std::lock_guard lock(mutex_);
    change(snapshot_);
    ++version_;
  }
  /// Records the end. The thread writes it, and uses no StepPosition any more; does not wait for
  /// that.
  void announce_end(Phase phase, const std::string& failure = {});
  /// The same, and waits until it is written.
  void end(Phase phase, const std::string& failure = {});
  /// Why the file could not be written, the first time that one asks after it happened; else "".
  [[nodiscard]] std::string trouble();

 private:
  void live();
  /// Called, and returns, with the lock held; does not hold it while it writes.
  void write_news(std::unique_lock<std::mutex>& lock);

  const std::filesystem::path path_;
  const StepPosition& mark_;
  const std::chrono::duration<double> period_;
  int folder_ = -1;  ///< held open, so that others find the run by its processes
  std::mutex mutex_;
  std::condition_variable wake_;
  Snapshot snapshot_;
  uint64_t version_ = 1;
  bool ended_ = false;
  std::optional<StepPosition::Place> last_place_;  ///< when it ended
  std::string trouble_;
  bool troubled_ = false;
  // The thread's alone.
  Snapshot written_;
  uint64_t written_version_ = 0;
  LiveState instant_;
  double beaten_ = 0;  ///< monotonic seconds of the last writing
  StepRate pace_;
  std::thread thread_;
};

}  // namespace pillion::run
