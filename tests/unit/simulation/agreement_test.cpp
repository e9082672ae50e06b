// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/agreement.hpp"

#include <doctest/doctest.h>

using namespace pillion;
using namespace pillion::simulation;
using policy::RankStatus;

TEST_CASE("what only one rank says, all hear; a slot is ready when the last rank says so") {
  const comm::Communicator world(MPI_COMM_WORLD);
  Agreement agreement(world);
  CHECK_FALSE(agreement.settle());
  for (int teller = 0; teller < world.size(); ++teller) {
    const bool mine = world.rank() == teller, alone = world.size() == 1;
    RankStatus status{.no_room_for_last = mine,
                      .no_room_for_waiting = mine,
                      .no_room_for_both = mine,
                      .dropped = mine,
                      .blocked = mine,
                      .level = mine ? 4 : 1};
    status.slot_ready = {mine, true, false};
    status.slot_lost = {mine, false, false};
    status.slot_evicted = {false, mine, false};
    if (mine) status.disabled = {1};
    agreement.start(status, 3, teller);
    const auto all = agreement.settle();
    REQUIRE(all);
    CHECK(all->no_room_for_last);
    CHECK(all->no_room_for_waiting);
    CHECK(all->no_room_for_both);
    CHECK(all->dropped);
    CHECK(all->blocked);
    CHECK(all->level == 4);
    CHECK(all->slot_ready == std::array{alone, true, false});
    CHECK(all->slot_lost == std::array{true, false, false});
    CHECK(all->slot_evicted == std::array{false, true, false});
    CHECK(all->disabled == std::set<int32_t>{1});
    CHECK_FALSE(agreement.settle());
  }
}

TEST_CASE("more analyses may come between two agreements") {
  const comm::Communicator world(MPI_COMM_WORLD);
  Agreement agreement(world);
  agreement.start({}, 1, 1);
  CHECK(agreement.settle()->disabled.empty());
  agreement.start({.disabled = {4, 7}}, 6, 2);
  CHECK(agreement.settle()->disabled == std::set<int32_t>{4});
}

TEST_CASE("ranks agree where nothing is due only if jobs may attach") {
  const comm::Communicator world(MPI_COMM_WORLD);
  Agreement quiet(world), watching(world);
  CHECK_FALSE(quiet.is_due(1000000));
  watching.watch();
  CHECK_FALSE(watching.is_due(0));
  CHECK(watching.is_due(1));
  watching.start({}, 0, 1);
  (void)watching.settle();
  CHECK_FALSE(watching.is_due(1));
  CHECK(watching.is_due(2));
}
