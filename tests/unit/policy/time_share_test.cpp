// SPDX-License-Identifier: BSD-3-Clause
// The share of the simulation's time that attached jobs may take, and what follows for
// publications.
#include "policy/time_share.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "policy/policy.hpp"

using namespace pillion;
using namespace pillion::policy;

namespace {

constexpr double step = 0.01;

/// How often something that costs `cost` seconds is allowed in `steps` steps, if it is wanted at
/// every step and its cost is known `lag` steps later.
int64_t times_allowed(TimeShare& share, double cost, int64_t steps, int64_t lag) {
  int64_t allowed = 0;
  double spent = 0, running = 0;
  std::vector<double> history;
  for (int64_t s = 0; s < steps; ++s) {
    running += step;
    if (share.allows(s)) ++allowed, spent += cost, running += cost;
    history.push_back(spent);
    if (s >= lag) share.settle(history[static_cast<size_t>(s - lag)], running, s);
  }
  return allowed;
}

}  // namespace

TEST_CASE("attached jobs take no more than their share of the time") {
  for (const double share : {0.01, 0.1})
    for (const double cost : {1e-5, 1e-3, 0.05})
      for (const int64_t lag : {0, 3}) {
        CAPTURE(share);
        CAPTURE(cost);
        CAPTURE(lag);
        TimeShare account(share);
        const int64_t steps = 100000;
        const double spent = cost * static_cast<double>(times_allowed(account, cost, steps, lag));
        const double running = step * static_cast<double>(steps) + spent;
        const double overrun = cost * static_cast<double>(lag + 2);
        CHECK(spent <= share * running + overrun);
        // And no less than it, unless they want no more.
        CHECK(spent >= std::min(0.95 * share * running, cost * steps) - overrun);
      }
}

TEST_CASE("a share of nothing or of everything") {
  TimeShare nothing(0), everything(1);
  everything.settle(50, 60, 100);
  CHECK(everything.allows(101));
  CHECK_FALSE(nothing.allows(0));
}

TEST_CASE("credit for more than the window is not kept") {
  TimeShare share(0.01);
  share.settle(0, 36000, 1000);
  CHECK(share.allows(1001));
  share.settle(0.01 * TimeShare::window + 1e-6, 36000, 1001);
  CHECK_FALSE(share.allows(1001));
}

TEST_CASE("an older cost than the last is ignored") {
  TimeShare share(0.01);
  share.settle(0.1, 1, 20);
  CHECK_FALSE(share.allows(20));
  share.settle(0, 0.5, 10);
  CHECK_FALSE(share.allows(20));
}

TEST_CASE("without credit or memory only attached jobs are left out") {
  Policy policy({.when_full = model::WhenFull::Skip, .has_sidecars = true, .attached_share = 0.01},
                {{.in_sidecars = true}});
  policy.set(1, {.in_sidecars = true});
  CHECK(policy.may_cost(1, 0));
  (void)policy.on(AttachedCost{.seconds = 1, .running = 2, .steps = 10});
  CHECK(policy.may_cost(0, 11));
  CHECK_FALSE(policy.may_cost(1, 11));
  (void)policy.on(AgreementReady{{.attached_full = true}});
  const auto actions = policy.on(PublicationReady{{0, 1}});
  REQUIRE(actions.size() == 2);
  const auto& skip = std::get<Skip>(actions[0]);
  CHECK(skip.over_share);
  CHECK(skip.analyses == std::vector<size_t>{1});
  CHECK(std::get<Publish>(actions[1]).analyses == std::vector<size_t>{0});
}
