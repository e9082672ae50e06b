// SPDX-License-Identifier: BSD-3-Clause
// Threads that help one thread to copy large arrays. One core reads and writes at a part of the
// speed of the memory; a rank that has cores to spare may use several.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace pillion::base {

class CopyThreads {
 public:
  /// Fewer bytes are not worth a thread.
  static constexpr size_t smallest_part = size_t{1} << 20;

  /// `count` threads copy, the caller among them. There are fewer if this process may not use as
  /// many cores or the system has no thread left, and none but the caller under a simulated clock.
  explicit CopyThreads(int count);
  CopyThreads(const CopyThreads&) = delete;
  CopyThreads& operator=(const CopyThreads&) = delete;
  ~CopyThreads();

  /// With the caller.
  [[nodiscard]] int count() const;
  /// Calls part(n) for each n below `parts`, once, on some thread, and returns when all are done.
  /// The caller takes parts too, and waits for none that no other has begun. `part` must not throw.
  void run(size_t parts, const std::function<void(size_t)>& part);

 private:
  struct Pool;
  std::unique_ptr<Pool> pool_;  ///< null if the caller is alone
};

/// Cores that this process may use.
int usable_cores();

}  // namespace pillion::base
