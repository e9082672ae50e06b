// SPDX-License-Identifier: BSD-3-Clause
#include "comm/agreement.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace pillion;
using namespace pillion::comm;

TEST_CASE("what fails on one rank fails on all, with the words of the lowest") {
  const Communicator world(MPI_COMM_WORLD);
  const int loser = world.size() / 2;
  std::string what;
  try {
    together(world, [&] {
      if (world.rank() >= loser)
        base::fail(ErrorCode::File, "rank {} has had enough", world.rank());
    });
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::File);
    what = e.what();
  }
  CHECK(what == fmt::format("rank {} has had enough", loser));
  together(world, [] {});
}

// Each rank makes a random number of fenced collectives and may fail at any of them, or end early.
// Whatever they do, all must come to the same end, and none may hang.
TEST_CASE("a fence brings every rank to the same end, whoever fails and when") {
  const Communicator world(MPI_COMM_WORLD);
  Fence fence(world);
  std::mt19937 random(7u + static_cast<unsigned>(world.rank()));
  std::mt19937 common(99);
  for (int round = 0; round < 500; ++round) {
    const int calls = static_cast<int>(common() % 4);
    const bool may_fail = common() % 2 == 0;
    const bool may_leave = common() % 4 == 0;
    const int fails_at = may_fail && random() % 4 == 0 ? static_cast<int>(random() % 4) : -1;
    const int leaves_at = may_leave && random() % 4 == 0 ? static_cast<int>(random() % 4) : -1;
    int64_t sum = 0;
    const auto failure = fence.run([&] {
      for (int call = 0; call < calls; ++call) {
        if (call == leaves_at) return;
        if (call == fails_at) base::fail(ErrorCode::Stage, "at call {}", call);
        fence.before_collective();
        sum += world.reduced(int64_t{1}, Operation::Sum);
      }
    });
    const auto failed = static_cast<int64_t>(failure.has_value());
    const auto left = static_cast<int64_t>(leaves_at >= 0);
    CHECK(world.reduced(failed, Operation::Max) == world.reduced(failed, Operation::Min));
    if (world.reduced(failed + left, Operation::Max) == 0) CHECK(sum == calls * world.size());
  }
}

TEST_CASE("ranks that do not make the same calls are told so") {
  const Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  Fence fence(world);
  const auto failure = fence.run([&] {
    if (world.rank() == 0) fence.before_collective();
  });
  REQUIRE(failure.has_value());
  CHECK(std::string(failure->what()).find("did not make the same calls") != std::string::npos);
}

TEST_CASE("at a fence one rank's mark is everyone's, and is gone at the next") {
  const Communicator world(MPI_COMM_WORLD);
  Fence fence(world);
  const auto failure = fence.run([&] {
    for (int marker = -1; marker < world.size(); ++marker) {
      CHECK(fence.any_before_collective(world.rank() == marker) == (marker >= 0));
      fence.before_collective();
    }
    CHECK_FALSE(fence.any_before_collective(false));
  });
  CHECK_FALSE(failure.has_value());
}

TEST_CASE("work that ends with the same answer everywhere gives it, and else fails everywhere") {
  const Communicator world(MPI_COMM_WORLD);
  Fence fence(world);
  bool answer = false;
  for (const bool said : {true, false}) {
    CHECK_FALSE(fence.ask([&] { return said; }, answer).has_value());
    CHECK(answer == said);
  }
  if (world.size() == 1) return;
  const auto failure = fence.ask([&] { return world.rank() == 0; }, answer);
  REQUIRE(failure.has_value());
  CHECK(std::string(failure->what()).find("did not agree") != std::string::npos);
  CHECK_FALSE(fence.ask([] { return true; }, answer).has_value());
}

TEST_CASE("a rank that fails before it comes to a piece of work ends it on all ranks") {
  const Communicator world(MPI_COMM_WORLD);
  Fence fence(world);
  const auto work = [&] {
    fence.before_collective();
    (void)world.reduced<int32_t>(1, Operation::Sum);
  };
  for (int failing = 0; failing < world.size(); ++failing) {
    const auto failure = world.rank() == failing ? fence.fail(std::bad_alloc()) : fence.run(work);
    REQUIRE(failure);
    CHECK(std::string(failure->what()) == "out of memory");
    CHECK_FALSE(fence.run(work));
  }
}
