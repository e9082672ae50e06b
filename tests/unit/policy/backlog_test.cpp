// SPDX-License-Identifier: BSD-3-Clause
// Runs with sidecars that are behind, played with a queue of publications: who gets how many.
#include "policy/backlog.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <random>

using namespace pillion::policy;
using pillion::model::WhenFull;

namespace {

/// An analysis that is due every so many steps; its publications are so large, and take so many
/// steps to finish.
struct Played {
  int64_t every;
  size_t size;
  int64_t takes;
  int64_t served = 0;
};

/// Plays a run with policy `skip`. All analyses that are due share a publication.
void play(std::vector<Played>& analyses, size_t budget, int64_t steps, bool fair) {
  struct Sent {
    size_t size;
    int64_t left;
  };
  std::deque<Sent> queue;
  size_t in_use = 0, last = 0;
  std::vector<size_t> sizes(analyses.size());
  FairScheduler scheduler;
  RankStatus before;
  std::vector<size_t> last_due;
  int64_t sequence = 0;
  for (int64_t step = 1; step <= steps; ++step) {
    if (!queue.empty() && --queue.front().left <= 0) {
      in_use -= queue.front().size;
      queue.pop_front();
    }
    std::vector<size_t> due;
    for (size_t a = 0; a < analyses.size(); ++a)
      if (step % analyses[a].every == 0) due.push_back(a);
    if (due.empty()) continue;
    before.dropped ? scheduler.dropped(last_due) : scheduler.published(last_due, sequence);
    last_due.clear();
    before.dropped = false;
    const auto next = scheduler.waiting();
    Priority priority = Priority::None;
    if (fair && next) {
      const auto& waiting = analyses[*next];
      if (step % waiting.every == 0) priority = Priority::Waiting;
      else if (scheduler.yields(due, waiting.every - step % waiting.every))
        priority = Priority::Yields;
    }
    Sent sent{0, 0};
    for (const size_t a : due) {
      sent.size += analyses[a].size;
      sent.left += analyses[a].takes;
    }
    if (admit(WhenFull::Skip, before, priority).skip) {
      scheduler.skipped(due);
    } else {
      last = sent.size;
      last_due = due;
      ++sequence;
      for (const size_t a : due) sizes[a] = last;
      if (in_use + sent.size <= budget) {
        for (const size_t a : due) ++analyses[a].served;
        in_use += sent.size;
        queue.push_back(sent);
      } else {
        before.dropped = true;
      }
    }
    before.no_room_for_last = in_use + last > budget;
    if (scheduler.waiting()) {
      const size_t size = sizes[*scheduler.waiting()];
      before.no_room_for_waiting = size > 0 ? in_use + size > budget : in_use > 0;
      before.no_room_for_both = size == 0 || in_use + last + size > budget;
    }
  }
}

}  // namespace

TEST_CASE(
    "an analysis that is due rarely starves beside one that takes all room, unless others yield") {
  // The first takes 7 steps of each 10, and is due at all of them.
  const std::vector<Played> both = {{1, 10, 7}, {10, 10, 3}};
  auto unfair = both, fair = both;
  play(unfair, 21, 10000, false);
  play(fair, 21, 10000, true);
  MESSAGE("unfair ", unfair[0].served, " and ", unfair[1].served, ", fair ", fair[0].served,
          " and ", fair[1].served, " of 10000 and 1000");
  CHECK(fair[1].served > 100);
  CHECK(fair[0].served > unfair[0].served / 2);
}

TEST_CASE("no analysis starves, whatever the sizes and the load") {
  std::mt19937 random(4);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  int64_t starved = 0;
  for (int round = 0; round < 150; ++round) {
    std::vector<Played> analyses;
    size_t all = 0;
    for (int64_t a = 0; a < 1 + below(5); ++a) {
      analyses.push_back({1 + below(40), static_cast<size_t>(1 + below(20)), 1 + below(30)});
      all += analyses.back().size;
    }
    auto unfair = analyses;
    // A budget that holds whatever may be due at once, so that a single publication always fits.
    const size_t budget = all + static_cast<size_t>(below(40));
    constexpr int64_t steps = 40000;
    play(analyses, budget, steps, true);
    play(unfair, budget, steps, false);
    for (size_t a = 0; a < analyses.size(); ++a) {
      CAPTURE(round);
      CAPTURE(a);
      CHECK(analyses[a].served >= 20);
      starved += unfair[a].served == 0 ? 1 : 0;
    }
  }
  CHECK(starved > 0);  // or this would show nothing
}

TEST_CASE("others do not yield for long to what is too large for any room") {
  FairScheduler scheduler;
  for (int i = 0; i < 3; ++i) scheduler.dropped({1});
  CHECK(scheduler.waiting() == 1);
  scheduler.dropped({1});
  CHECK_FALSE(scheduler.waiting());
}

TEST_CASE("an analysis that wants nothing makes no other yield") {
  FairScheduler scheduler;
  scheduler.published({0, 1}, 1);
  CHECK_FALSE(scheduler.waiting());
  scheduler.skipped({1});
  CHECK(scheduler.waiting() == 1);
  CHECK(scheduler.yields({0}, 1));
  CHECK_FALSE(scheduler.yields({0}, 2));
  CHECK_FALSE(scheduler.yields({0, 1}, 1));
  scheduler.withdraw(1);
  CHECK_FALSE(scheduler.waiting());
  CHECK_FALSE(scheduler.yields({0}, 1));
}

TEST_CASE("what is done with a publication depends on the status of all ranks before") {
  const RankStatus full{.no_room_for_last = true};
  CHECK(admit(WhenFull::Skip, full).skip);
  CHECK_FALSE(admit(WhenFull::Skip, {}).skip);
  CHECK_FALSE(admit(WhenFull::Wait, full).skip);
  CHECK_FALSE(admit(WhenFull::Spill, full).skip);
  const auto coarse = admit(WhenFull::Coarsen, {.no_room_for_last = true, .level = 3});
  CHECK_FALSE(coarse.skip);
  CHECK(coarse.level == 3);
  CHECK(admit(WhenFull::Coarsen, {.no_room_for_last = true, .level = 1000}).skip);
  CHECK(admit(WhenFull::Coarsen, {.level = 3}).level == 0);
  for (const auto when_full : {WhenFull::Skip, WhenFull::Wait, WhenFull::Spill, WhenFull::Coarsen})
    CHECK(admit(when_full, {.blocked = true}).skip);
}

TEST_CASE("ranks agree about twice a second where nothing is due") {
  CHECK(steps_to_next_agreement(0) == 1);
  CHECK(steps_to_next_agreement(10) == 1);
  CHECK(steps_to_next_agreement(0.01) == 50);
  CHECK(steps_to_next_agreement(1e-12) == 100000);
}
