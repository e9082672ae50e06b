// SPDX-License-Identifier: BSD-3-Clause
#include "layout/division.hpp"

#include <doctest/doctest.h>

using namespace pillion;
using namespace pillion::layout;

namespace {

model::Mesh mesh_of(std::array<int64_t, 3> cells) {
  model::Mesh mesh;
  mesh.name = "grid";
  mesh.cells = cells;
  return mesh;
}

std::array<int, 3> sides_for(std::array<int, 3> asked, std::array<int64_t, 3> longest) {
  const Request request{.kind = Kind::PowersOfTwo, .sides = asked};
  CHECK(fault_of(request, mesh_of({100, 40, 33})).empty());
  return with_sides(request, longest, mesh_of({100, 40, 33})).sides;
}

}  // namespace

TEST_CASE("sides of boxes may follow from the blocks that are shared") {
  constexpr int fit = PILLION_SIDE_FIT, enlarged = PILLION_SIDE_ENLARGED;
  using Sides = std::array<int, 3>;
  CHECK(sides_for({fit, fit, fit}, {8, 9, 1}) == Sides{3, 4, 0});
  CHECK(sides_for({enlarged, fit, enlarged}, {8, 9, 1}) == Sides{4, 4, 1});
  CHECK(sides_for({2, fit, 5}, {8, 9, 1}) == Sides{2, 4, 5});
  constexpr int cube = PILLION_SIDE_FIT_CUBE, larger = PILLION_SIDE_ENLARGED_CUBE;
  CHECK(sides_for({cube, cube, cube}, {8, 9, 1}) == Sides{4, 4, 4});
  CHECK(sides_for({larger, larger, larger}, {8, 9, 1}) == Sides{5, 5, 5});
  // Not beyond the mesh, and nobody need share anything.
  CHECK(sides_for({larger, larger, larger}, {100, 40, 33}) == Sides{7, 6, 6});
  CHECK(sides_for({fit, enlarged, cube}, {0, 0, 0}) == Sides{0, 1, 0});
}

TEST_CASE("a transform begins with slabs as long as there are planes for all") {
  const Request request{.kind = Kind::Transform};
  const auto first_box = [&](model::Mesh mesh, int ranks) {
    return wanted_of(request, mesh, ranks).tiling.places_of(0).front().box;
  };
  CHECK(first_box(mesh_of({12, 10, 4}), 4).hi == std::array<int64_t, 3>{12, 10, 1});
  const auto pencil = first_box(mesh_of({12, 10, 4}), 5);
  CHECK(pencil.extent(0) == 12);
  CHECK(pencil.extent(1) < 10);
  auto sheet = mesh_of({12, 10, 1});
  sheet.axes = 2;
  CHECK(first_box(sheet, 2).hi == std::array<int64_t, 3>{12, 5, 1});
}

TEST_CASE("only some sides are open") {
  CHECK_FALSE(has_open_sides({.kind = Kind::PowersOfTwo, .sides = {0, 3, 2}}));
  CHECK(has_open_sides({.kind = Kind::PowersOfTwo, .sides = {0, PILLION_SIDE_FIT, 2}}));
  CHECK_FALSE(has_open_sides({.kind = Kind::Blocks, .sides = {PILLION_SIDE_FIT, 0, 0}}));
  CHECK_FALSE(
      fault_of({.kind = Kind::PowersOfTwo, .sides = {-5, 0, 0}}, mesh_of({4, 4, 4})).empty());
}
