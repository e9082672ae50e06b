// SPDX-License-Identifier: BSD-3-Clause
// Every cell that is wanted must come from exactly one cell that is there, and be that cell; what
// is wanted is found here cell by cell.
#include <doctest/doctest.h>

#include <map>

#include "layout/division.hpp"
#include "random_boxes.hpp"

using namespace pillion::layout;
using random_boxes::below;
using random_boxes::each_cell;
using random_boxes::Random;
using random_boxes::wrapped;

namespace {

Wanted some_wanted(const Box& domain, int ranks, Random& random) {
  const int axis = static_cast<int>(below(random, 3));
  const auto side = [&] { return static_cast<int>(below(random, 4)); };
  Tiling tiling = Tiling::blocks(domain, 3, ranks);
  switch (below(random, 4)) {
    case 1: tiling = Tiling::slabs(domain, axis, ranks); break;
    case 2: tiling = Tiling::pencils(domain, 3, axis, ranks); break;
    case 3: tiling = Tiling::powers_of_two(domain, {side(), side(), side()}, ranks); break;
    default: break;
  }
  Wanted wanted{tiling, {0, 0, 0}, {false, false, false}};
  for (size_t d = 0; d < 3; ++d) {
    if (below(random, 2) == 0) wanted.ghosts[d] = below(random, 4);
    wanted.periodic[d] = below(random, 2) == 0;
  }
  return wanted;
}

/// Which cell of the domain arrives at each cell of each box: by rank, number and cell.
using Arrived = std::map<std::tuple<int, int32_t, Index3>, std::vector<Index3>>;

Arrived play(const std::vector<std::vector<Box>>& here, const Wanted& wanted) {
  Arrived arrived;
  for (const auto& boxes : here) {
    int last = -1;
    for (const auto& to : plan_moves(boxes, wanted)) {
      CHECK(to.rank > last);
      last = to.rank;
      int64_t cells = 0;
      for (const auto& move : to.moves) {
        const Box& from = boxes[static_cast<size_t>(move.from)];
        each_cell(move.region, [&](const Index3& cell) {
          ++cells;
          Index3 source{};
          bool inside = true;
          for (size_t d = 0; d < 3; ++d) {
            source[d] = cell[d] - move.shift[d];
            inside = inside && source[d] >= from.lo[d] && source[d] < from.hi[d];
          }
          CHECK(inside);
          arrived[{to.rank, move.to, cell}].push_back(source);
        });
      }
      CHECK(cells == to.cells);
    }
  }
  return arrived;
}

}  // namespace

TEST_CASE("each wanted cell arrives once, from the cell that it is") {
  Random random(1);
  for (int round = 0; round < 400; ++round) {
    const Box domain = random_boxes::domain(random, round % 40 == 0 ? 1 : 9);
    const int ranks = 1 + static_cast<int>(below(random, 6));
    const auto here = random_boxes::divide(domain, 1 + static_cast<int>(below(random, 5)),
                                           round % 10 == 0 ? 1000 : 6, random);
    const auto wanted = some_wanted(domain, ranks, random);
    auto arrived = play(here, wanted);
    size_t expected = 0;
    for (int rank = 0; rank < ranks; ++rank)
      for (const auto& place : wanted.tiling.places_of(rank)) {
        REQUIRE(place.rank == rank);
        each_cell(wanted.grown(place.box), [&](const Index3& cell) {
          ++expected;
          const auto at = arrived.find({rank, place.number, cell});
          REQUIRE(at != arrived.end());
          REQUIRE(at->second.size() == 1);
          REQUIRE(at->second[0] == wrapped(cell, domain));
        });
      }
    CHECK(arrived.size() == expected);
  }
}

TEST_CASE("tiles cover the domain, each cell once, balanced to one tile") {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    const Box domain = random_boxes::domain(random, 12);
    const int ranks = 1 + static_cast<int>(below(random, 9));
    const auto tiling = some_wanted(domain, ranks, random).tiling;
    std::map<Index3, int> seen;
    size_t fewest = SIZE_MAX, most = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto places = tiling.places_of(rank);
      fewest = std::min(fewest, places.size()), most = std::max(most, places.size());
      for (size_t p = 0; p < places.size(); ++p) {
        CHECK(places[p].number == static_cast<int32_t>(p));
        each_cell(places[p].box, [&](const Index3& cell) { ++seen[cell]; });
      }
    }
    CHECK(most <= fewest + 1);
    CHECK(static_cast<int64_t>(seen.size()) == domain.volume());
    for (const auto& [cell, times] : seen) CHECK(times == 1);
  }
}

TEST_CASE("slabs and pencils are whole along the axes that are not cut") {
  const Box domain{{0, 0, 0}, {12, 10, 8}};
  for (int axis = 0; axis < 3; ++axis)
    for (int rank = 0; rank < 4; ++rank) {
      const auto slab = Tiling::slabs(domain, axis, 4).places_of(rank).front().box;
      const auto pencil = Tiling::pencils(domain, 3, axis, 4).places_of(rank).front().box;
      for (int d = 0; d < 3; ++d) {
        CHECK((slab.extent(d) == domain.extent(d)) == (d != axis));
        CHECK((pencil.extent(d) == domain.extent(d)) == (d == axis));
      }
    }
}
