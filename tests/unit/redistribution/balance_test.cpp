// SPDX-License-Identifier: BSD-3-Clause

#include <doctest/doctest.h>

#include <numeric>

#include "../layout/random_boxes.hpp"
#include "layout/tiling.hpp"
#include "redistribution/plan.hpp"

using namespace pillion;
using namespace pillion::redistribution;
using random_boxes::below;
using random_boxes::Random;

namespace {

std::vector<int> give_away(const comm::Communicator& world, const std::vector<Load>& here,
                           const model::Box& domain, int owners) {
  const Cuts cuts = balance(world, here, domain, owners);
  std::vector<int> given;
  for (const auto& load : here) given.push_back(owner_of(load.box, domain, cuts));
  return given;
}

}  // namespace

TEST_CASE("no owner gets more than its share and a box") {
  const comm::Communicator world(MPI_COMM_WORLD);
  Random random(21);
  for (int round = 0; round < 100; ++round) {
    const auto domain = random_boxes::domain(random, 40);
    const auto all = random_boxes::divide(domain, world.size(), 50, random);
    const int owners = 1 + static_cast<int>(below(random, 9));
    std::vector<Load> here;
    for (const auto& box : all[static_cast<size_t>(world.rank())])
      here.push_back({box, box.volume() * 8});
    const auto given = give_away(world, here, domain, owners);
    std::vector<int64_t> bytes(static_cast<size_t>(owners));
    for (size_t b = 0; b < here.size(); ++b) {
      REQUIRE(given[b] >= 0);
      REQUIRE(given[b] < owners);
      bytes[static_cast<size_t>(given[b])] += here[b].bytes;
    }
    world.reduce(bytes.data(), owners, comm::Operation::Sum);
    int64_t largest = 0;
    for (const auto& boxes : all)
      for (const auto& box : boxes) largest = std::max(largest, box.volume() * 8);
    const int64_t total = std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
    CHECK(total == domain.volume() * 8);
    // Boxes whose middles fall together go together; there are none in a mesh that is cut.
    for (const auto b : bytes) CHECK(b <= total / owners + largest + owners);
  }
}

TEST_CASE("equal boxes in a cube go to owners in compact groups") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const model::Box domain{{0, 0, 0}, {64, 64, 64}};
  std::vector<Load> here;
  const auto boxes = layout::Tiling::powers_of_two(domain, {3, 3, 3}, world.size());
  for (const auto& place : boxes.places_of(world.rank())) here.push_back({place.box, 512 * 8});
  const auto given = give_away(world, here, domain, 8);
  // Eight owners of 512 boxes: each gets an octant.
  for (size_t b = 0; b < here.size(); ++b) {
    int octant = 0;
    for (int d = 0; d < 3; ++d)
      octant |= (here[b].box.lo[static_cast<size_t>(d)] >= 32 ? 1 : 0) << d;
    CHECK(given[b] == octant);
  }
}
