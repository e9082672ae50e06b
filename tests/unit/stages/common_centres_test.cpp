// SPDX-License-Identifier: BSD-3-Clause
// Centres of what is there at two times, where one of them, or both, lacks particles.
#include <doctest/doctest.h>

#include <vector>

#include "common/tracks.hpp"

using namespace pillion::stages;

namespace {

Particles make(std::vector<int64_t> key, std::vector<uint64_t> member, std::vector<double> x) {
  Particles p{std::move(key), std::move(member), {x, x, x}, {}};
  for (const auto k : p.key) p.mass.push_back(static_cast<double>(k));
  for (auto& y : p.vector[1]) y += 1000;
  return p;
}

// The mass of a particle is its key. Species 0 and 1 share particles 4 and 7; particle 6 changes
// from the one to the other.
const Particles then = make({1, 2, 4, 6, 7, 9}, {1, 2, 3, 1, 3, 2}, {10, 20, 40, 60, 70, 90});
const Particles now = make({2, 3, 4, 6, 7, 8}, {2, 1, 3, 2, 3, 1}, {21, 31, 41, 61, 71, 81});

}  // namespace

TEST_CASE("each species is compared with itself, by those that are there at both times") {
  const auto sums = weigh_common(now, snapshot_of(then, 2, Per::particle, {}));
  REQUIRE(sums.size() == 2);
  const double a = 4 + 7, b = 2 + 4 + 7;  // particles 4 and 7; particles 2, 4 and 7
  CHECK(sums[0] == WeightedTwice{a, 661, 661 + 1000 * a, 661, 650, 650 + 1000 * a, 650});
  CHECK(sums[1] == WeightedTwice{b, 703, 703 + 1000 * b, 703, 690, 690 + 1000 * b, 690});
  const auto [here, there] = centres(sums[1]);
  CHECK(here[0] - there[0] == doctest::Approx(1));
  CHECK(here[1] == doctest::Approx(703.0 / 13 + 1000));
}

TEST_CASE("of all species together each particle is taken once, whatever its species was") {
  const auto tracks = snapshot_of(then, 2, Per::particle, {}, true);
  REQUIRE(tracks.size() == 3);
  const auto sum = weigh_all(now, tracks.back());
  CHECK(sum[0] == 2 + 4 + 6 + 7);
  CHECK(sum[1] == 2 * 21 + 4 * 41 + 6 * 61 + 7 * 71);
  CHECK(sum[4] == 2 * 20 + 4 * 40 + 6 * 60 + 7 * 70);
}

TEST_CASE("molecules of several species have the centre of all their particles") {
  // Two molecules of an atom of species 0, which species 1 contains, and one of species 1 alone.
  Particles at{{5, 5, 8, 8}, {3, 2, 3, 2}, {}, {3, 1, 3, 1}};
  at.vector = {{{10, 14, 20, 24}, {0, 0, 0, 0}, {0, 0, 0, 0}}};
  auto later = at;
  for (double& x : later.vector[0]) x += 2;
  const auto sum = weigh_all(later, snapshot_of(at, 2, Per::molecule, {}, true).back());
  const auto [here, there] = centres(sum);
  CHECK(sum[0] == 8);
  CHECK(here[0] - there[0] == doctest::Approx(2));
}

TEST_CASE("nothing in common has its centre at zero") {
  const auto sums = weigh_common(make({5}, {1}, {3}), snapshot_of(then, 1, Per::particle, {}));
  CHECK(centres(sums[0]) == std::pair{Centre{}, Centre{}});
}
