// SPDX-License-Identifier: BSD-3-Clause
// Against one rank that knows all boxes, and against looking at every cell.
#include "redistribution/coverage.hpp"

#include <doctest/doctest.h>

#include <map>

#include "../layout/random_boxes.hpp"
#include "base/error.hpp"
#include "layout/boxes.hpp"
#include "layout/coverage.hpp"

using namespace pillion;
using random_boxes::below;
using random_boxes::Cell;
using random_boxes::Random;
using redistribution::MeshBox;

namespace {

/// The boxes of all ranks, by rank.
using Hierarchy = std::vector<std::vector<MeshBox>>;

model::Mesh some_mesh(Random& random, int levels, int64_t longest) {
  model::Mesh mesh{.name = "mesh", .units = {}};
  for (auto& cells : mesh.cells) cells = 1 + below(random, longest);
  for (int level = 1; level < levels; ++level)
    mesh.ratios.push_back({1 + below(random, 3), 1 + below(random, 2), 1 + below(random, 2)});
  return mesh;
}

MeshBox numbered(int32_t level, const model::Box& box, const Hierarchy& all) {
  int32_t number = 0;
  for (const auto& boxes : all) number += static_cast<int32_t>(boxes.size());
  return {level, number, box};
}

/// Level 0 is divided at random; some parts of each level are refined, and given to any rank.
Hierarchy some_hierarchy(const model::Mesh& mesh, int ranks, Random& random) {
  Hierarchy all(static_cast<size_t>(ranks));
  std::vector<model::Box> of_level;
  for (const auto& boxes : random_boxes::divide({{0, 0, 0}, mesh.cells}, ranks, 30, random))
    of_level.insert(of_level.end(), boxes.begin(), boxes.end());
  for (int level = 0; level < mesh.levels(); ++level) {
    std::vector<model::Box> finer;
    for (const auto& box : of_level) {
      all[static_cast<size_t>(below(random, ranks))].push_back(numbered(level, box, all));
      if (level + 1 == mesh.levels()) continue;
      std::vector<model::Box> parts;
      random_boxes::cut(box, random, 4, parts);
      for (auto part : parts) {
        if (below(random, 2) == 0) continue;
        for (size_t d = 0; d < 3; ++d) {
          part.lo[d] *= mesh.ratios[static_cast<size_t>(level)][d];
          part.hi[d] *= mesh.ratios[static_cast<size_t>(level)][d];
        }
        finer.push_back(part);
      }
    }
    of_level = std::move(finer);
  }
  return all;
}

/// Cells of each box of a rank that a box of the next level lies on: each cell looked at.
std::vector<int> covered_cells(const Hierarchy& all, const std::vector<MeshBox>& here,
                               const model::Mesh& mesh) {
  std::vector<std::map<Cell, bool>> refined(static_cast<size_t>(mesh.levels()));
  for (const auto& boxes : all)
    for (const auto& [level, number, box, sharer] : boxes)
      if (level > 0)
        random_boxes::each_cell(box, [&](Cell cell) {
          for (size_t d = 0; d < 3; ++d) cell[d] /= mesh.ratios[static_cast<size_t>(level - 1)][d];
          refined[static_cast<size_t>(level - 1)][cell] = true;
        });
  std::vector<int> out;
  for (const auto& [level, number, box, sharer] : here)
    random_boxes::each_cell(box, [&, &cells = refined[static_cast<size_t>(level)]](Cell cell) {
      out.push_back(cells.contains(cell) ? 1 : 0);
    });
  return out;
}

std::vector<int> found_cells(const std::vector<redistribution::CoveredPart>& parts,
                             const std::vector<MeshBox>& here) {
  std::vector<int> out;
  for (size_t b = 0; b < here.size(); ++b)
    random_boxes::each_cell(here[b].box, [&](const Cell& cell) {
      int times = 0;
      for (const auto& [of, cells] : parts) {
        const model::Box one{cell, {cell[0] + 1, cell[1] + 1, cell[2] + 1}};
        times += of == b && !layout::is_empty(layout::common(cells, one)) ? 1 : 0;
      }
      out.push_back(times);
    });
  return out;
}

/// What is wrong with the boxes; the same on every rank.
std::string fault_of(const comm::Communicator& world, const Hierarchy& all,
                     const model::Mesh& mesh) {
  try {
    (void)redistribution::find_covered(world, all[static_cast<size_t>(world.rank())], mesh, "d");
    return {};
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::Sharing);
    return e.what();
  }
}

bool same_everywhere(const comm::Communicator& world, const std::string& text) {
  std::string first = text;
  world.broadcast(first, 0);
  return world.reduced(first == text ? 0 : 1, comm::Operation::Max) == 0;
}

}  // namespace

