// SPDX-License-Identifier: BSD-3-Clause
// Particles become tracks of species: by particle or by molecule, shared where keys stay, matched
// where they do not.
#include "common/tracks.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace pillion::stages;

namespace {

/// Sums of x now and of x then, which tells what was matched with what.
Moment both_x(const Vectors& now, const Vectors& then, const Centre&, const Centre&) {
  Moment out{static_cast<int64_t>(now[0].size()), {}};
  for (size_t i = 0; i < now[0].size(); ++i) {
    out.sum[0] += now[0][i];
    out.sum[1] += then[0][i];
    out.sum[2] += now[0][i] * then[0][i];
  }
  return out;
}

Particles make(std::vector<int64_t> key, std::vector<uint64_t> member, std::vector<double> x,
               std::vector<double> mass = {}) {
  Particles p{std::move(key), std::move(member), {x, x, x}, std::move(mass)};
  return p;
}

}  // namespace

TEST_CASE("each species has the particles that belong to it") {
  const auto p = make({1, 2, 5, 9}, {1, 2, 3, 0}, {10, 20, 50, 90});
  const auto s = snapshot_of(p, 2, Per::particle, {});
  CHECK(*s[0].keys == std::vector<int64_t>{1, 5});
  CHECK((*s[0].vectors)[1] == std::vector<double>{10, 50});
  CHECK(*s[1].keys == std::vector<int64_t>{2, 5});
}

TEST_CASE("molecules are at the centres of mass of their particles of the species") {
  // Molecule 0 is none; of molecule 3 one particle is of the other species.
  const auto p =
      make({0, 2, 2, 3, 3, 4}, {1, 1, 1, 1, 2, 2}, {7, 1, 4, 5, 100, 6}, {1, 2, 1, 3, 9, 1});
  const auto s = snapshot_of(p, 2, Per::molecule, {});
  CHECK(*s[0].keys == std::vector<int64_t>{2, 3});
  CHECK((*s[0].vectors)[0] == std::vector<double>{2, 5});
  CHECK(*s[1].keys == std::vector<int64_t>{3, 4});
  CHECK((*s[1].vectors)[2] == std::vector<double>{100, 6});
}

TEST_CASE("keys that stay are shared, with the snapshot before and with origins") {
  const auto before = snapshot_of(make({1, 2}, {1, 1}, {1, 2}), 1, Per::particle, {});
  const auto after = snapshot_of(make({1, 2}, {1, 1}, {3, 4}), 1, Per::particle, before);
  CHECK(before[0].keys == after[0].keys);
  // As after a restart: equal keys that are not the same ones.
  auto origin = snapshot_of(make({1, 2}, {1, 1}, {1, 2}), 1, Per::particle, {})[0];
  CHECK(origin.keys != after[0].keys);
  const auto m = sample(&both_x, after[0], origin, {}, {});
  CHECK(origin.keys == after[0].keys);
  CHECK(m.samples == 2);
  CHECK(m.sum[2] == 1 * 3 + 2 * 4);
}

TEST_CASE("where particles came and went, those of both times are matched by key") {
  const auto now =
      snapshot_of(make({2, 3, 5, 8}, {1, 1, 1, 1}, {2, 3, 5, 8}), 1, Per::particle, {});
  auto then = snapshot_of(make({1, 3, 4, 8, 9}, {1, 1, 1, 1, 1}, {10, 30, 40, 80, 90}), 1,
                          Per::particle, {});
  const auto m = sample(&both_x, now[0], then[0], {}, {});
  CHECK(m.samples == 2);
  CHECK(m.sum[0] == 3 + 8);
  CHECK(m.sum[1] == 30 + 80);
  CHECK(m.sum[2] == 3 * 30 + 8 * 80);
  auto none = snapshot_of(make({}, {}, {}), 1, Per::particle, {});
  CHECK(sample(&both_x, now[0], none[0], {}, {}).samples == 0);
}

TEST_CASE("what makes no sense is found") {
  CHECK(duplicates({}) == 0);
  CHECK(duplicates({1, 2, 2, 2, 5}) == 2);
  CHECK(not_positive({1, 0, -1, 2}) == 2);
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  CHECK(not_finite({{{0, nan, 0, 1}, {0, 0, 0, 1}, {0, nan, -inf, 1}}}) == 2);
}

TEST_CASE("a centre without mass is the origin") {
  CHECK(centre({0, 0, 0, 0}) == Centre{0, 0, 0});
  CHECK(centre({4, 8, 2, 0}) == Centre{2, 0.5, 0});
}
