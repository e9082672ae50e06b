// SPDX-License-Identifier: BSD-3-Clause
// A thread that keeps messages moving while the program does something else. MPI moves a large
// message only within its own calls, and a solver, or a stage, may not make one for seconds. It
// runs only where MPI was initialised with MPI_THREAD_MULTIPLE. What it calls locks what it shares
// with the rest of the program, and touches no message but Pillion's own.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "comm/communicator.hpp"

namespace pillion::comm {

/// MPI's thread level: 0 for MPI_THREAD_SINGLE, up to 3 for MPI_THREAD_MULTIPLE.
[[nodiscard]] int thread_level();
/// Whether threads other than the program's may call MPI here. They may not under a simulated
/// clock.
[[nodiscard]] bool may_call_from_threads();

class ProgressThread {
 public:
  /// `progress` makes an MPI call that returns at once, and says whether anything is under way. It
  /// must not be called any more after an exception from it. Without MPI_THREAD_MULTIPLE no thread
  /// starts, and nothing calls it.
  explicit ProgressThread(std::function<bool()> progress);
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;
  ~ProgressThread() { stop(); }

  [[nodiscard]] bool runs() const { return thread_.joinable() && !has_failed_; }
  /// Why `progress` failed and the thread ended; "" if it did not, or the next time.
  [[nodiscard]] std::string take_failure();
  /// Something is under way now: the thread wakes up, and sleeps again when nothing is. Any thread.
  void resume();
  /// Ends the thread; at the latest it ends in MPI_Finalize.
  void stop();
  /// How often it has called `progress`, for tests.
  [[nodiscard]] uint64_t calls() const { return calls_; }

 private:
  void work();

  std::function<bool()> progress_;
  std::atomic<uint32_t> resumed_{0};  ///< a count; the thread sleeps while it stays the same
  std::atomic<bool> stopping_{false};
  std::atomic<bool> has_failed_{false};
  std::string failure_;  ///< by the thread, before it sets has_failed_
  std::atomic<uint64_t> calls_{0};
  std::thread thread_;
  std::optional<AtFinalize> at_finalize_;
};

}  // namespace pillion::comm
