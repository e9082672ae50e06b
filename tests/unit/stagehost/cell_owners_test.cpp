// SPDX-License-Identifier: BSD-3-Clause
#include "stagehost/cell_owners.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace pillion;
using stagehost::SpaceDivision;

TEST_CASE("every rank has a part of the box, of the same size") {
  for (const int ranks : {1, 2, 3, 4, 6, 12}) {
    const SpaceDivision division({-1, 0, 2}, {3, 2, 3}, ranks);
    std::vector<int> places(static_cast<size_t>(ranks));
    for (int i = 0; i < 48; ++i)
      for (int j = 0; j < 24; ++j)
        for (int k = 0; k < 12; ++k)
          ++places.at(static_cast<size_t>(
              division.rank_of({-1 + (i + 0.5) / 12, (j + 0.5) / 12, 2 + (k + 0.5) / 12})));
    for (const int count : places) CHECK(count == 48 * 24 * 12 / ranks);
  }
}

TEST_CASE("ends of the box are in it, and axes without extent are not divided") {
  const SpaceDivision plane({0, 0, 5}, {8, 2, 5}, 4);
  CHECK(plane.parts() == std::array{4, 1, 1});
  CHECK(plane.rank_of({0, 0, 5}) == 0);
  CHECK(plane.rank_of({4, 2, 5}) == 2);
  CHECK(plane.rank_of({8, 2, 5}) == 3);
  const SpaceDivision point({1, 1, 1}, {1, 1, 1}, 3);
  CHECK(point.rank_of({1, 1, 1}) == 0);
}

TEST_CASE("keys of cells are an integer field of any layout in memory") {
  const std::vector<int64_t> pairs{7, -1, -8, -1, int64_t{1} << 40, -1};  // every second is a key
  const std::vector<int32_t> alone{3, 3};
  std::vector<model::Block> blocks(2);
  blocks[0].box.hi[0] = 3;
  blocks[0].arrays["region"] = {
      .data = pairs.data(), .type = model::ElementType::Int64, .strides = {2, 6, 6, 1}};
  blocks[1].box.hi[0] = 2;
  blocks[1].arrays["region"] = {
      .data = alone.data(), .type = model::ElementType::Int32, .strides = {1, 2, 2, 1}};
  model::Mesh mesh;
  mesh.name = "box";
  const auto keys = stagehost::keys_from_field(blocks, mesh, "region");
  CHECK(keys == stagehost::CellKeys{{7, -8, int64_t{1} << 40}, {3, 3}});
  CHECK_THROWS_WITH_AS(
      (void)stagehost::keys_from_field(blocks, mesh, "zone"),
      "block 0 of mesh 'box' came without field 'zone', the key of its cells; share "
      "the field in every block",
      Error);
}

TEST_CASE("ids are keys where all cells have them") {
  const std::vector<uint8_t> types(2, 10);
  const std::vector<int64_t> ids{9, 4};
  std::vector<model::Block> blocks(2);
  model::Mesh mesh;
  mesh.name = "box";
  std::vector<model::Topology> topologies(2);
  topologies[0].types = types;
  topologies[0].ids = ids;
  CHECK(stagehost::keys_from_ids(blocks, mesh, topologies) == stagehost::CellKeys{{9, 4}, {}});
  topologies[0].ids = {};
  CHECK_THROWS_WITH_AS(
      (void)stagehost::keys_from_ids(blocks, mesh, topologies),
      "the 2 cells of block 0 of mesh 'box' came without ids, which are their keys "
      "where a stage names no field; share ids with the cells, or name a field",
      Error);
}

TEST_CASE("cells of one key have one owner, and all ranks have cells") {
  const auto owners = stagehost::owners_by_key({{5, 6, 5}, {5}}, 4);
  CHECK(owners[0][0] == owners[0][2]);
  CHECK(owners[0][0] == owners[1][0]);
  std::vector<int64_t> many(100);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int64_t>(i) * 1000;
  const auto of_many = stagehost::owners_by_key({many}, 4)[0];
  CHECK(std::set<int>(of_many.begin(), of_many.end()) == std::set<int>{0, 1, 2, 3});
}
