// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/consensus.hpp"

#include <doctest/doctest.h>

using namespace pillion;
using namespace pillion::runtime;

using model::WhenFull;

TEST_CASE("what is done with a publication depends on how all ranks stood before") {
  CHECK(decide(WhenFull::Skip, {.full = true}).skip);
  CHECK_FALSE(decide(WhenFull::Skip, {}).skip);
  CHECK_FALSE(decide(WhenFull::Wait, {.full = true}).skip);
  CHECK_FALSE(decide(WhenFull::Spill, {.full = true}).skip);
  const auto coarse = decide(WhenFull::Coarsen, {.full = true, .level = 3});
  CHECK_FALSE(coarse.skip);
  CHECK(coarse.level == 3);
  CHECK(decide(WhenFull::Coarsen, {.full = true, .level = 1000}).skip);
  CHECK(decide(WhenFull::Coarsen, {.full = false, .level = 3}).level == 0);
  for (const auto policy : {WhenFull::Skip, WhenFull::Wait, WhenFull::Spill, WhenFull::Coarsen})
    CHECK(decide(policy, {.full = true, .blocked = true}).skip);
}

TEST_CASE("ranks look for newcomers about twice a second") {
  CHECK(steps_to_next_look(0) == 1);
  CHECK(steps_to_next_look(10) == 1);
  CHECK(steps_to_next_look(0.01) == 50);
  CHECK(steps_to_next_look(1e-12) == 100000);
}

TEST_CASE("a standing is known one publication later; disabled analyses stay so") {
  const comm::Communicator world(MPI_COMM_WORLD);
  Consensus consensus(world, 3);
  CHECK_FALSE(consensus.settle().full);
  consensus.start({.full = true, .disabled = {2}});
  CHECK(consensus.settle().full);
  consensus.start({.full = false});
  CHECK_FALSE(consensus.settle().full);
}

TEST_CASE("a guest is ready when all ranks say so, gone when one does, and this is heard once") {
  const comm::Communicator world(MPI_COMM_WORLD);
  Consensus consensus(world, 0);
  consensus.start({.ready = {false, true, false}, .deserted = {true, false, false}});
  const auto heard = consensus.settle();
  CHECK(heard.ready == std::array{false, true, false});
  CHECK(heard.deserted == std::array{true, false, false});
  CHECK(consensus.settle().ready == std::array{false, false, false});
}

TEST_CASE("what only one rank says, all hear; a guest is ready when the last rank says so") {
  const comm::Communicator world(MPI_COMM_WORLD);
  Consensus consensus(world, 3);
  for (int teller = 0; teller < world.size(); ++teller) {
    const bool mine = world.rank() == teller;
    Standing standing{.full = mine, .blocked = mine, .level = mine ? 4 : 1, .pace = mine ? 0.5 : 0};
    standing.ready = {mine, true, false};
    standing.deserted = {mine, false, false};
    if (mine) standing.disabled = {1};
    consensus.start(standing);
    const Standing heard = consensus.settle();
    CHECK(heard.full);
    CHECK(heard.blocked);
    CHECK(heard.level == 4);
    CHECK(heard.pace == 0.5);
    CHECK(heard.ready == std::array{world.size() == 1, true, false});
    CHECK(heard.deserted == std::array{true, false, false});
    CHECK(heard.disabled == std::set<int32_t>{1});
  }
}
