// SPDX-License-Identifier: BSD-3-Clause
// Spectral meshes in the catalogue: what is read, how many values an element has, and where
// mistakes are pointed at.
#include <doctest/doctest.h>

#include "model/coarsen.hpp"
#include "model/configuration.hpp"

using namespace pillion;
using namespace pillion::model;

namespace {

const std::string mesh = "meshes: {box: {kind: spectral, order: 3, coordinates: xyz, units: m}}\n";
const std::string fields =
    "fields:\n"
    "  xyz: {mesh: box, type: float64, components: 3}\n"
    "  u: {mesh: box, type: float32, components: 2, centering: point}\n"
    "  number: {mesh: box, type: int64, centering: cell}\n";

Configuration read(const std::string& text, const std::string& offered = {}) {
  return read_configuration(text + "analyses: {}\n", "f", {}, offered, 0);
}

std::string error_of(const std::string& text, const std::string& offered = {}) {
  try {
    (void)read(text, offered);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("an element has a value of each component at each of its points, or one for it") {
  const auto catalogue = read(mesh + fields).catalogue;
  const auto& box = catalogue.mesh("box");
  CHECK(box.kind == MeshKind::Spectral);
  CHECK(box.order == 3);
  CHECK(box.coordinates == "xyz");
  CHECK(is_counted(box.kind));
  CHECK(values_of(box, catalogue.field("xyz")) == 3 * 64);
  CHECK(values_of(box, catalogue.field("u")) == 2 * 64);
  CHECK(values_of(box, catalogue.field("number")) == 1);
  CHECK(centering_of(box, catalogue.field("xyz")) == Centering::Point);
  CHECK(centering_of(box, catalogue.field("number")) == Centering::Cell);
}

TEST_CASE("elements may have two dimensions, and coordinates two components or three") {
  const std::string flat =
      "meshes: {box: {kind: spectral, order: 3, coordinates: xyz, dimensions: 2}}\n";
  auto two = fields;
  two.replace(two.find("components: 3"), 13, "components: 2");
  for (const auto& those : {fields, two}) {
    const auto catalogue = read(flat + those).catalogue;
    const auto& box = catalogue.mesh("box");
    CHECK(box.axes == 2);
    CHECK(values_of(box, catalogue.field("u")) == 2 * 16);
    CHECK(values_of(box, catalogue.field("number")) == 1);
  }
  CHECK(error_of(mesh + two).find("are a field of 3 real components") != std::string::npos);
  CHECK(error_of("meshes: {box: {kind: spectral, order: 3, dimensions: 1}}\n")
            .find("spectral elements have 2 or 3 dimensions, found 1") != std::string::npos);
}

TEST_CASE("fields may have values at other points of elements") {
  const std::string sets =
      "meshes: {box: {kind: spectral, order: 3, point_sets: {p: {points: 2}, q: {points: 5, kind: "
      "gauss-lobatto}}}}\n";
  const auto catalogue = read(sets +
                              "fields:\n  u: {mesh: box, type: float64, components: 2, points: p}\n"
                              "  v: {mesh: box, type: float64, points: q}\n"
                              "  w: {mesh: box, type: float64}\n")
                             .catalogue;
  const auto& box = catalogue.mesh("box");
  CHECK(values_of(box, catalogue.field("u")) == 2 * 8);
  CHECK(points_along(box, catalogue.field("u")) == 2);
  CHECK(point_set_of(box, catalogue.field("u"))->quadrature == PILLION_GAUSS);
  CHECK(values_of(box, catalogue.field("v")) == 125);
  CHECK(point_set_of(box, catalogue.field("v"))->quadrature == PILLION_GAUSS_LOBATTO);
  CHECK(values_of(box, catalogue.field("w")) == 64);
  CHECK(point_set_of(box, catalogue.field("w")) == nullptr);
  const auto mistake = [&](const std::string& text) { return error_of(sets + text); };
  CHECK(mistake("fields: {u: {mesh: box, type: float64, points: pressure}}\n") ==
        "f:2: mesh 'box' has no point set 'pressure'; known: p, q");
  CHECK(mistake("fields: {u: {mesh: box, type: float64, points: p, centering: cell}}\n")
            .find("field 'u' has values at cells") != std::string::npos);
  CHECK(error_of("meshes: {g: {kind: spectral, order: 3, point_sets: {p: {points: 1}}}}\n") ==
        "f:1: a point set has 2 to 32 points along each axis, found 1; one value for each element "
        "is `centering: cell`");
  CHECK(error_of(
            "meshes: {g: {kind: spectral, order: 3, point_sets: {p: {points: 4, kind: chebyshev}}}}"
            "\n") == "f:1: unknown kind of points 'chebyshev'; known: gauss, gauss-lobatto");
}

TEST_CASE("coordinates and other fields may consist of fields of one component each") {
  const std::string listed = "meshes: {box: {kind: spectral, order: 3, coordinates: [x, y, z]}}\n";
  const std::string one = "{mesh: box, type: float32, units: m}\n";
  const std::string parts = "fields:\n  velocity: {components: [x, x], units: m/s}\n  x: " + one +
                            "  y: " + one + "  z: " + one;
  for (const auto& catalogue :
       {read(listed + parts).catalogue,
        read(listed, "meshes: {box: {kind: spectral, order: 2}}\n" + parts).catalogue}) {
    const auto& box = catalogue.mesh("box");
    CHECK(box.coordinates == "box_coordinates");
    const auto& field = catalogue.field("box_coordinates");
    CHECK(field.parts == std::vector<std::string>{"x", "y", "z"});
    CHECK(values_of(box, field) == 3 * 64);
    CHECK(field.type == ElementType::Float32);
    CHECK(field.units == "m");
    CHECK(catalogue.field("velocity").units == "m/s");
    CHECK(catalogue.field("velocity").mesh == "box");
    CHECK(catalogue.assembled_from("x") == std::vector<std::string>{"box_coordinates", "velocity"});
    CHECK(catalogue.assembled_from("y") == std::vector<std::string>{"box_coordinates"});
    CHECK(catalogue.assembled_from("velocity").empty());
  }
  // A field that the user declares otherwise.
  CHECK(read(listed + "fields: {velocity: {mesh: box, type: int32}}\n", listed + parts)
            .catalogue.field("velocity")
            .parts.empty());
  CHECK(read("meshes: {box: {kind: spectral, order: 3}}\n", listed + parts)
            .catalogue.mesh("box")
            .coordinates.empty());
  const std::pair<std::string, const char*> mistakes[] = {
      {listed + "fields: {x: {mesh: box, type: float64}, y: {mesh: box, type: float64}}\n",
       "f:1: unknown field 'z'"},
      {listed + "fields:\n  x: " + one + "  y: " + one + "  z: {mesh: box, type: float64}\n",
       "f:1: fields 'x' and 'z' cannot be components of one field: they differ in their mesh, type "
       "or centering"},
      {listed + parts + "  box_coordinates: {mesh: box, type: int32}\n",
       "f:1: field 'box_coordinates' is in the catalogue, and the coordinates of a mesh that lists "
       "their components have this name"},
      {"meshes: {box: {kind: spectral, order: 3, coordinates: [x, y]}}\n" + parts,
       "f:1: coordinates of mesh 'box' are a field of 3 real components at its points"},
      {listed + parts + "  twice: {components: [velocity]}\n",
       "f:7: field 'velocity' has several components, and cannot be one of 'twice'"},
      {listed + parts + "  twice: {components: []}\n", "f:7: the list of components is empty"},
      {listed + parts + "  twice: {components: [x], mesh: box}\n",
       "f:7: field 'twice' has the mesh of its components; leave 'mesh' out"},
  };
  for (const auto& [text, expected] : mistakes) {
    const auto error = error_of(text);
    CAPTURE(error);
    CHECK(error.find(expected) != std::string::npos);
  }
}

TEST_CASE("the user's mesh replaces the program's, whose fields follow it") {
  const std::string finer = "meshes: {box: {kind: spectral, order: 7, coordinates: xyz}}\n";
  const auto catalogue = read(finer, mesh + fields).catalogue;
  CHECK(values_of(catalogue.mesh("box"), catalogue.field("u")) == 2 * 512);
  CHECK(error_of("meshes: {box: {kind: spectral, order: 7, coordinates: places}}\n",
                 mesh + fields) == "f:1: unknown field 'places'; known: xyz, u, number");
  CHECK(error_of(mesh, fields).find("unknown mesh 'box'") != std::string::npos);
}

TEST_CASE("mistakes in spectral meshes are pointed at") {
  const std::pair<std::string, const char*> mistakes[] = {
      {"meshes: {g: {kind: spectrall, order: 3}}\n",
       "f:1: unknown kind of mesh 'spectrall'; did you mean 'spectral'?"},
      {"meshes: {g: {kind: spectral}}\n", "lacks 'order'"},
      {"meshes: {g: {kind: spectral, order: 0}}\n", "f:1: order must be 1 to 31, found 0"},
      {"meshes: {g: {kind: spectral, order: 32}}\n", "order must be 1 to 31, found 32"},
      {"meshes: {g: {kind: spectral, order: 3, cells: [4]}}\n", "unknown key 'cells'"},
      {"meshes: {g: {kind: particles, order: 3}}\n", "unknown key 'order'"},
      {"meshes: {g: {kind: spectral, ordr: 3}}\n", "lacks 'order'; is 'ordr' meant to be it?"},
      {mesh, "f:1: unknown field 'xyz'"},
      {mesh + "fields: {xyy: {mesh: box, type: float64, components: 3}}\n",
       "f:1: unknown field 'xyz'; did you mean 'xyy'?"},
      {mesh + "fields: {xyz: {mesh: box, type: float64, components: 2}}\n",
       "f:1: coordinates of mesh 'box' are a field of 3 real components at its points; field 'xyz' "
       "is float64 x 2 on mesh 'box'"},
      {mesh + "fields: {xyz: {mesh: box, type: int32, components: 3}}\n", "is int32 x 3"},
      {mesh + "fields: {xyz: {mesh: box, type: float64, components: 3, centering: cell}}\n",
       "once for each element"},
      {mesh + "fields:\n  xyz: {mesh: box, type: float64, components: 3, centering: pionts}\n",
       "f:3: unknown centering 'pionts'; did you mean 'point'?"},
      {"meshes: {g: {kind: uniform, cells: [4], covered: partial}}\nfields: {d: {mesh: g, type: "
       "int32, centering: point}}\n",
       "f:2: mesh 'g' has missing cells, where values at points are not supported yet"},
      {"meshes: {g: {kind: particles}}\nfields: {d: {mesh: g, type: int32, centering: cell}}\n",
       "f:2: mesh 'g' is of kind 'particles', whose fields have no centering"},
      {mesh + "fields: {xyz: {mesh: box, type: float64, components: 3, centering: points}}\n",
       "unknown centering 'points'; it is called 'point' here"},
      {mesh + "fields: {xyz: {mesh: box, type: float64, components: 3, centering: elements}}\n",
       "one value for each element is called 'cell' here"},
      {mesh + "fields: {xyz: {mesh: box, type: float64, components: 3, centering: face}}\n",
       "have values at faces; mesh 'box' is of kind 'spectral'"},
  };
  for (const auto& [text, expected] : mistakes) {
    const auto error = error_of(text);
    CAPTURE(error);
    CHECK(error.find(expected) != std::string::npos);
  }
}

TEST_CASE("whole elements are left out where publications become coarse") {
  const auto catalogue = read(mesh + fields).catalogue;
  const auto& box = catalogue.mesh("box");
  constexpr int64_t count = 4000;
  std::vector<int64_t> numbers(count);
  std::vector<float> u(count * 128);
  for (int64_t e = 0; e < count; ++e) {
    numbers[static_cast<size_t>(e)] = 3 * e + 1;
    for (int64_t v = 0; v < 128; ++v)
      u[static_cast<size_t>(e * 128 + v)] = static_cast<float>(e + v);
  }
  MeshBlocks all;
  all.blocks.push_back({0, {{0, 0, 0}, {count, 1, 1}}, count, {}});
  all.blocks[0].arrays["number"] = {numbers.data(), ElementType::Int64, 1, {1, 0, 0, 1}};
  all.blocks[0].arrays["u"] = {u.data(), ElementType::Float32, 128, {128, 0, 0, 1}};
  const auto coarse = coarsen(all, box, 2, "number");
  const auto& block = coarse.blocks.at(0);
  CHECK(block.owned > count / 5);
  CHECK(block.owned < count / 3);
  for (int64_t i = 0; i < block.owned; ++i) {
    const auto number = static_cast<const int64_t*>(block.arrays.at("number").data)[i];
    const auto* values = static_cast<const float*>(block.arrays.at("u").data) + i * 128;
    REQUIRE(values[0] == static_cast<float>((number - 1) / 3));
    REQUIRE(values[127] == values[0] + 127);
  }
}
