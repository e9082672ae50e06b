// SPDX-License-Identifier: BSD-3-Clause
// Hierarchies of meshes, each level refined by 2 where boxes of the level below are, and nested in
// them: one redistribution for each level, to other boxes with ghost cells.
#include <doctest/doctest.h>

#include "exchanging.hpp"

using namespace pillion;
using namespace pillion::redistribution;
using layout::Box;
using random_boxes::below;
using random_boxes::Cell;
using random_boxes::Random;
using random_boxes::wrapped;

namespace {

struct Level {
  Box domain;
  std::vector<Box> patches;  ///< without overlap
};

/// A part of a box that keeps away from its sides; empty if there is none.
Box part_inside(const Box& box, Random& random) {
  Box out = box;
  for (int d = 0; d < 3; ++d) {
    const auto i = static_cast<size_t>(d);
    const int64_t room = box.extent(d) - 2;
    if (room < 1) return {{0, 0, 0}, {0, 0, 0}};
    out.lo[i] += 1 + below(random, room);
    out.hi[i] = out.lo[i] + 1 + below(random, box.hi[i] - 1 - out.lo[i]);
  }
  return out;
}

Box refined(Box box) {
  for (size_t d = 0; d < 3; ++d) box.lo[d] *= 2, box.hi[d] *= 2;
  return box;
}

std::vector<Level> some_hierarchy(Random& random) {
  const Box domain = random_boxes::domain(random, 12);
  std::vector<Level> levels{{domain, {domain}}};
  for (int l = 1; l < 4; ++l) {
    Level level{refined(levels.back().domain), {}};
    for (const auto& patch : levels.back().patches) {
      // Patches of one level may touch.
      std::vector<Box> parts;
      random_boxes::cut(patch, random, 3, parts);
      for (const auto& part : parts)
        if (const Box fine = part_inside(part, random); fine.volume() > 0)
          level.patches.push_back(refined(fine));
    }
    levels.push_back(std::move(level));
  }
  return levels;
}

/// A level's boxes, on some of the ranks.
std::vector<std::vector<Box>> deal(const Level& level, int ranks, Random& random) {
  std::vector<std::vector<Box>> boxes(static_cast<size_t>(ranks));
  const int64_t first = below(random, ranks), busy = 1 + below(random, ranks);
  for (const auto& patch : level.patches) {
    std::vector<Box> parts;
    random_boxes::cut(patch, random, 6, parts);
    for (const auto& part : parts)
      boxes[static_cast<size_t>((first + below(random, busy)) % ranks)].push_back(part);
  }
  return boxes;
}

bool holds(const Box& box, const Cell& cell) {
  for (size_t d = 0; d < 3; ++d)
    if (cell[d] < box.lo[d] || cell[d] >= box.hi[d]) return false;
  return true;
}

}  // namespace

TEST_CASE("each level of a hierarchy goes to other boxes, and what no patch has goes nowhere") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const exchanging::Ways ways(world);
  const auto me = static_cast<size_t>(world.rank());
  Random random(17);
  int empty = 0, fine = 0;
  for (int round = 0; round < 25; ++round) {
    const std::array<bool, 3> periodic{random() % 2 == 0, random() % 2 == 0, random() % 2 == 0};
    for (const auto& level : some_hierarchy(random)) {
      const auto here = deal(level, world.size(), random);
      const auto there = deal(level, world.size(), random);
      WantedBoxes wanted{there[me], level.domain, periodic};
      for (auto& box : wanted.boxes)
        for (size_t d = 0; d < 3; ++d) box.lo[d] -= 2, box.hi[d] += 2;
      const auto origin = [&](Cell cell) -> std::optional<Cell> {
        const Cell image = wrapped(cell, level.domain);
        for (size_t d = 0; d < 3; ++d)
          if (periodic[d]) cell[d] = image[d];
        for (const auto& patch : level.patches)
          if (holds(patch, cell)) return cell;
        return {};
      };
      Redistribution plan(world, here[me], wanted, ways.of(round));
      exchanging::check(world, plan, origin, random);
      empty += here[me].empty() ? 1 : 0;
      fine += level.domain.lo != Cell{} && !level.patches.empty() ? 1 : 0;
    }
  }
  CHECK(empty > 5);
  CHECK(fine > 20);
}
