// SPDX-License-Identifier: BSD-3-Clause
// Cells of Blueprint as VTK numbers them.
#include "cells.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <pillion/error.hpp>
#include <set>

#include "tree.hpp"

using namespace pillion::catalyst;
using test::Tree;

namespace {

using Numbers = std::vector<int64_t>;

std::string refusal_of(const Tree& tree) {
  try {
    (void)read_cells(tree.node());
  } catch (const pillion::Error& problem) {
    return problem.what();
  }
  return "";
}

}  // namespace

TEST_CASE("connectivity of one shape stays where it is") {
  std::vector<int32_t> points = {0, 1, 2, 3, 2, 1, 4, 5};
  Tree tree;
  tree.set("elements/shape", "tet").share("elements/connectivity", points.data(), 8, 4);
  const CellTable table = read_cells(tree.node());
  const pillion_cells cells = table.raw();
  CHECK(cells.points == points.data());
  CHECK(cells.count == 2);
  CHECK(cells.type == 10);
  CHECK(cells.index_type == PILLION_INT32);
  CHECK(cells.types == nullptr);
  CHECK(table.dimensions == 3);
}

TEST_CASE("connectivity that is strided, or of another type, is copied") {
  std::vector<int64_t> wide = {0, -1, 1, -1, 2, -1};
  Tree strided, small;
  strided.set("elements/shape", "tri").share("elements/connectivity", wide.data(), 3, 16);
  small.set("elements/shape", "tri").set("elements/connectivity", std::vector<uint8_t>{0, 1, 2});
  for (const Tree* tree : {&strided, &small}) {
    const CellTable table = read_cells(tree->node());
    CHECK(table.points == Numbers{0, 1, 2});
    CHECK(table.types == std::vector<uint8_t>{5});
    CHECK(table.raw().index_type == PILLION_INT64);
    CHECK(table.dimensions == 2);
  }
}

TEST_CASE("shapes by number, with sizes alone or offsets that skip") {
  Tree tree;
  tree.set("elements/shape", "mixed")
      .set("elements/shape_map/quad", 3)
      .set("elements/shape_map/tri", 8)
      .set("elements/shapes", std::vector<int32_t>{8, 3})
      .set("elements/sizes", std::vector<int32_t>{3, 4})
      .set("elements/connectivity", std::vector<int32_t>{0, 1, 2, 9, 2, 3, 4, 5});
  tree.set("elements/offsets", std::vector<int32_t>{0, 4});
  CellTable table = read_cells(tree.node());
  CHECK(table.types == std::vector<uint8_t>{5, 9});
  CHECK(table.offsets == Numbers{0, 3, 7});
  CHECK(table.points == Numbers{0, 1, 2, 2, 3, 4, 5});
  CHECK(table.raw().face_count == 0);

  tree.set("elements/shapes", std::vector<int32_t>{8, 4});
  CHECK(refusal_of(tree) ==
        "cell 1 of 'elements' has the shape 4, which is not in its 'shape_map'");
  tree.set("elements/shapes", std::vector<int32_t>{8, 3});
  tree.set("elements/offsets", std::vector<int32_t>{0, 5});
  CHECK(refusal_of(tree) ==
        "cell 1 of 'elements' has 4 indices from number 5 on, and 'connectivity' has 8");
}

TEST_CASE("offsets and faces beyond all numbers are refused") {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  Tree tree;
  tree.set("elements/shape", "polygonal")
      .set("elements/connectivity", std::vector<int32_t>{0, 1, 2})
      .set("elements/sizes", std::vector<int32_t>{3})
      .set("elements/offsets", std::vector<int64_t>{most - 1});
  CHECK(refusal_of(tree).find("has 3 indices from number 9223372036854775806 on") !=
        std::string::npos);
  tree.set("elements/shape", "polyhedral").set("elements/offsets", std::vector<int64_t>{0});
  tree.set("elements/connectivity", std::vector<int64_t>{0, 1, most});
  tree.set("subelements/shape", "tri").set("subelements/connectivity", std::vector<int32_t>(6));
  CHECK(refusal_of(tree).starts_with("a polyhedron has the face 9223372036854775807;"));
}

