// SPDX-License-Identifier: BSD-3-Clause
// Threads sleep between two runs. Each takes the next part from a counter, so a thread that wakes
// up late leaves its share to the others.
#include "base/copy_threads.hpp"

#include <sched.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/default_environment.hpp"

namespace pillion::base {

struct CopyThreads::Pool {
  std::mutex mutex;
  std::condition_variable begun, done;
  const std::function<void(size_t)>* part = nullptr;  ///< null between two runs
  size_t next = 0, parts = 0;
  size_t working = 0;  ///< threads that are in a part
  bool ends = false;
  std::vector<std::thread> threads;

  /// Takes parts until there are none; called, and returns, with the lock.
  void work(std::unique_lock<std::mutex>& lock) {
    ++working;
    while (part != nullptr && next < parts) {
      const size_t mine = next++;
      const auto& call = *part;
      lock.unlock();
      call(mine);
      lock.lock();
    }
    // The last thread ends the run: none uses the function any more.
    if (--working == 0 && next == parts) part = nullptr, done.notify_all();
  }
  void live() {
    std::unique_lock lock(mutex);
    for (;;) {
      // Idle until a run begins or the pool ends. The mutex is released meanwhile.
      begun.wait(lock, [&] { return ends || (part != nullptr && next < parts); });
      if (ends) return;
      work(lock);
    }
  }
};

int usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0)
    return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return std::max(1, CPU_COUNT(&cores));
}

CopyThreads::CopyThreads(int count) {
  const int others = std::min(count, usable_cores()) - 1;
  if (others < 1 || !is_system_clock()) return;
  pool_ = std::make_unique<Pool>();
  pool_->threads.reserve(static_cast<size_t>(others));
  try {
    for (int t = 0; t < others; ++t)
      pool_->threads.push_back(start_thread([pool = pool_.get()] { pool->live(); }));
  } catch (const std::system_error&) {  // with the threads that there are
  }
}

CopyThreads::~CopyThreads() {
  if (!pool_) return;
  {
    const std::lock_guard lock(pool_->mutex);
    pool_->ends = true;
  }
  pool_->begun.notify_all();
  for (auto& thread : pool_->threads) thread.join();
}

int CopyThreads::count() const { return pool_ ? static_cast<int>(pool_->threads.size()) + 1 : 1; }

void CopyThreads::run(size_t parts, const std::function<void(size_t)>& part) {
  if (!pool_ || pool_->threads.empty() || parts < 2) {
    for (size_t n = 0; n < parts; ++n) part(n);
    return;
  }
  std::unique_lock lock(pool_->mutex);
  pool_->part = &part;
  pool_->next = 0;
  pool_->parts = parts;
  pool_->begun.notify_all();
  pool_->work(lock);
  // Other threads may still copy their last part: all of it is in memory of the caller, and ends.
  pool_->done.wait(lock, [&] { return pool_->part == nullptr; });
}

}  // namespace pillion::base
