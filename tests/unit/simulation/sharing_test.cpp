// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/sharing.hpp"

#include <doctest/doctest.h>

using namespace pillion;
using namespace pillion::simulation;

namespace {

model::Catalogue catalogue() {
  const auto root = base::parse_yaml(
      "meshes: {grid: {kind: uniform, cells: [4, 2]}, atoms: {kind: particles}}\n"
      "fields:\n  density: {mesh: grid, type: float64}\n  flow: {mesh: grid, type: float32}\n"
      "  id: {mesh: atoms, type: int64}\n  x: {mesh: atoms, type: float64, components: 3}\n",
      "c", {});
  model::Catalogue out;
  out.read(root.find("meshes"), root.find("fields"));
  return out;
}

std::string error_of(const Sharing& sharing, const std::set<std::string>& fields) {
  try {
    sharing.throw_fault();
    (void)sharing.publication(fields, 0, 0);
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::Sharing);
    return e.what();
  }
  return "no error";
}

const int64_t lo[] = {0, 0}, hi[] = {4, 2}, outside[] = {5, 2};
const double values[24] = {};
const float singles[8] = {};
const int64_t ids[4] = {};

}  // namespace

TEST_CASE("what fits becomes a publication, without a copy") {
  const auto fields = catalogue();
  Sharing sharing(fields);
  sharing.share_box("density", 0, 0, lo, hi, values, PILLION_FLOAT64, nullptr);
  sharing.share_box("flow", 0, 0, lo, hi, singles, 0, nullptr);
  const auto publication = sharing.publication({"density", "flow"}, 7, 0.5);
  CHECK(publication.step == 7);
  const auto& block = publication.meshes.at("grid").blocks.at(0);
  CHECK(block.box.volume() == 8);
  CHECK(block.arrays.at("density").data == values);
  CHECK(block.arrays.at("flow").data == singles);
}

TEST_CASE("an array that knows its shape is checked against the box") {
  const auto fields = catalogue();
  Sharing sharing(fields);
  pillion_view view{values, PILLION_FLOAT64, 2, {4, 2}, {16, 64}};
  sharing.share_box("density", 0, 0, 2, lo, hi, view, false);
  const auto publication = sharing.publication({"density"}, 0, 0);
  const auto& array = publication.meshes.at("grid").blocks.at(0).arrays.at("density");
  CHECK(array.strides[0] == 2);
  CHECK(array.strides[1] == 8);
  view.extents[1] = 3;
  sharing.share_box("density", 0, 0, 2, lo, hi, view, false);
  CHECK(error_of(sharing, {"density"}) ==
        "block 0 of field 'density' was shared as an array of shape (4, 3), where (4, 2) is "
        "expected");
  sharing.share_box("density", 0, 0, 3, lo, hi, view, false);
  CHECK(error_of(sharing, {"density"}) ==
        "block 0 of field 'density' was shared with 3 indices, but mesh 'grid' has 2 axes");
}

TEST_CASE("ghost cells around a box are left out") {
  const auto fields = catalogue();
  Sharing sharing(fields);
  const double around[8 * 4] = {};  // (4 + 2 * 2) x (2 + 2 * 1)
  int64_t ghosts[2] = {2, 1};
  const auto expect_inner = [&] {
    const auto publication = sharing.publication({"density"}, 0, 0);
    const auto& block = publication.meshes.at("grid").blocks.at(0);
    const auto& array = block.arrays.at("density");
    CHECK(array.data == around + 8 + 2);
    CHECK(array.strides[0] == 1);
    CHECK(array.strides[1] == 8);
    CHECK(block.box.volume() == 8);
  };
  sharing.share_ghosts("density", 0, 0, lo, hi, ghosts, around, PILLION_FLOAT64);
  expect_inner();
  pillion_view view{around, PILLION_FLOAT64, 2, {8, 4}, {8, 64}};
  sharing.share_box("density", 0, 0, 2, lo, hi, view, false, ghosts);
  expect_inner();
  view.extents[1] = 3;
  sharing.share_box("density", 0, 0, 2, lo, hi, view, false, ghosts);
  CHECK(error_of(sharing, {"density"}) ==
        "block 0 of field 'density' was shared as an array of shape (8, 3), where (8, 4) is "
        "expected");
  ghosts[1] = -1;
  sharing.share_ghosts("density", 0, 0, lo, hi, ghosts, around, PILLION_FLOAT64);
  CHECK(error_of(sharing, {"density"}) ==
        "block 0 of field 'density' was shared with -1 ghost cells along axis y; give 0 or more, "
        "the number at each end");
}

