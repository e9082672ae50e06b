// SPDX-License-Identifier: BSD-3-Clause
// Runs with sidecars that are behind, played with a queue of publications: who gets how many.
#include "runtime/turns.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <random>

#include "runtime/consensus.hpp"

using namespace pillion::runtime;

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
  Turns turns;
  Standing before;
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
    before.dropped ? turns.dropped(last_due) : turns.served(last_due, sequence);
    last_due.clear();
    before.dropped = false;
    const auto next = turns.next();
    Claim claim = Claim::None;
    if (fair && next) {
      const auto& waiting = analyses[*next];
      if (step % waiting.every == 0) claim = Claim::Waits;
      else if (turns.yields(due, waiting.every - step % waiting.every)) claim = Claim::Yields;
    }
    Sent sent{0, 0};
    for (const size_t a : due) {
      sent.size += analyses[a].size;
      sent.left += analyses[a].takes;
    }
    if (decide(pillion::model::WhenFull::Skip, before, claim).skip) {
      turns.skipped(due);
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
    before.full = in_use + last > budget;
    if (turns.next()) {
      const size_t size = sizes[*turns.next()];
      before.scant = size > 0 ? in_use + size > budget : in_use > 0;
      before.tight = size == 0 || in_use + last + size > budget;
    }
  }
}

}  // namespace

TEST_CASE(
    "an analysis that is due rarely starves beside one that takes all room, and not with turns") {
  // The first takes 7 steps of each 10, and is due at all of them.
  const std::vector<Played> both = {{1, 10, 7}, {10, 10, 3}};
  auto unfair = both, fair = both;
  play(unfair, 21, 10000, false);
  play(fair, 21, 10000, true);
  MESSAGE("without turns ", unfair[0].served, " and ", unfair[1].served, ", with turns ",
          fair[0].served, " and ", fair[1].served, " of 10000 and 1000");
  CHECK(fair[1].served > 100);
  CHECK(fair[0].served > unfair[0].served / 2);
}

TEST_CASE("none starves, whatever the sizes and the load") {
  std::mt19937 random(4);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  int64_t starved = 0;
  for (int round = 0; round < 300; ++round) {
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

TEST_CASE("nobody yields for long to what is too large for any room") {
  Turns turns;
  for (int i = 0; i < 3; ++i) turns.dropped({1});
  CHECK(turns.next() == 1);
  turns.dropped({1});
  CHECK_FALSE(turns.next());
}

TEST_CASE("who wants nothing makes nobody yield") {
  Turns turns;
  turns.served({0, 1}, 1);
  CHECK_FALSE(turns.next());
  turns.skipped({1});
  CHECK(turns.next() == 1);
  CHECK(turns.yields({0}, 1));
  CHECK_FALSE(turns.yields({0}, 2));
  CHECK_FALSE(turns.yields({0, 1}, 1));
  turns.pass(1);
  CHECK_FALSE(turns.next());
  CHECK_FALSE(turns.yields({0}, 1));
}