TEST_CASE("polyhedra name their points once, and keep their faces") {
  // A pyramid, and a tetrahedron on one of its sides.
  Tree tree;
  tree.set("elements/shape", "polyhedral")
      .set("elements/connectivity", std::vector<int32_t>{0, 1, 2, 3, 4, 1, 5, 6, 7})
      .set("elements/sizes", std::vector<int32_t>{5, 4})
      .set("subelements/shape", "polygonal")
      .set("subelements/sizes", std::vector<int32_t>{4, 3, 3, 3, 3, 3, 3, 3})
      .set("subelements/connectivity", std::vector<int32_t>{0, 1, 2, 3, 0, 1, 4, 1, 2, 4, 2, 3, 4,
                                                            3, 0, 4, 0, 1, 7, 1, 4, 7, 4, 0, 7});
  const CellTable table = read_cells(tree.node());
  CHECK(table.points == Numbers{0, 1, 2, 3, 4, 0, 1, 4, 7});
  CHECK(table.offsets == Numbers{0, 5, 9});
  CHECK(table.polyhedron_offsets == Numbers{0, 5, 9});
  CHECK(table.polyhedron_faces == Numbers{0, 1, 2, 3, 4, 1, 5, 6, 7});
  CHECK(table.face_offsets == Numbers{0, 4, 7, 10, 13, 16, 19, 22, 25});
  CHECK(table.raw().face_count == 8);
  tree.set("elements/connectivity", std::vector<int32_t>{0, 1, 2, 3, 4, 1, 5, 6, 8});
  CHECK(refusal_of(tree) == "a polyhedron has the face 8; 'subelements' has 8");
}

TEST_CASE("groups of one shape each follow one another") {
  Tree tree;
  tree.set("elements/a/shape", "line").set("elements/a/connectivity", std::vector<int32_t>{0, 1});
  tree.set("elements/b/shape", "tri").set("elements/b/connectivity", std::vector<int32_t>{1, 2, 3});
  const CellTable table = read_cells(tree.node());
  CHECK(table.count == 2);
  CHECK(table.types == std::vector<uint8_t>{3, 5});
  CHECK(table.points == Numbers{0, 1, 1, 2, 3});
  CHECK(table.dimensions == 2);
}

TEST_CASE("cells that cannot be understood") {
  Tree tree;
  tree.set("elements/shape", "tesseract").set("elements/connectivity", std::vector<int32_t>{0});
  CHECK(refusal_of(tree) ==
        "'elements' has cells of the shape 'tesseract', which Pillion does not know");
  tree.set("elements/shape", "polygonal");
  CHECK(refusal_of(tree) == "'elements/sizes' is missing, which cells of this shape need");
  tree.set("elements/shape", "quad");
  CHECK(refusal_of(tree) == "'elements/connectivity' has 1 indices; its cells have 4 each");
}

TEST_CASE("cells without points have indices of a type all the same") {
  Tree tree;
  tree.set("elements/shape", "polygonal").set("elements/connectivity", std::vector<int32_t>{0});
  tree.set("elements/sizes", std::vector<int32_t>{0, 0});
  const CellTable table = read_cells(tree.node());
  CHECK(table.raw().count == 2);
  CHECK(table.raw().index_type == PILLION_INT64);
}

TEST_CASE("points as cells are a list of points if each cell has one") {
  Tree tree;
  tree.set("elements/shape", "point").set("elements/connectivity", std::vector<int32_t>{0, 1, 2});
  CHECK(read_cells(tree.node()).is_list_of_points());
  tree.set("elements/sizes", std::vector<int32_t>{1, 1, 1});
  CHECK(read_cells(tree.node()).is_list_of_points());
  for (const auto& sizes : {std::vector<int32_t>{0, 0, 0}, {1, 0, 2}, {1, 0}}) {
    tree.set("elements/sizes", sizes);
    CHECK_FALSE(read_cells(tree.node()).is_list_of_points());
  }
}

TEST_CASE("cells of a grid") {
  const CellTable lines = cells_of_grid(1, {2, 1, 1});
  CHECK(lines.type == 3);
  CHECK(lines.points == Numbers{0, 1, 1, 2});
  const CellTable quads = cells_of_grid(2, {2, 1, 1});
  CHECK(quads.points == Numbers{0, 1, 4, 3, 1, 2, 5, 4});
  // By brute force: the points of a hexahedron are its corner's neighbours, each once.
  const CellTable hexahedra = cells_of_grid(3, {2, 3, 2});
  REQUIRE(hexahedra.count == 12);
  for (size_t c = 0; c < 12; ++c) {
    const auto i = static_cast<int64_t>(c % 2), j = static_cast<int64_t>(c / 2 % 3),
               k = static_cast<int64_t>(c / 6);
    std::set<int64_t> wanted, found(hexahedra.points.begin() + static_cast<int64_t>(8 * c),
                                    hexahedra.points.begin() + static_cast<int64_t>(8 * c + 8));
    for (int n = 0; n < 8; ++n)
      wanted.insert((i + n % 2) + 3 * ((j + n / 2 % 2) + 4 * (k + n / 4)));
    CHECK(found == wanted);
  }
}