TEST_CASE("particles in an array that knows its shape may have their components last") {
  const auto fields = catalogue();
  Sharing sharing(fields);
  sharing.share_items(model::MeshKind::Particles, "x", 0, 2, {values, 0, 2, {8, 3}, {8, 64}}, true);
  const auto publication = sharing.publication({"x"}, 0, 0);
  const auto& block = publication.meshes.at("atoms").blocks.at(0);
  CHECK(block.owned == 2);
  CHECK(block.arrays.at("x").strides[0] == 1);
  CHECK(block.arrays.at("x").strides[3] == 8);
  sharing.share_items(model::MeshKind::Particles, "x", 0, 9, {values, 0, 2, {8, 3}, {8, 64}}, true);
  CHECK(error_of(sharing, {"x"}).find("(8, 3), where (9, 3), or more, is") != std::string::npos);
}

TEST_CASE("a fault is remembered until the field is shared as it should be") {
  const auto fields = catalogue();
  Sharing sharing(fields);
  sharing.share_box("density", 0, 0, lo, hi, values, PILLION_FLOAT32, nullptr);
  CHECK(error_of(sharing, {"density"}) ==
        "block 0 of field 'density' was shared as float32, but the catalogue says float64");
  sharing.share_box("density", 0, 0, lo, hi, values, PILLION_FLOAT64, nullptr);
  CHECK(error_of(sharing, {"density"}) == "no error");
}

TEST_CASE("particles have as many dimensions as the program or the configuration says") {
  auto fields = catalogue();
  const auto flat_mesh = base::parse_yaml("{atoms: {kind: particles, dimensions: 2}}", "c", {});
  pillion_domain box = {{0, 0, 0}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, 0};
  const auto seen = [&](int32_t said) {
    Sharing sharing(fields);
    box.dimensions = said;
    sharing.set_domain("atoms", box);
    const auto error = error_of(sharing, {});
    return error == "no error" ? std::to_string(sharing.domains().at("atoms").dimensions) : error;
  };
  CHECK(seen(0) == "3");
  CHECK(seen(3) == "3");
  CHECK(seen(2) == "2");
  fields.read(&flat_mesh, nullptr);
  CHECK(seen(0) == "2");
  CHECK(seen(2) == "2");
  CHECK(seen(3).find("configuration says 'dimensions: 2'") != std::string::npos);
  box.hi[2] = 0;  // a plane has no thickness
  CHECK(seen(0) == "2");
}

TEST_CASE("coordinates of faces are checked, and what changes them is noticed") {
  auto fields = catalogue();
  const auto meshes = base::parse_yaml(
      "{stretched: {kind: rectilinear, cells: [2, 1], metric: cylindrical},\n"
      " given: {kind: rectilinear, coordinates: [[0, 1]]}}",
      "c", {});
  fields.read(&meshes, nullptr);
  Sharing sharing(fields);
  const auto error = [&](const char* mesh, int32_t axis, std::vector<double> faces) {
    sharing.set_coordinates(mesh, axis, static_cast<int64_t>(faces.size()), faces.data());
    return error_of(sharing, {});
  };
  CHECK(error("stretched", 0, {0, 1}).find("radius has 2 cells, so 3 coordinates of faces are") !=
        std::string::npos);
  CHECK(error("stretched", 0, {-1, 1, 2}).find("radius begins at -1") != std::string::npos);
  CHECK(error("stretched", 0, {0, 1, 3}) == "no error");
  CHECK(error("stretched", 2, {0, 1}).find("axis 2, counted from 0; it has 2") !=
        std::string::npos);
  CHECK(error("stretched", 1, {5, 6}) == "no error");
  CHECK(sharing.publication({}, 0, 0).coordinates.at("stretched") ==
        model::Faces{{0, 1, 3}, {5, 6}});
  const auto before = sharing.version();
  CHECK(error("stretched", 1, {5, 6}) == "no error");
  CHECK(sharing.version() == before);
  CHECK(error("stretched", 1, {5, 7}) == "no error");
  CHECK(sharing.version() > before);
  CHECK(error("given", 0, {0, 1}) == "no error");
  CHECK(error("given", 0, {0, 2}).find("leave 'coordinates' out") != std::string::npos);
  Sharing other(fields);
  other.set_coordinates("grid", 0, 0, nullptr);
  CHECK(error_of(other, {}).find("'grid', which is not a rectilinear mesh") != std::string::npos);
}

