// SPDX-License-Identifier: BSD-3-Clause
#include "policy/eviction.hpp"

#include <doctest/doctest.h>

using namespace pillion::policy;

namespace {

/// 10 bytes are wanted; of 100 attached jobs alone hold 30, which is their limit, and others none.
constexpr RoomTaken taken{.wanted = 10,
                          .capacity = 100,
                          .in_use = 30,
                          .by_attached = 30,
                          .limit = 30,
                          .oldest = 5,
                          .fits_without = true,
                          .now = 50};

}  // namespace

TEST_CASE("an attached job is evicted at once when such jobs hold more than their limit") {
  Eviction eviction;
  auto room = taken;
  CHECK_FALSE(eviction.is_due(room));
  ++room.by_attached;
  CHECK(eviction.is_due(room));
  room.fits_without = false;  // without them there would be no room either
  CHECK_FALSE(eviction.is_due(room));
}

TEST_CASE("one that holds less is evicted after a second with a message that is in the way") {
  Eviction eviction;
  auto room = taken;
  CHECK_FALSE(eviction.is_due(room));
  room.now += 0.9;
  CHECK_FALSE(eviction.is_due(room));
  room.now += 0.2;
  CHECK(eviction.is_due(room));
  SUBCASE("another message begins another second") { ++room.oldest; }
  SUBCASE("so does room") { eviction.reset(); }
  SUBCASE("and that others hold what is missing") {
    room.in_use = 95;
    CHECK_FALSE(eviction.is_due(room));
    room.in_use = 30;
  }
  CHECK_FALSE(eviction.is_due(room));
  room.now += 1.1;
  CHECK(eviction.is_due(room));
}

TEST_CASE("room that the run's own sidecars will make is waited for") {
  Eviction eviction;
  auto room = taken;
  room.in_use = 95;
  for (int n = 0; n < 10; ++n, room.now += 1) CHECK_FALSE(eviction.is_due(room));
  // Attached jobs alone hold all of it, so no other will make room.
  room.limit = room.by_attached = room.in_use;
  CHECK_FALSE(eviction.is_due(room));
  room.now += 1.1;
  CHECK(eviction.is_due(room));
}

TEST_CASE("bytes for attached jobs count until these have worked on them") {
  AttachedLoad load;
  CHECK(load.fits(0));
  load.expect({.copied = 40, .taken = 40});
  CHECK(load.fits(40));
  CHECK_FALSE(load.fits(39));
  load.add(5);
  load.add(8);
  CHECK(load.fits(120));
  CHECK_FALSE(load.fits(119));
  load.release(7);  // message 5
  CHECK(load.fits(80));
  CHECK_FALSE(load.fits(79));
  load.release(8);
  CHECK(load.fits(40));
}

TEST_CASE("values that are read in place may be larger than the limit, twice") {
  AttachedLoad load;
  load.expect({.copied = 1, .taken = 500});
  for (const int64_t sequence : {1, 2}) {
    CHECK(load.fits(100));
    load.add(sequence);
  }
  CHECK_FALSE(load.fits(100));
  load.release(1);
  CHECK(load.fits(100));
}
