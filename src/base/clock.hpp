// SPDX-License-Identifier: BSD-3-Clause
// Time and waiting. Everything in Pillion that waits, other than inside MPI, waits here, so that a
// simulator of many ranks, or a test, can put its own time in place of the system's.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

namespace pillion::base {

class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;
  virtual double monotonic_seconds() = 0;
  virtual double calendar_seconds() = 0;
  virtual void sleep(double seconds) = 0;
  /// Leaves the core to another thread or process that can run.
  virtual void yield() = 0;
  /// Sleeps while `word`, which other processes may change, is `seen`: until wake(), or at most
  /// `seconds`. May return early.
  virtual void sleep_while(const std::atomic<uint32_t>& word, uint32_t seen, double seconds) = 0;
  virtual void wake(std::atomic<uint32_t>& word) = 0;
};

/// The system's, unless it was replaced.
Clock& clock();
/// Whether it is the system's. Under any other, time passes only for the thread that asks for it,
/// so that no helper thread may wait.
bool is_system_clock();
/// Replaces the clock of the process; null for the system's. Before any session is open.
void set_clock(Clock* clock);

/// Seconds on a clock that never goes back; only differences have a meaning.
inline double monotonic_seconds() { return clock().monotonic_seconds(); }
/// Seconds since 1970, comparable between processes as far as their nodes' clocks agree.
inline double calendar_seconds() { return clock().calendar_seconds(); }

/// Lengths of the pauses of a wait, in seconds: each is twice as long as the one before.
struct Pauses {
  double shortest = 20e-6, longest = 1e-3;
};

/// Asks `is_done` until it holds; false if it did not by `deadline`, in monotonic seconds. Leaves
/// the core to others between, and asks at least once.
template <class Done>
bool wait_until(Done&& is_done, double deadline = std::numeric_limits<double>::infinity(),
                Pauses pauses = {}) {
  for (double pause = pauses.shortest;; pause = std::min(2 * pause, pauses.longest)) {
    if (is_done()) return true;
    const double left = deadline - monotonic_seconds();
    if (left <= 0) return false;
    clock().sleep(std::min(pause, left));
  }
}

/// A calendar time as "2026-11-21T08:00:00Z".
std::string format_utc(double calendar_seconds);

}  // namespace pillion::base