TEST_CASE("whatever does not fit is named") {
  const auto fields = catalogue();
  const auto fault = [&](const auto& share) {
    Sharing sharing(fields);
    share(sharing);
    return error_of(sharing, {"density", "flow", "id", "x"});
  };
  const auto contains = [](const std::string& text, const char* part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  contains(fault([](Sharing& s) { s.share_box("dens", 0, 0, lo, hi, values, 0, nullptr); }),
           "does not have it");
  contains(fault([](Sharing& s) { s.share_box("density", 0, 0, lo, outside, values, 0, nullptr); }),
           "does not lie in mesh 'grid' of [0,4)x[0,2)");
  contains(fault([](Sharing& s) { s.share_box("density", 0, 0, lo, hi, nullptr, 0, nullptr); }),
           "without memory");
  contains(fault([](Sharing& s) { s.share_box("id", 0, 0, lo, hi, ids, 0, nullptr); }),
           "shared as a box");
  contains(fault([](Sharing& s) { s.share_particles("density", 0, 4, values, 0); }),
           "shared as particles");
  contains(fault([](Sharing& s) { s.share_particles("id", -2, 4, ids, 0); }), "block number -2");
  contains(fault([](Sharing& s) { s.share_particles("id", any_block, 4, ids, 0); }),
           "without a number; call begin_blocks");
  contains(fault([](Sharing& s) { s.share_particles("id", 0, -4, ids, 0); }), "-4 particles");
  contains(fault([](Sharing& s) { s.set_domain("grid", {}); }), "not a particle mesh");
  contains(fault([](Sharing& s) { s.set_domain("atoms", {}); }), "no extent along axis 0");
  const pillion_domain flat = {{0, 0, 0}, {1, 1, 0}, {0, 0, 0}, {1, 1, 1}, 0};
  contains(fault([&](Sharing& s) { s.set_domain("atoms", flat); }), "no extent along axis 2");
  contains(fault([&](Sharing& s) {
             auto strange = flat;
             strange.dimensions = 4;
             s.set_domain("atoms", strange);
           }),
           "has 4 dimensions; set 2 or 3");
  contains(fault([](Sharing& s) {
             s.share_particles("id", 0, 4, ids, 0);
             s.share_particles("x", 0, 3, values, 0);
           }),
           "was shared as");
  contains(fault([](Sharing& s) { s.share_particles("id", 0, 4, ids, 0); }),
           "without field 'x', which is needed");
}

TEST_CASE("a fault of one field does not keep others from being published") {
  const auto fields = catalogue();
  Sharing sharing(fields);
  sharing.share_box("density", 0, 0, lo, hi, values, 0, nullptr);
  sharing.share_box("flow", 0, 0, lo, outside, singles, 0, nullptr);
  sharing.share_box("dens", 0, 0, lo, hi, values, 0, nullptr);
  sharing.set_domain("atoms", {});
  CHECK(sharing.publication({"density"}, 0, 0).meshes.at("grid").blocks.size() == 1);
  CHECK_THROWS_AS((void)sharing.publication({"flow"}, 0, 0), Error);
  CHECK_THROWS_AS((void)sharing.publication({"x"}, 0, 0), Error);
  const auto others = sharing.take_other_faults({"density", "flow", "x"});
  REQUIRE(others.size() == 1);
  CHECK(others[0].find("'dens'") != std::string::npos);
  CHECK(sharing.take_other_faults({"density", "flow", "x"}).empty());
  CHECK(sharing.has_faults());
}
