// SPDX-License-Identifier: BSD-3-Clause
// Testing messages, and sleeping while there are none.
#include "comm/progress_thread.hpp"

#include <exception>
#include <utility>

#include "base/clock.hpp"
#include "base/default_environment.hpp"

namespace pillion::comm {

namespace {

constexpr int multiple = 3;

}  // namespace

int thread_level() {
  int level = MPI_THREAD_SINGLE;
  check(MPI_Query_thread(&level), "MPI_Query_thread");
  switch (level) {
    case MPI_THREAD_MULTIPLE: return multiple;
    case MPI_THREAD_SERIALIZED: return 2;
    case MPI_THREAD_FUNNELED: return 1;
    default: return 0;
  }
}

bool may_call_from_threads() { return thread_level() == multiple && base::is_system_clock(); }

ProgressThread::ProgressThread(std::function<bool()> progress) : progress_(std::move(progress)) {
  if (!may_call_from_threads()) return;
  at_finalize_.emplace([this] { stop(); });
  try {
    thread_ = base::start_thread([this] { work(); });
  } catch (const std::system_error&) {  // the system has no thread left: as without one
  }
}

void ProgressThread::resume() {
  if (!runs()) return;
  ++resumed_;
  base::clock().wake(resumed_);
}

void ProgressThread::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  resume();
  thread_.join();
}

std::string ProgressThread::take_failure() {
  return has_failed_ ? std::exchange(failure_, {}) : std::string();
}

// The count is read before the messages are looked at: a message that comes after that look has
// changed it, and the sleep ends at once.
void ProgressThread::work() {
  constexpr double pause = 50e-6, forever = 3600;  // seconds
  while (!stopping_) {
    const uint32_t seen = resumed_;
    bool is_busy = false;
    try {
      is_busy = progress_();
    } catch (const std::exception& e) {
      failure_ = e.what();
      has_failed_ = true;
      return;
    }
    ++calls_;
    base::clock().sleep_while(resumed_, seen, is_busy ? pause : forever);
  }
}

}  // namespace pillion::comm