TEST_CASE("ranks find together what one that knows all boxes finds") {
  const comm::Communicator world(MPI_COMM_WORLD);
  Random random(41);
  for (int round = 0; round < 120; ++round) {
    const auto mesh = some_mesh(random, 1, 20);
    const model::Box domain{{0, 0, 0}, mesh.cells};
    auto divided = random_boxes::divide(domain, world.size(), 60, random);
    auto& some = divided[static_cast<size_t>(below(random, world.size()))];
    const auto kind = below(random, 4);
    if (kind == 1 && !some.empty()) some.pop_back();
    if (kind == 2 && !some.empty()) divided.front().push_back(some.back());
    if (kind == 3 && some.size() > 1) some.front() = some.back();
    std::vector<model::Box> all;
    for (const auto& boxes : divided) all.insert(all.end(), boxes.begin(), boxes.end());
    const auto expected = layout::find_coverage_fault(all, domain);
    Hierarchy sent(divided.size());
    for (size_t r = 0; r < divided.size(); ++r)
      for (const auto& box : divided[r]) sent[r].push_back(numbered(0, box, sent));
    const auto fault = fault_of(world, sent, mesh);
    CHECK(same_everywhere(world, fault));
    CHECK((fault.find("overlap") != std::string::npos) == expected.overlap.has_value());
    CHECK((fault.find("is in none of them") != std::string::npos) == expected.hole.has_value());
    auto partial = mesh;
    partial.is_partial = true;
    CHECK(fault_of(world, sent, partial).empty() == !expected.overlap.has_value());
  }
}

TEST_CASE("faults of boxes that other ranks have shared name these ranks") {
  const comm::Communicator world(MPI_COMM_WORLD);
  model::Mesh mesh{.name = "mesh", .units = {}};
  mesh.cells = {8, 1, 1};
  mesh.axes = 1;
  Hierarchy sent(static_cast<size_t>(world.size()));
  // As in a sidecar that serves simulation ranks 4 and 7: block 0 of each.
  sent[0] = {{0, 0, {{0, 0, 0}, {5, 1, 1}}, redistribution::sharer_of(model::block_id(4, 0))},
             {0, 0, {{3, 0, 0}, {8, 1, 1}}, redistribution::sharer_of(model::block_id(7, 0, 2))}};
  const auto fault = fault_of(world, sent, mesh);
  CHECK_MESSAGE(fault.find("(block 0 of rank 4)") != std::string::npos, fault);
  CHECK_MESSAGE(fault.find("(block 0 of rank 7)") != std::string::npos, fault);
}

TEST_CASE("covered cells are the ones that a look at each cell finds") {
  const comm::Communicator world(MPI_COMM_WORLD);
  Random random(43);
  for (int round = 0; round < 40; ++round) {
    const auto mesh = some_mesh(random, 1 + static_cast<int>(below(random, 3)), 8);
    const auto all = some_hierarchy(mesh, world.size(), random);
    const auto& here = all[static_cast<size_t>(world.rank())];
    const auto parts = redistribution::find_covered(world, here, mesh, "density");
    CHECK(found_cells(parts, here) == covered_cells(all, here, mesh));
  }
}

TEST_CASE("boxes of finer levels lie apart, and within boxes of the level before") {
  const comm::Communicator world(MPI_COMM_WORLD);
  model::Mesh mesh{.name = "mesh", .units = {}, .cells = {8, 8, 1}};
  mesh.ratios = {{2, 2, 1}, {2, 2, 1}};
  const auto last = static_cast<size_t>(world.size() - 1);
  Hierarchy good(static_cast<size_t>(world.size()));
  good[0] = {{0, 3, {{0, 0, 0}, {8, 8, 1}}}};
  good[last].push_back({1, 4, {{4, 4, 0}, {12, 12, 1}}});
  good[0].push_back({2, 5, {{8, 8, 0}, {24, 16, 1}}});
  CHECK(fault_of(world, good, mesh).empty());

  auto overlapping = good;
  overlapping[last].push_back({1, 6, {{10, 10, 0}, {16, 16, 1}}});
  const auto overlap = fault_of(world, overlapping, mesh);
  CHECK(same_everywhere(world, overlap));
  CHECK(overlap.find("on level 1") != std::string::npos);
  CHECK(overlap.find(fmt::format("(block 6 of rank {})", last)) != std::string::npos);

  auto outside = good;
  outside[last].push_back({2, 7, {{24, 8, 0}, {26, 12, 1}}});
  const auto orphan = fault_of(world, outside, mesh);
  CHECK(same_everywhere(world, orphan));
  CHECK(orphan.find("on level 2 has cells outside the boxes of level 1") != std::string::npos);
  CHECK(orphan.find(fmt::format("(block 7 of rank {})", last)) != std::string::npos);
}
