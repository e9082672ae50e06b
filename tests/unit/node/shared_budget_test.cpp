// SPDX-License-Identifier: BSD-3-Clause
// A budget that several processes share never gives more than there is, whatever they do at once
// and wherever they die.
#include "node/shared_budget.hpp"

#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <random>
#include <thread>

#include "child.hpp"

using namespace pillion::node;

namespace {

constexpr size_t ranks = 4;
using Words = std::array<BudgetWords, ranks>;

SharedBudget view_of(Words& words, size_t mine, size_t budget) {
  return {words.data(), sizeof(BudgetWords), ranks, mine, budget};
}

}  // namespace

TEST_CASE("parts of a budget follow from needs, and never exceed it together") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    Words words{};
    const size_t budget = size_t{1} << (16 + random() % 30);
    std::deque<SharedBudget> views;
    for (size_t r = 0; r < ranks; ++r) views.push_back(view_of(words, r, budget));
    for (auto& view : views) CHECK(view.share() == budget / ranks);
    size_t needs = 0, parts = 0;
    for (auto& view : views) {
      view.set_need(random() % (budget / (random() % 8 + 1)));
      needs += view.need();
    }
    for (auto& view : views) {
      if (needs <= budget) CHECK(view.share() >= view.need());
      parts += view.share();
    }
    CHECK(parts <= budget);
    CHECK(parts + ranks > budget);
  }
}

TEST_CASE("a rank with most of the data has most of the budget") {
  Words words{};
  std::deque<SharedBudget> views;
  for (size_t r = 0; r < ranks; ++r) views.push_back(view_of(words, r, 1000 << 20));
  for (auto& view : views) CHECK(view.grow_up_to(view.share()));
  views[0].set_need(270 << 20);
  for (size_t r = 1; r < ranks; ++r) views[r].set_need(10 << 20);
  CHECK(views[0].share() == doctest::Approx(900 << 20));
  // Nothing is free before the others have given theirs back.
  CHECK(views[0].should_grow(views[0].share(), false));
  CHECK_FALSE(views[0].grow_up_to(views[0].share()));
  for (size_t r = 1; r < ranks; ++r) {
    CHECK(views[r].should_shrink(views[r].share(), false));
    views[r].hold(views[r].share());
  }
  CHECK(views[0].grow_up_to(views[0].share()));
  CHECK(views[0].held() == views[0].share());
}

TEST_CASE("a little more or less is not worth it, unless somebody lacks it") {
  Words words{};
  auto first = view_of(words, 0, 1000 << 20), second = view_of(words, 1, 1000 << 20);
  CHECK(first.grow(500 << 20));
  CHECK(second.grow(500 << 20));
  first.set_need(100 << 20);
  second.set_need(100 << 20);
  CHECK_FALSE(first.should_shrink(490 << 20, false));
  CHECK(first.should_shrink(490 << 20, true));
  CHECK(first.should_shrink(400 << 20, false));
  second.set_need(505 << 20);
  CHECK(first.should_shrink(490 << 20, false));
}

TEST_CASE("processes that ask at once never get more than there is") {
  constexpr size_t budget = 1000;
  Words words{};
  std::atomic<int64_t> given{0}, most{0}, grants{0};
  std::vector<std::thread> threads;
  for (size_t r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      auto view = view_of(words, r, budget);
      std::mt19937 random(static_cast<unsigned>(r));
      for (int n = 0; n < 50'000; ++n) {
        const size_t held = view.held(), wanted = random() % budget + 1;
        if (wanted > held) {
          if (!(n % 2 == 0 ? view.grow(wanted) : view.grow_up_to(wanted))) continue;
          const auto now = given += static_cast<int64_t>(view.held() - held);
          for (int64_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {}
          ++grants;
        } else {
          given -= static_cast<int64_t>(held - wanted);
          view.hold(wanted);
        }
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(most <= static_cast<int64_t>(budget));
  CHECK(grants > 1000);
}

TEST_CASE("what a process that died held is free, wherever it died") {
  for (int round = 0; round < 20; ++round) {
    const Shared<Words> words;
    const Shared<std::atomic<int>> turns;
    Child child([&] {
      auto view = view_of(*words, 1, 1000);
      for (;;) {
        if (view.grow(600)) view.hold(0);
        ++*turns;
      }
      return 0;
    });
    while (*turns < 1 + 37 * round) std::this_thread::yield();
    child.kill(SIGKILL);
    child.await_death();
    words->at(1).held = 600;  // at worst
    auto view = view_of(*words, 0, 1000);
    view.set_need(900);
    CHECK(view.grow(900));
    view.set_need(1000);
    CHECK(view.grow_up_to(1000));
    CHECK(view.held() == 1000);
  }
}
