// SPDX-License-Identifier: BSD-3-Clause
// Waiting, on a clock that moves only while a caller sleeps.
#include "base/clock.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "base/copy_threads.hpp"

using namespace pillion::base;

namespace {

class ManualClock final : public Clock {
 public:
  ManualClock() { set_clock(this); }
  ~ManualClock() override { set_clock(nullptr); }
  double monotonic_seconds() override { return now; }
  double calendar_seconds() override { return now; }
  void sleep(double seconds) override {
    naps.push_back(seconds);
    now += seconds;
  }
  void yield() override {}
  void sleep_while(const std::atomic<uint32_t>&, uint32_t, double seconds) override {
    sleep(seconds);
  }
  void wake(std::atomic<uint32_t>&) override {}

  double now = 100;
  std::vector<double> naps;
};

}  // namespace

TEST_CASE("a wait asks at least once, and ends at its deadline") {
  ManualClock clock;
  int asked = 0;
  CHECK(!wait_until([&] { return ++asked > 100; }, 50));
  CHECK(asked == 1);
  CHECK(clock.naps.empty());
  CHECK(!wait_until([] { return false; }, 101));
  CHECK(clock.now == doctest::Approx(101));
}

TEST_CASE("pauses double up to the longest, and the last one ends at the deadline") {
  ManualClock clock;
  CHECK(!wait_until([] { return false; }, 110, {1, 4}));
  CHECK(clock.naps == std::vector<double>{1, 2, 4, 3});
}

TEST_CASE("a wait without a deadline ends when it is done") {
  ManualClock clock;
  CHECK(wait_until([&] { return clock.now >= 107; }, std::numeric_limits<double>::infinity(),
                   {1, 2}));
  CHECK(clock.now == 107);
}

TEST_CASE("the system's clock moves, sleeps on a word and is back after a replacement") {
  { const ManualClock replaced; }
  const double begin = monotonic_seconds();
  pillion::base::clock().sleep(0.002);
  std::atomic<uint32_t> word{7};
  pillion::base::clock().sleep_while(word, 8, 100);  // it is another one already
  pillion::base::clock().sleep_while(word, 7, 0.002);
  const double seconds = monotonic_seconds() - begin;
  CHECK(seconds >= 0.004);
  CHECK(seconds < 50);
}

TEST_CASE("no thread copies under another clock than the system's") {
  const ManualClock clock;
  CHECK(CopyThreads(4).count() == 1);
}
