// SPDX-License-Identifier: BSD-3-Clause
// A bound on waiting for a disk: what is written at the end of a run goes through a thread, and the
// program waits for that until a deadline only.
#pragma once

#include <functional>
#include <memory>

namespace pillion::base {

/// While one lives, on_disk() in this thread waits until its end at most. Not nested.
class DiskDeadline {
 public:
  /// `end` in monotonic seconds.
  explicit DiskDeadline(double end);
  DiskDeadline(const DiskDeadline&) = delete;
  DiskDeadline& operator=(const DiskDeadline&) = delete;
  /// Does not wait. What is not written yet is written as long as the program lives.
  ~DiskDeadline();

  /// Whether something was not written by the end.
  [[nodiscard]] bool has_passed() const { return has_passed_; }
  /// Waits for that, `seconds` at most; returned, so that it may be called when this is gone.
  [[nodiscard]] std::function<bool(double seconds)> rest() const;

 private:
  friend bool on_disk(std::function<void()> deed);
  struct Writer;
  std::shared_ptr<Writer> writer_;  ///< shared with the thread
  double end_;
  bool has_passed_ = false;
};

/// Writes or reads a file. `deed` owns all that it uses. Without a DiskDeadline this is a call.
/// With one, deeds are done in order by a thread; what one throws in time is thrown here. Returns
/// false if it was not done in time, and may be done later.
bool on_disk(std::function<void()> deed);

}  // namespace pillion::base
