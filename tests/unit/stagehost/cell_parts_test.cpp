// SPDX-License-Identifier: BSD-3-Clause
#include "stagehost/cell_parts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

TEST_CASE("a part of cells has the points and faces that they use") {
  // A tetrahedron, a triangle, and a tetrahedron as a polyhedron, on five points of seven.
  const std::vector<uint8_t> types{10, 5, 42}, flags{0, 1, 0};
  const std::vector<int64_t> offsets{0, 4, 7, 11}, points{0, 1, 2, 3, 1, 2, 4, 6, 4, 3, 2};
  const std::vector<int64_t> face_offsets{0, 3, 6, 9, 12},
      face_points{6, 4, 3, 6, 4, 2, 6, 3, 2, 4, 3, 2}, of{0, 0, 0, 4}, faces{0, 1, 2, 3};
  const std::vector<int64_t> ids{70, 71, 72}, parents{7, 8, 9};
  const std::vector<int32_t> patches{2, 0, 1};
  pillion_cells cells{};
  cells.size = sizeof cells;
  cells.count = 3;
  cells.types = types.data();
  cells.index_type = PILLION_INT64;
  cells.offsets = offsets.data();
  cells.points = points.data();
  cells.face_count = 4;
  cells.face_offsets = face_offsets.data();
  cells.face_points = face_points.data();
  cells.polyhedron_offsets = of.data();
  cells.polyhedron_faces = faces.data();
  cells.flags = flags.data();
  cells.ids = ids.data();
  cells.parents = parents.data();
  cells.patches = patches.data();
  const auto bytes = pillion::model::to_bytes(cells, {});
  const auto whole = pillion::model::read_topology(bytes);

  std::vector<int64_t> used;
  const auto some = pillion::stagehost::subset_of(whole, {2, 1}, used);
  const auto part = pillion::model::read_topology(some);
  CHECK(used == std::vector<int64_t>{6, 4, 3, 2, 1});
  CHECK(std::ranges::equal(part.types, std::vector<uint8_t>{42, 5}));
  CHECK(std::ranges::equal(part.offsets, std::vector<int64_t>{0, 4, 7}));
  CHECK(std::ranges::equal(part.points, std::vector<int64_t>{0, 1, 2, 3, 4, 3, 1}));
  CHECK(std::ranges::equal(part.face_points,
                           std::vector<int64_t>{0, 1, 2, 0, 1, 3, 0, 2, 3, 1, 2, 3}));
  CHECK(std::ranges::equal(part.ids, std::vector<int64_t>{72, 71}));
  CHECK(std::ranges::equal(part.flags, std::vector<uint8_t>{0, 1}));
  CHECK(std::ranges::equal(part.parents, std::vector<int64_t>{9, 8}));
  CHECK(std::ranges::equal(part.patches, std::vector<int32_t>{1, 0}));
  CHECK(part.owned == 1);
  CHECK(pillion::model::fault_of(part, 5, 3, 3).empty());

  used.clear();
  const auto triangle = pillion::stagehost::subset_of(whole, {1}, used);
  CHECK(pillion::model::read_topology(triangle).faces() == 0);
  CHECK(used == std::vector<int64_t>{1, 2, 4});
}
