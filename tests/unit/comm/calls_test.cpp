// SPDX-License-Identifier: BSD-3-Clause
#include "comm/calls.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/clock.hpp"
#include "comm/agreement.hpp"
#include "comm/message.hpp"

using namespace pillion;
using namespace pillion::comm;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

Met of(const Call& call, int rank) { return {0, {call, rank}, {call, rank}}; }

/// The ranks of the program, whose calls are compared.
Communicator compared() {
  Communicator ranks(MPI_COMM_WORLD);
  ranks.compare(std::make_shared<Calls>());
  return ranks;
}

/// Why `work` has the ranks part; "" if they do not.
std::string parting(Work<void> work) {
  try {
    work();
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::State);
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("calls are the same if kind, step and time are, but for rounding") {
  const Call step{CallKind::Step, 7, 0.7};
  CHECK(is_same(step, {CallKind::Step, 7, 0.1 * 7}));
  CHECK(is_same({CallKind::Step, 7, no_number}, {CallKind::Step, 7, no_number}));
  CHECK_FALSE(is_same(step, {CallKind::Step, 7, no_number}));
  CHECK_FALSE(is_same(step, {CallKind::Step, 8, 0.7}));
  CHECK_FALSE(is_same(step, {CallKind::Step, 7, 0.7001}));
  CHECK_FALSE(is_same(step, {CallKind::Close, 7, 0.7}));
}

// Whatever the order in which MPI joins them, the extremes are those of the sorted list.
TEST_CASE("a meeting of any ranks in any order knows whether their calls differ") {
  std::mt19937 random(11);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<Met> all;
    bool differ = false;
    for (int rank = 0; rank < 5; ++rank) {
      const Call call{random() % 8 == 0 ? CallKind::Close : CallKind::Step,
                      random() % 8 == 0 ? 3 : 2, random() % 8 == 0 ? no_number : 1.0};
      all.push_back(of(call, rank));
      differ = differ || !is_same(call, all.front().least.call);
    }
    std::shuffle(all.begin(), all.end(), random);
    Met met = all.front();
    for (size_t i = 1; i < all.size(); ++i) join(all[i], met);
    CHECK(difference(met).has_value() == differ);
  }
}

TEST_CASE("ranks that meet from different calls part, in the same words on every rank") {
  const Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  const auto ranks = compared();
  const bool first = ranks.rank() == 0;
  together(ranks, [] {});
  ranks.calls()->begin(first ? Call{CallKind::Step, 3, 0.25} : Call{CallKind::Close});
  const auto why = parting([&] { together(ranks, [] {}); });
  CHECK(why.find("rank 0 is in pillion_step for step 3 at time 0.25") != std::string::npos);
  CHECK(why.find("in pillion_close") != std::string::npos);
  // Nothing is done together any more, and no rank waits.
  CHECK(parting([&] { ranks.barrier(); }) == why);
  CHECK(parting([&] { (void)ranks.reduced<int32_t>(1, Operation::Sum); }) == why);
  CHECK(parting([&] { (void)ranks.gather({}, 0); }) == why);
  Fence fence(ranks);
  CHECK(parting([&] { (void)fence.run([] {}); }) == why);
  world.barrier();
}

TEST_CASE("a rank in a reduction, and one in another call that joins it, part") {
  const Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  {
    const auto ranks = compared();
    LaggedReduction reduction(ranks, Operation::Max);
    reduction.reserve(3);
    const bool first = ranks.rank() == 0;
    ranks.calls()->begin(first ? Call{CallKind::Step, 3, 0.25} : Call{CallKind::Checkpoint});
    std::string why;
    if (first) {
      (void)reduction.prepare(3);
      reduction.start();
      why = parting([&] { (void)reduction.settle(); });
    } else {
      reduction.join();
      why = parting([&] { base::wait_until([&] { return reduction.has_joined(); }); });
    }
    CHECK(why.find("do not make the same calls") != std::string::npos);
    world.barrier();
  }
}

TEST_CASE("steps and times that differ are found in a lagged maximum") {
  const Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  for (const bool in_time : {false, true}) {
    const auto ranks = compared();
    LaggedReduction reduction(ranks, Operation::Max);
    const bool last = ranks.rank() == ranks.size() - 1;
    ranks.calls()->begin({CallKind::Step, last && !in_time ? 5 : 4, last && in_time ? 0.5 : 0.4});
    (void)reduction.prepare(1);
    reduction.start();
    const auto why = parting([&] { (void)reduction.settle(); });
    CHECK(why.find(in_time ? "at step 4 their times are from 0.4 to 0.5"
                           : "their steps are from 4 to 5") != std::string::npos);
    world.barrier();
  }
}

TEST_CASE("ranks that join from the same call continue the reduction that is under way") {
  const auto ranks = compared();
  LaggedReduction reduction(ranks, Operation::Sum);
  reduction.reserve(1);
  ranks.calls()->begin({CallKind::Step, 1, 0.1});
  reduction.prepare(1)[0] = 2;
  reduction.start();
  ranks.calls()->begin({CallKind::Checkpoint});
  reduction.join();
  CHECK(base::wait_until([&] { return reduction.has_joined(); }));
  CHECK((*reduction.settle())[0] == 2 * ranks.size());
}

TEST_CASE("a rank that has left lets others know that come to a meeting later") {
  const Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  const auto ranks = compared();
  ranks.calls()->begin({CallKind::Step, 1, 0.1});
  if (ranks.rank() == 0) {
    ranks.calls()->leave(ranks.handle(), 0);
  } else {
    const auto why = parting([&] { together(ranks, [] {}); });
    CHECK(why.find("has met a difference before") != std::string::npos);
  }
  world.barrier();
}

// A rank that wrote to the values under way would spoil what all ranks hear, without an error.
TEST_CASE("a reduction cannot be prepared while the one before is under way") {
  const Communicator world(MPI_COMM_WORLD);
  LaggedReduction reduction(world, Operation::Max);
  (void)reduction.prepare(1);
  reduction.start();
  CHECK_THROWS_AS((void)reduction.prepare(1), Error);
  CHECK(reduction.settle());
  CHECK_NOTHROW((void)reduction.prepare(1));
}
