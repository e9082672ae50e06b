// SPDX-License-Identifier: BSD-3-Clause

#include "redistribution/balance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "../collectives.hpp"
#include "../layout/random_boxes.hpp"
#include "layout/tiling.hpp"

using namespace pillion;
using namespace pillion::redistribution;
using random_boxes::below;
using random_boxes::Random;

namespace {

std::vector<int> give_away(const comm::Communicator& world, const std::vector<Load>& here,
                           const model::Box& domain, int owners) {
  const Cuts cuts = balance(world, here, domain, owners);
  std::vector<int> given;
  for (const auto& load : here) given.push_back(owner_of(key_of(load.box, domain), cuts));
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

namespace {

/// All loads by their places on the curve, on one rank that knows all.
class Curve {
 public:
  Curve(const std::vector<Load>& all, const model::Box& domain) {
    for (const auto& load : all) keys_.emplace_back(key_of(load.box, domain), load.bytes);
  }
  [[nodiscard]] int64_t bytes_before(uint64_t cut) const {
    int64_t bytes = 0;
    for (const auto& [key, of_load] : keys_) bytes += key < cut ? of_load : 0;
    return bytes;
  }

 private:
  std::vector<std::pair<uint64_t, int64_t>> keys_;
};

}  // namespace

TEST_CASE("each cut is the last place before which an owner has no more than its share") {
  const comm::Communicator world(MPI_COMM_WORLD);
  Random random(22);
  for (int round = 0; round < 60; ++round) {
    const auto domain = random_boxes::domain(random, round % 3 == 0 ? 4 : 200);
    const auto divided = random_boxes::divide(domain, world.size(), 80, random);
    const int owners = 1 + static_cast<int>(below(random, 40));
    std::vector<Load> here, all;
    for (size_t r = 0; r < divided.size(); ++r)
      for (const auto& box : divided[r]) {
        // Some weigh nothing, some much more than others, and some lie twice in the same place.
        const int64_t bytes = below(random, 4) == 0 ? 0 : below(random, 50) * below(random, 50);
        for (int64_t times = 1 + below(random, 8) / 7; times > 0; --times) {
          all.push_back({box, bytes});
          if (static_cast<int>(r) == world.rank()) here.push_back(all.back());
        }
      }
    collectives::count = 0;
    const Cuts cuts = balance(world, here, domain, owners);
    CHECK(collectives::count <= 10);  // one for each bit of a key would be 63
    REQUIRE(cuts.size() == static_cast<size_t>(owners) - 1);
    int64_t total = 0;
    for (const auto& load : all) total += load.bytes;
    if (total == 0) continue;
    const Curve curve(all, domain);
    for (size_t c = 0; c < cuts.size(); ++c) {
      const int64_t goal = total * static_cast<int64_t>(c + 1) / owners;
      CHECK(curve.bytes_before(cuts[c]) <= goal);
      CHECK(curve.bytes_before(cuts[c] + 1) > goal);
    }
  }
}

TEST_CASE("equal boxes in a cube go to owners in compact groups") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const model::Box domain{{0, 0, 0}, {64, 64, 64}};
  std::vector<Load> here;
  const auto boxes = layout::Tiling::powers_of_two(domain, {3, 3, 3}, world.size());
  for (const auto& place : boxes.places_of(world.rank())) here.push_back({place.box, 512 * 8});
  collectives::count = 0;
  const auto given = give_away(world, here, domain, 8);
  CHECK(collectives::count <= 4);
  // Eight owners of 512 boxes: each gets an octant.
  for (size_t b = 0; b < here.size(); ++b) {
    int octant = 0;
    for (int d = 0; d < 3; ++d)
      octant |= (here[b].box.lo[static_cast<size_t>(d)] >= 32 ? 1 : 0) << d;
    CHECK(given[b] == octant);
  }
}

TEST_CASE("a sender knows the owners of its own boxes, and an owner of any other, by a few cuts") {
  Random random(23);
  constexpr uint64_t end = uint64_t{1} << 63;
  const auto some_key = [&](uint64_t from, uint64_t to) {
    return from + static_cast<uint64_t>(below(random, static_cast<int64_t>(to - from)));
  };
  for (int round = 0; round < 200; ++round) {
    const int owners = 1 + static_cast<int>(below(random, 1000));
    Cuts cuts;
    for (int c = 1; c < owners; ++c)  // some owners have no piece
      cuts.push_back(below(random, 5) == 0 && !cuts.empty() ? cuts.back() : some_key(0, end));
    std::sort(cuts.begin(), cuts.end());
    std::vector<uint64_t> keys;
    const uint64_t begin = some_key(0, end / 2);
    for (int64_t k = below(random, 20); k > 0; --k)
      keys.push_back(some_key(begin, begin + end / 8));
    if (!cuts.empty() && round % 3 == 0) keys.push_back(cuts[cuts.size() / 2]);
    std::set<int> own;
    for (const auto key : keys) own.insert(owner_of(key, cuts));
    const auto known = cuts_around(keys, cuts);
    CHECK(known.size() <= 2 * own.size());
    for (const auto key : keys) CHECK(owner_of(key, known, owners) == owner_of(key, cuts));
    int last = 0;
    for (uint64_t key = 0; key < end; key += end / 997) {
      const int owner = owner_of(key, known, owners);
      CHECK(owner >= last);
      CHECK(owner < owners);
      last = owner;
    }
    CHECK(owner_of(end - 1, known, owners) < owners);
    CHECK(owner_of(end - 1, known, owners) >= last);
  }
}

TEST_CASE("boxes between the cuts that a sender knows go to all owners alike") {
  const KnownCuts known{{2, 1000}, {12, 2000}};
  std::vector<int> boxes(20);
  for (uint64_t key = 1000; key < 2000; ++key)
    ++boxes[static_cast<size_t>(owner_of(key, known, 20))];
  for (size_t owner = 2; owner < 12; ++owner) CHECK(boxes[owner] == 100);
}
