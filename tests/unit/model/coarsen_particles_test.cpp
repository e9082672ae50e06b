// SPDX-License-Identifier: BSD-3-Clause
// Subsamples of particles: whoever has them, in whatever order and type of id, the same ones
// remain, and their values with them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "layout/assignment.hpp"
#include "model/coarsen.hpp"

using namespace pillion;
using namespace pillion::model;

namespace {

using Index = std::array<int64_t, 3>;
using Random = std::mt19937;

int64_t between(Random& random, int64_t lo, int64_t hi) {
  return std::uniform_int_distribution<int64_t>(lo, hi)(random);
}

/// Particles of one rank: ids of either type, positions with components apart or together.
struct Particles {
  MeshBlocks blocks;

  template <class Id>
  void add(const std::vector<int64_t>& ids, int64_t owned, bool together) {
    auto key = std::make_shared<std::vector<Id>>(ids.begin(), ids.end());
    auto x = std::make_shared<std::vector<float>>();
    const auto n = static_cast<int64_t>(ids.size());
    if (together)
      for (const auto id : ids)
        for (int c = 0; c < 3; ++c) x->push_back(static_cast<float>(id) + 0.25f * c);
    else
      for (int c = 0; c < 3; ++c)
        for (const auto id : ids) x->push_back(static_cast<float>(id) + 0.25f * c);
    Block block{static_cast<int32_t>(blocks.blocks.size()), {{0, 0, 0}, {n, 1, 1}}, owned, {}};
    const auto type = sizeof(Id) == 4 ? ElementType::Int32 : ElementType::Int64;
    block.arrays["id"] = {key->data(), type, 1, {1, 0, 0, 1}};
    block.arrays["x"] = {
        x->data(), ElementType::Float32, 3, {together ? 3 : 1, 0, 0, together ? 1 : n}};
    blocks.blocks.push_back(std::move(block));
    blocks.keep.push_back(key);
    blocks.keep.push_back(x);
  }
};

Mesh atoms() {
  Mesh mesh;
  mesh.name = "atoms";
  mesh.kind = MeshKind::Particles;
  return mesh;
}

int64_t id_at(const Block& block, int64_t i) {
  const auto& array = block.arrays.at("id");
  return array.type == ElementType::Int32
             ? static_cast<const int32_t*>(array.data)[i * array.strides[0]]
             : static_cast<const int64_t*>(array.data)[i * array.strides[0]];
}

/// Ids of a rank's blocks in their order, the positions being compared with them.
std::vector<int64_t> ids_of(const MeshBlocks& blocks, bool owned_only = false) {
  std::vector<int64_t> out;
  for (const auto& block : blocks.blocks) {
    const auto& x = block.arrays.at("x");
    REQUIRE(block.box.lo == Index{0, 0, 0});
    REQUIRE(block.owned <= block.box.volume());
    for (int64_t i = 0; i < (owned_only ? block.owned : block.box.volume()); ++i) {
      out.push_back(id_at(block, i));
      for (int c = 0; c < 3; ++c)
        REQUIRE(static_cast<const float*>(x.data)[i * x.strides[0] + c * x.strides[3]] ==
                static_cast<float>(out.back()) + 0.25f * static_cast<float>(c));
    }
  }
  return out;
}

/// Deals ids to ranks of several blocks each, in any order.
std::vector<Particles> deal(std::vector<int64_t> ids, int ranks, Random& random) {
  std::shuffle(ids.begin(), ids.end(), random);
  std::vector<Particles> out(static_cast<size_t>(ranks));
  for (size_t begin = 0; begin < ids.size();) {
    const auto end = std::min(ids.size(), begin + static_cast<size_t>(between(random, 0, 400)));
    const std::vector<int64_t> part(ids.begin() + static_cast<std::ptrdiff_t>(begin),
                                    ids.begin() + static_cast<std::ptrdiff_t>(end));
    auto& rank = out[static_cast<size_t>(between(random, 0, ranks - 1))];
    const auto count = static_cast<int64_t>(part.size());
    if (between(random, 0, 1) == 1) rank.add<int32_t>(part, count, true);
    else rank.add<int64_t>(part, count, false);
    begin = end;
  }
  return out;
}

std::set<int64_t> remaining(const std::vector<Particles>& ranks, int level) {
  std::set<int64_t> out;
  size_t count = 0;
  for (const auto& rank : ranks) {
    const auto ids = ids_of(coarsen(rank.blocks, atoms(), level, "id"));
    out.insert(ids.begin(), ids.end());
    count += ids.size();
  }
  CHECK(count == out.size());
  return out;
}

}  // namespace

