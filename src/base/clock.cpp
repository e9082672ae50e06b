// SPDX-License-Identifier: BSD-3-Clause
// The system's clocks, and sleeping on them.
#include "base/clock.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <ctime>
#include <thread>

namespace pillion::base {
namespace {

class SystemClock final : public Clock {
 public:
  double monotonic_seconds() override {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
  }
  double calendar_seconds() override {
    using namespace std::chrono;
    return duration<double>(system_clock::now().time_since_epoch()).count();
  }
  void sleep(double seconds) override {
    // Its callers have no lock; it is not woken early.
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
  void yield() override { std::this_thread::yield(); }
  // A futex: nothing is held meanwhile, so a process that dies leaves nothing locked.
  void sleep_while(const std::atomic<uint32_t>& word, uint32_t seen, double seconds) override {
    seconds = std::clamp(seconds, 0.0, 1e9);  // a longer time does not fit a timespec everywhere
    const auto whole = static_cast<std::time_t>(seconds);
    const timespec limit{.tv_sec = whole,
                         .tv_nsec = static_cast<long>((seconds - double(whole)) * 1e9)};
    syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word), FUTEX_WAIT, seen, &limit, nullptr,
            0);
  }
  void wake(std::atomic<uint32_t>& word) override {
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr,
            0);
  }
};

static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(std::atomic<uint32_t>) == 4);

SystemClock system;
std::atomic<Clock*> current{&system};

}  // namespace

Clock& clock() { return *current.load(std::memory_order_relaxed); }

bool is_system_clock() { return &clock() == &system; }

void set_clock(Clock* clock) { current = clock != nullptr ? clock : &system; }

std::string format_utc(double calendar_seconds) {
  const auto whole = static_cast<std::time_t>(calendar_seconds);
  std::tm parts{};
  gmtime_r(&whole, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace pillion::base
