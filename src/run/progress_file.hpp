// SPDX-License-Identifier: BSD-3-Clause
// Keeps a file that says how a run is doing. A thread of its own writes it, so that a slow file
// system delays nobody; it makes no MPI call, takes no signal, and sleeps nearly all the time. The
// rank tells it what is new at publications, and at other steps only sets its StepPosition.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "run/progress.hpp"

namespace pillion::run {

class ProgressFile {
 public:
  /// Starts to write below `folder`, every `period` seconds if there is something new; the rest of
  /// who writes is found out here. Throws std::system_error if there can be no thread.
  ProgressFile(const std::filesystem::path& folder, Snapshot first, const StepPosition& mark,
               double period);
  ProgressFile(const ProgressFile&) = delete;
  ProgressFile& operator=(const ProgressFile&) = delete;
  /// Writes a last time; if nobody has called end(), that it has failed.
  ~ProgressFile();

  /// Lets `change` change the snapshot. Waits at most until the thread has copied it.
  template <class Change>
  void tell(Change&& change) {
    const std::lock_guard lock(mutex_);
    change(snapshot_);
    ++version_;
  }
  /// Writes a last time, how it ended.
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
  std::string trouble_;
  bool troubled_ = false;
  // The thread's alone.
  Snapshot written_;
  uint64_t written_version_ = 0;
  LiveState instant_;
  StepRate pace_;
  std::thread thread_;
};

}  // namespace pillion::run
