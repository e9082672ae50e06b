// SPDX-License-Identifier: BSD-3-Clause
// Deeds in a queue, for a thread that outlives who waits for it.
#include "base/disk_deadline.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/default_environment.hpp"

namespace pillion::base {

struct DiskDeadline::Writer {
  struct Deed {
    std::function<void()> work;
    std::exception_ptr failure;
    bool is_done = false;
  };
  std::mutex mutex;
  std::condition_variable news;
  std::deque<std::shared_ptr<Deed>> queue;
  bool is_started = false, ends = false;

  // Nothing here is of who waits, which may be gone.
  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      news.wait(lock, [&] { return ends || !queue.empty(); });
      if (queue.empty()) return;
      const auto deed = queue.front();
      lock.unlock();
      try {
        deed->work();
      } catch (...) {
        deed->failure = std::current_exception();
      }
      deed->work = nullptr;  // what it owns goes before anyone hears that it is done
      lock.lock();
      queue.pop_front();
      deed->is_done = true;
      news.notify_all();
    }
  }

  /// Waits until `holds`, in real time, `seconds` at most. A deadline may be infinite, which the
  /// standard library cannot count in nanoseconds; decades it can.
  template <class Holds>
  bool wait(std::unique_lock<std::mutex>& lock, double seconds, Holds&& holds) {
    const std::chrono::duration<double> most(std::clamp(seconds, 0.0, 1e9));
    return news.wait_for(lock, most, holds);
  }
};

namespace {

thread_local DiskDeadline* deadline_of_thread = nullptr;

}  // namespace

DiskDeadline::DiskDeadline(double end) : writer_(std::make_shared<Writer>()), end_(end) {
  deadline_of_thread = this;
}

DiskDeadline::~DiskDeadline() {
  deadline_of_thread = nullptr;
  const std::lock_guard lock(writer_->mutex);
  writer_->ends = true;
  writer_->news.notify_all();
}

std::function<bool(double)> DiskDeadline::rest() const {
  return [writer = writer_](double seconds) {
    std::unique_lock lock(writer->mutex);
    // The thread that writes takes the mutex only between writes; `seconds` bounds the wait.
    return writer->wait(lock, seconds, [&] { return writer->queue.empty(); });
  };
}

bool on_disk(std::function<void()> deed) {
  if (deadline_of_thread == nullptr) return deed(), true;
  const auto writer = deadline_of_thread->writer_;
  auto queued = std::make_shared<DiskDeadline::Writer::Deed>();
  queued->work = std::move(deed);
  std::unique_lock lock(writer->mutex);
  if (!writer->is_started) {
    try {
      start_thread([writer] { writer->run(); }).detach();
      writer->is_started = true;
    } catch (const std::system_error&) {  // no thread can be had, so this is a call
      lock.unlock();
      return queued->work(), true;
    }
  }
  writer->queue.push_back(queued);
  writer->news.notify_all();
  // Beyond the deadline the write stays with the thread, which owns all that it needs.
  if (!writer->wait(lock, deadline_of_thread->end_ - monotonic_seconds(),
                    [&] { return queued->is_done; })) {
    deadline_of_thread->has_passed_ = true;
    return false;
  }
  lock.unlock();
  if (queued->failure) std::rethrow_exception(queued->failure);
  return true;
}

}  // namespace pillion::base
