// SPDX-License-Identifier: BSD-3-Clause
// A million events on up to four ranks, at random: see policy_walk.hpp. PILLION_WALK_EVENTS sets
// another number; test_mutants.py runs more, and shows that the walk finds defects.
#include <doctest/doctest.h>

#include <cstdlib>

#include "policy_walk.hpp"

using pillion::model::WhenFull;
using pillion::policy::CollectiveAction;

namespace {

walk::Shape shape_of(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto one_in = [&](uint64_t n) { return random() % n == 0; };
  walk::Shape shape;
  shape.ranks = 1 + static_cast<int>(seed % 4);
  constexpr WhenFull all[] = {WhenFull::Skip, WhenFull::Wait, WhenFull::Coarsen, WhenFull::Spill};
  shape.settings.when_full = all[random() % 4];
  shape.settings.deadline = 5;
  shape.settings.has_sidecars = true;
  shape.settings.separate_job = one_in(2);
  shape.settings.restarts_sidecars = one_in(2);
  for (uint64_t a = 0; a < 1 + random() % 5; ++a)
    shape.traits.push_back({.in_sidecars = true,
                            .needs_whole = one_in(3),
                            .may_migrate = !shape.settings.separate_job && one_in(3)});
  return shape;
}

}  // namespace

TEST_CASE("a walk of a million events breaks nothing") {
  int64_t events = 0;
  std::map<size_t, int64_t> taken;
  const char* given = std::getenv("PILLION_WALK_EVENTS");
  const int64_t most = given != nullptr ? std::atoll(given) : 1000000;
  for (uint64_t seed = 1; events < most; ++seed) {
    const auto shape = shape_of(seed);
    walk::World world(seed, shape);
    try {
      for (uint64_t phase = 0; phase < 1 + seed / 4 % 3; ++phase) {
        for (uint64_t i = 0; i < 20 + 45 * (seed / 16 % 5); ++i) {
          world.step();
          if (i % 30 == seed % 30) world.checkpoint();
        }
        world.quiet_steps(60);
      }
      for (uint64_t i = 0; i < seed / 16 % 20; ++i) world.step();
      world.close();
    } catch (const walk::Broken& broken) {
      FAIL("seed " << seed << ", " << shape.ranks << " ranks, "
                   << "policy " << static_cast<int>(shape.settings.when_full) << ": "
                   << broken.what);
    }
    events += world.events();
    for (const auto& [kind, times] : world.taken()) taken[kind] += times;
  }
  MESSAGE(events, " events");
  // Or the walk would show nothing of them.
  for (size_t kind = 0; kind < std::variant_size_v<CollectiveAction>; ++kind) {
    CAPTURE(kind);
    CHECK(taken[kind] > 0);
    MESSAGE("action ", kind, " was taken ", taken[kind], " times");
  }
}
