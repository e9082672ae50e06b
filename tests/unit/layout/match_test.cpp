// SPDX-License-Identifier: BSD-3-Clause
// Who gets which boxes of powers of two; among others the numbers of boxes in Table II of S. Kumar
// et al., "Efficient data restructuring and aggregation for I/O acceleration in PIDX", SC 2012.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "layout/boxes.hpp"
#include "layout/division.hpp"

using namespace pillion;
using namespace pillion::layout;

namespace {

int64_t kept(const std::vector<Affinity>& affinities, const std::vector<int>& ranks) {
  int64_t cells = 0;
  for (const auto& affinity : affinities)
    if (ranks[static_cast<size_t>(affinity.share)] == affinity.rank) cells += affinity.cells;
  return cells;
}

struct Restructured {
  int64_t boxes = 0, receivers = 0;
  bool by_largest = true;  ///< whether every box went to a rank with the largest part of it
};

/// A mesh of 960^3 cells, evenly in blocks of this size, in boxes that follow from them.
Restructured restructured(const Index3& local, pillion_side side) {
  model::Mesh mesh;
  mesh.name = "grid";
  mesh.cells = {960, 960, 960};
  const Index3 grid{960 / local[0], 960 / local[1], 960 / local[2]};
  const auto ranks = static_cast<int>(grid[0] * grid[1] * grid[2]);
  const auto request = with_sides({.kind = Kind::PowersOfTwo, .sides = {side, side, side}},
                                  {local[0], local[1], local[2]}, mesh);
  const auto wanted = wanted_of(request, mesh, ranks);
  std::vector<Affinity> affinities;
  std::map<int32_t, int64_t> largest;
  for (int rank = 0; rank < ranks; ++rank) {
    const Index3 at{rank % grid[0], rank / grid[0] % grid[1], rank / (grid[0] * grid[1])};
    Box block;
    for (size_t d = 0; d < 3; ++d) {
      block.lo[d] = at[d] * local[d];
      block.hi[d] = block.lo[d] + local[d];
    }
    for (const auto& moves : plan_moves({block}, wanted)) {
      affinities.push_back({moves.rank, rank, moves.cells});
      largest[moves.rank] = std::max(largest[moves.rank], moves.cells);
    }
  }
  const auto owners = match(affinities, ranks);
  Restructured out;
  out.boxes = wanted.tiling.tiles();
  std::set<int> receivers;
  for (const auto& [share, cells] : largest) receivers.insert(owners[static_cast<size_t>(share)]);
  out.receivers = static_cast<int64_t>(receivers.size());
  for (const auto& affinity : affinities)
    if (owners[static_cast<size_t>(affinity.share)] == affinity.rank)
      out.by_largest = out.by_largest && affinity.cells == largest[affinity.share];
  return out;
}

void check(const Index3& local, int64_t boxes, int64_t enlarged_boxes) {
  for (const auto& [side, expected] :
       {std::pair(PILLION_SIDE_FIT_CUBE, boxes), {PILLION_SIDE_ENLARGED_CUBE, enlarged_boxes}}) {
    const auto found = restructured(local, side);
    CHECK(found.boxes == expected);
    CHECK(found.receivers == expected);
    CHECK(found.by_largest);
  }
}

}  // namespace

TEST_CASE("every share has one rank, and every rank one share") {
  std::mt19937 random(5);
  for (int n = 0; n < 50; ++n) {
    const int ranks = std::uniform_int_distribution<int>(1, 7)(random);
    std::uniform_int_distribution<int> any(0, ranks - 1);
    std::vector<Affinity> affinities;
    for (int i = 0; i < 2 * ranks; ++i)
      affinities.push_back({any(random), any(random), any(random)});
    const auto found = match(affinities, ranks);
    std::vector<int> best(static_cast<size_t>(ranks));
    std::iota(best.begin(), best.end(), 0);
    CHECK(std::is_permutation(found.begin(), found.end(), best.begin(), best.end()));
    int64_t most = 0;
    do most = std::max(most, kept(affinities, best));
    while (std::next_permutation(best.begin(), best.end()));
    CHECK(2 * kept(affinities, found) >= most);
  }
}

TEST_CASE("whoever has a share already keeps it, in whatever order") {
  const auto found = match({{2, 0, 9}, {0, 1, 9}, {1, 2, 9}, {1, 0, 8}}, 4);
  CHECK(found == std::vector<int>{1, 2, 0, 3});
}

TEST_CASE("cubes of 960^3 cells in strong scaling, and who gets them") {
  check({60, 60, 60}, 3375, 512);
  check({60, 60, 30}, 3375, 512);
  check({60, 30, 30}, 3375, 512);
  check({30, 30, 30}, 27000, 3375);
}
