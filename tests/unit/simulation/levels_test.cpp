// SPDX-License-Identifier: BSD-3-Clause
// Sharing boxes of levels, blocks that Pillion numbers, and fields of one mesh that are cut
// differently.
#include <doctest/doctest.h>

#include "simulation/sharing.hpp"

using namespace pillion;
using namespace pillion::simulation;

namespace {

model::Catalogue catalogue() {
  const auto root = base::parse_yaml(
      "meshes:\n"
      "  grid: {kind: uniform, cells: [4, 2], levels: {count: 3, ratio: [2, [3, 1]]}}\n"
      "fields:\n  density: {mesh: grid, type: float64}\n  flow: {mesh: grid, type: float64}\n",
      "c", {});
  model::Catalogue out;
  out.read(root.find("meshes"), root.find("fields"));
  return out;
}

const double values[64] = {};

struct Shared {
  model::Catalogue fields = catalogue();
  Sharing sharing{fields};

  void share(const char* field, int32_t level, int32_t block, std::array<int64_t, 2> lo,
             std::array<int64_t, 2> hi) {
    sharing.share_box(field, level, block, lo.data(), hi.data(), values, 0, nullptr);
  }
  std::vector<model::Block> blocks(const std::set<std::string>& names) {
    return sharing.publication(names, 0, 0).meshes.at("grid").blocks;
  }
  std::string fault(const std::set<std::string>& names) {
    try {
      sharing.throw_fault();
      (void)sharing.publication(names, 0, 0);
      return "no error";
    } catch (const Error& e) {
      CHECK(e.code() == ErrorCode::Sharing);
      return e.what();
    }
  }
};

void contains(const std::string& text, const char* part) {
  CAPTURE(text);
  CHECK(text.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("a mesh with levels has their ratios, and a mesh for each level") {
  const auto fields = catalogue();
  const auto& mesh = fields.mesh("grid");
  CHECK(mesh.levels() == 3);
  CHECK(model::cells_of_level(mesh, 2) == std::array<int64_t, 3>{24, 4, 1});
  CHECK(fields.mesh("grid_level_1").cells == std::array<int64_t, 3>{8, 4, 1});
  CHECK(fields.mesh("grid_level_2").is_whole());
  CHECK(fields.find_mesh("grid_level_3") == nullptr);
}

TEST_CASE("a mesh that has the name of a level is that level") {
  const auto read = [](const std::string& other) {
    const auto root = base::parse_yaml(
        "meshes:\n  grid: {kind: uniform, cells: [4, 2], levels: {count: 2}}\n  grid_level_1: "
        "{kind: uniform, " +
            other + "}\n",
        "c", {});
    model::Catalogue out;
    try {
      out.read(root.find("meshes"), nullptr);
      return std::string("no error");
    } catch (const Error& e) {
      return std::string(e.what());
    }
  };
  CHECK(read("cells: [8, 4], length: [4, 2]") == "no error");
  contains(read("cells: [8, 4]"), "is not level 1 of mesh 'grid', whose name it has");
  contains(read("cells: [3]"), "level 1 has 8 x 4 cells");
}

TEST_CASE("levels that cannot be are refused where they stand") {
  const auto refusal = [](const std::string& levels) {
    const auto root = base::parse_yaml(
        "meshes: {grid: {kind: uniform, cells: [4, 2], levels: " + levels + "}}", "c", {});
    model::Catalogue out;
    try {
      out.read(root.find("meshes"), nullptr);
      return std::string();
    } catch (const Error& e) {
      return std::string(e.what());
    }
  };
  contains(refusal("{ratio: 2}"), "count");
  contains(refusal("{count: 0}"), "1 to 30 levels, found 0");
  contains(refusal("{count: 2, ratio: 0}"), "a ratio is 1 to 16, found 0");
  contains(refusal("{count: 2, ratio: 1}"), "finer than the one before");
  contains(refusal("{count: 3, ratio: [2]}"), "3 levels have 2 ratios");
  contains(refusal("{count: 2, ratio: [[2, 2, 2]]}"),
           "a list of 2, one per axis of the mesh, found [2, 2, 2]");
  contains(refusal("{count: 30, ratio: 16}"), "more than 2^50 cells");
  contains(refusal("{count: 2, rate: 2}"), "rate");
}

TEST_CASE("boxes are checked in cells of their level") {
  Shared all;
  all.share("density", 1, 0, {2, 0}, {8, 4});
  CHECK(all.blocks({"density"}).at(0).level == 1);
  all.share("density", 1, 0, {2, 0}, {10, 4});
  contains(all.fault({"density"}), "does not lie in level 1 of mesh 'grid' of [0,8)x[0,4)");
  all.share("density", 1, 0, {3, 0}, {8, 4});
  contains(all.fault({"density"}), "must be multiples of the ratio 2 x 2");
  all.share("density", 2, 0, {3, 1}, {6, 2});
  CHECK(all.fault({"density"}) == "no error");
  all.share("density", 3, 0, {0, 0}, {1, 1});
  contains(all.fault({"density"}), "shared on level 3, but mesh 'grid' has 3 levels");
  all.share("density", 0, 0, {0, 0}, {4, 2});
  CHECK(all.fault({"density"}) == "no error");
}

TEST_CASE("a good block does not hide the fault of another") {
  Shared all;
  all.share("density", 0, 0, {0, 0}, {5, 2});
  all.share("density", 0, 1, {0, 0}, {4, 2});
  contains(all.fault({"density"}), "block 0");
}

TEST_CASE("blocks are numbered from 0, and what was not shared again is taken back") {
  Shared all;
  all.sharing.begin_blocks("density");
  for (int64_t i = 0; i < 4; ++i) all.share("density", 0, any_block, {i, 0}, {i + 1, 2});
  CHECK(all.sharing.end_blocks("density").empty());
  CHECK(all.blocks({"density"}).size() == 4);
  CHECK(all.blocks({"density"}).at(3).number() == 3);
  const auto version = all.sharing.version();
  all.sharing.begin_blocks("density");
  for (int64_t i = 0; i < 4; ++i) all.share("density", 0, any_block, {i, 0}, {i + 1, 2});
  contains(all.fault({"density"}), "begun and not ended");
  CHECK(all.sharing.end_blocks("density").empty());
  CHECK(all.sharing.version() == version);  // nothing has changed but where values are
  all.sharing.begin_blocks("density");
  all.share("density", 0, any_block, {0, 0}, {4, 2});
  CHECK(all.sharing.end_blocks("density") == std::vector<int32_t>{1, 2, 3});
  CHECK(all.blocks({"density"}).size() == 1);
  CHECK(all.sharing.version() != version);
}

TEST_CASE("blocks are begun before they are ended, once") {
  Shared never;
  (void)never.sharing.end_blocks("density");
  contains(never.fault({"density"}), "were ended, but not begun");
  Shared twice;
  twice.sharing.begin_blocks("density");
  twice.sharing.begin_blocks("density");
  contains(twice.fault({"density"}), "were begun twice");
  Shared unknown;
  unknown.sharing.begin_blocks("dens");
  contains(unknown.fault({"density"}), "does not have it");
}

TEST_CASE("fields of a mesh may be cut differently on the same cells") {
  Shared all;
  all.share("density", 0, 0, {0, 0}, {4, 2});
  all.share("flow", 0, 0, {0, 0}, {1, 2});
  all.share("flow", 0, 1, {1, 0}, {4, 2});
  const auto blocks = all.blocks({"density", "flow"});
  REQUIRE(blocks.size() == 3);
  std::set<int64_t> ids;
  for (const auto& block : blocks) {
    CHECK(block.arrays.size() == 1);
    ids.insert(block.id);
  }
  CHECK(ids.size() == 3);
  CHECK(model::is_of_further_cut(blocks[1].id));
  all.sharing.unshare("flow", 1);
  contains(all.fault({"density", "flow"}), "shared on different cells of mesh 'grid'");
}

TEST_CASE("fields of a mesh on as many cells, not the same, are refused") {
  Shared some;
  some.share("density", 0, 0, {0, 0}, {3, 2});
  some.share("flow", 0, 0, {0, 0}, {1, 2});
  some.share("flow", 0, 1, {2, 0}, {4, 2});
  contains(some.fault({"density", "flow"}), "shared on different cells of mesh 'grid'");
  some.share("flow", 0, 1, {1, 0}, {3, 2});
  CHECK(some.fault({"density", "flow"}) == "no error");
}
