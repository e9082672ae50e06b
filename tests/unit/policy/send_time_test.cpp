// SPDX-License-Identifier: BSD-3-Clause
#include "policy/send_time.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using pillion::policy::SendTime;

TEST_CASE("while sidecars work, a step sends for a share of the time, and less if in vain") {
  SendTime time(0);
  CHECK(time.allow(1, false) == doctest::Approx(0.1));
  time.ended(1.1, true);
  CHECK(time.allow(3.1, false) == doctest::Approx(0.2));
  time.ended(3.1, false);
  CHECK(time.allow(4.1, false) == doctest::Approx(0.1));
  time.ended(4.1, false);
  CHECK(time.allow(5.1, false) == doctest::Approx(0.05));
  for (int s = 6; s < 100; ++s) {
    (void)time.allow(s, false);
    time.ended(s, false);
  }
  CHECK(time.allow(100, false) < 0.002);
  time.ended(100, true);
  CHECK(time.allow(101, false) == doctest::Approx(0.1));
  time.ended(101, true);
  CHECK(time.allow(10000, false) <= SendTime::most);
}

TEST_CASE("what was not used is kept for a message that takes longer") {
  SendTime time(0);
  double now = 1;
  (void)time.allow(now, true);
  time.ended(now += SendTime::most, false);  // all of it
  CHECK(time.allow(now, true) == doctest::Approx(0));
  for (int s = 0; s < 3; ++s) {
    (void)time.allow(now += 1, true);
    time.ended(now += 0.02, true);
  }
  CHECK(time.allow(now += 1, true) == doctest::Approx(3 * 0.08 + 0.002 * 2 + 0.1).epsilon(0.05));
  time.ended(now, true);
  CHECK(time.allow(now + 1000, true) == SendTime::most);
}

TEST_CASE("after a step that was stopped for long, messages still leave") {
  SendTime time(0);
  (void)time.allow(1, true);
  time.ended(100, false);
  CHECK(time.allow(101, true) == doctest::Approx(0.1));
}

namespace {

/// Steps of a second that the message of each step takes `message` seconds to leave; sidecars work
/// in the first `working` of them, and take nothing in. Returns the steps that the last message
/// was late, and adds up what was spent.
int64_t run(int steps, int working, double message, double& spent) {
  SendTime time(0);
  double now = 1, queue = 0;
  for (int s = 0; s < steps; ++s) {
    queue += message;
    const double allowed = time.allow(now, s >= working);
    const double sent = s < working ? 0 : std::min(queue, allowed);
    const bool all_sent = s >= working && queue <= allowed;
    queue -= sent;
    const double took = all_sent ? sent : allowed;
    spent += took;
    time.ended(now + took, all_sent);
    now += 1 + took;
  }
  return static_cast<int64_t>(queue / message);
}

}  // namespace

TEST_CASE("however often sending was in vain, messages leave once sidecars wait for them") {
  double spent = 0;
  CHECK(run(60, 20, 0.06, spent) == 0);
  spent = 0;
  CHECK(run(60, 0, 0.08, spent) == 0);
}

TEST_CASE("sending takes no more than its share of the time") {
  for (const double message : {0.05, 0.2, 3.0}) {
    double spent = 0;
    (void)run(1000, 100, message, spent);
    CHECK(spent <= SendTime::most + SendTime::share * 1000 * 1.1);
  }
  double spent = 0;
  (void)run(1000, 1000, 0.2, spent);
  CHECK(spent < 3);  // hardly anything where it is in vain
}