TEST_CASE("the same particles remain whoever has them, and every level contains the next") {
  Random random(5);
  for (const int64_t stride : {1, 2, 3, 4096}) {
    std::vector<int64_t> ids;
    for (int64_t n = 1; n <= 8000; ++n) ids.push_back(n * stride);
    std::set<int64_t> before(ids.begin(), ids.end());
    for (int level = 1; level <= 4; ++level) {
      const auto alone = remaining(deal(ids, 1, random), level);
      CHECK(alone == remaining(deal(ids, 5, random), level));
      CHECK(std::includes(before.begin(), before.end(), alone.begin(), alone.end()));
      // Within five standard deviations of a random choice.
      const double share = std::pow(0.5, level);
      CHECK(std::abs(static_cast<double>(alone.size()) - 8000 * share) <
            5 * std::sqrt(8000 * share * (1 - share)));
      before = alone;
    }
  }
}

TEST_CASE("what remains is spread over all owners, also if they are a power of two") {
  Random random(6);
  std::vector<int64_t> ids(40000);
  std::iota(ids.begin(), ids.end(), 1);
  const auto left = remaining(deal(ids, 1, random), 3);
  for (const int ranks : {3, 4, 8}) {
    std::map<int, int> of;
    for (const auto id : left) ++of[layout::owner_of(id, ranks)];
    for (int rank = 0; rank < ranks; ++rank) {
      CHECK(of[rank] > 0.8 * static_cast<double>(left.size()) / ranks);
      CHECK(of[rank] < 1.2 * static_cast<double>(left.size()) / ranks);
    }
  }
}

TEST_CASE("owned particles stay ahead of copies, with and without ids") {
  std::vector<int64_t> ids(1000);
  std::iota(ids.begin(), ids.end(), 1);
  Particles rank;
  rank.add<int64_t>(ids, 620, false);
  rank.add<int64_t>({}, 0, false);
  for (const int level : {1, 3})
    for (const std::string key : {"id", "", "number", "x"}) {
      const auto coarse = coarsen(rank.blocks, atoms(), level, key);
      const auto all = ids_of(coarse), owned = ids_of(coarse, true);
      REQUIRE(coarse.blocks.size() == 2);
      CHECK(coarse.blocks[1].box.volume() == 0);
      std::vector<int64_t> expected;
      for (const auto id : all)
        if (id <= 620) expected.push_back(id);
      CHECK(owned == expected);
      CHECK(owned.size() < all.size());
    }
}

namespace {

/// Ids of what remains of particles 0, 1, 2, ... in blocks of the given sizes, by place alone.
std::vector<int64_t> remaining_by_place(const std::vector<int64_t>& sizes, int level) {
  Particles rank;
  int64_t id = 0;
  for (const int64_t size : sizes) {
    std::vector<int64_t> ids(static_cast<size_t>(size));
    std::iota(ids.begin(), ids.end(), id);
    id += size;
    rank.add<int32_t>(ids, size, level % 2 == 0);
  }
  const auto coarse = coarsen(rank.blocks, atoms(), level, "");
  CHECK(coarse.blocks.size() == sizes.size());
  CHECK(ids_of(coarse, true) == ids_of(coarse));
  return ids_of(coarse);
}

}  // namespace

TEST_CASE("without ids it is the place among the rank's that decides, however they are divided") {
  std::vector<int64_t> finer = remaining_by_place({3000}, 1);
  for (const int level : {1, 2, 5}) {
    const auto alone = remaining_by_place({3000}, level);
    CHECK(alone == remaining_by_place({7, 0, 1, 1, 1990, 0, 1001}, level));
    CHECK(std::includes(finer.begin(), finer.end(), alone.begin(), alone.end()));
    const double share = std::pow(0.5, level);
    CHECK(std::abs(static_cast<double>(alone.size()) - 3000 * share) <
          5 * std::sqrt(3000 * share * (1 - share)));
    finer = alone;
  }
}

// Particles sorted by place in space have neighbours in it as neighbours in the list: every fourth
// of them would have none at distances 1, 2 and 3, and too many at 4.
TEST_CASE("without ids no distance in the list is favoured") {
  constexpr int64_t count = 64000;
  for (const int level : {1, 2, 3}) {
    std::vector<bool> remains(count);
    for (const auto id : remaining_by_place({count}, level))
      remains[static_cast<size_t>(id)] = true;
    const double expected = count * std::pow(0.25, level);
    for (size_t distance = 1; distance <= 16; ++distance) {
      int64_t pairs = 0;
      for (size_t i = distance; i < count; ++i) pairs += remains[i] && remains[i - distance];
      CHECK(std::abs(static_cast<double>(pairs) - expected) < 6 * std::sqrt(expected));
    }
  }
}

TEST_CASE("what was gathered outlives what it was gathered from") {
  std::vector<int64_t> expected;
  const auto coarse = [&] {
    Particles rank;
    rank.add<int64_t>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 10, true);
    const auto out = coarsen(rank.blocks, atoms(), 1, "id");
    expected = ids_of(out);
    return out;
  }();
  CHECK_FALSE(expected.empty());
  CHECK(ids_of(coarse) == expected);
}

TEST_CASE("at level 0 everything remains") {
  Particles rank;
  rank.add<int64_t>({1, 2, 3}, 3, true);
  CHECK(ids_of(coarsen(rank.blocks, atoms(), 0, "id")) == std::vector<int64_t>{1, 2, 3});
}
