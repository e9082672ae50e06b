// SPDX-License-Identifier: BSD-3-Clause
// Against one rank that knows all boxes.
#include "redistribution/coverage.hpp"

#include <doctest/doctest.h>

#include "../layout/random_boxes.hpp"
#include "layout/coverage.hpp"

using namespace pillion;
using random_boxes::below;
using random_boxes::Random;

TEST_CASE("ranks find together what one that knows all boxes finds") {
  const comm::Communicator world(MPI_COMM_WORLD);
  Random random(41);
  for (int round = 0; round < 120; ++round) {
    const auto domain = random_boxes::domain(random, 20);
    auto divided = random_boxes::divide(domain, world.size(), 60, random);
    auto& some = divided[static_cast<size_t>(below(random, world.size()))];
    const auto kind = below(random, 4);
    if (kind == 1 && !some.empty()) some.pop_back();
    if (kind == 2 && !some.empty()) divided.front().push_back(some.back());
    if (kind == 3 && some.size() > 1) some.front() = some.back();
    std::vector<model::Box> all;
    for (const auto& boxes : divided) all.insert(all.end(), boxes.begin(), boxes.end());
    const auto expected = layout::find_coverage_fault(all, domain);
    const auto fault = redistribution::find_coverage_fault(
        world, divided[static_cast<size_t>(world.rank())], domain);
    const auto anywhere = [&](bool here) {
      return world.reduced(here ? 1 : 0, comm::Operation::Max) == 1;
    };
    CHECK(anywhere(fault.overlap.has_value()) == expected.overlap.has_value());
    if (!expected.overlap) {
      CHECK(anywhere(fault.hole.has_value()) == expected.hole.has_value());
      CHECK((fault.covered == domain.volume()) == !expected.hole.has_value());
    }
    // Boxes are named as they are, not as they lie in the part of one rank.
    const auto is_one = [&](const model::Box& box) {
      return std::find(all.begin(), all.end(), box) != all.end();
    };
    if (fault.overlap) {
      CHECK(is_one(fault.overlap->first));
      CHECK(is_one(fault.overlap->second));
    }
  }
}
