// SPDX-License-Identifier: BSD-3-Clause
// Cells from faces: the oracle is the list of faces, seen from outside, that VTK has for each type
// of cell. And the catalogue that the adapter offers.
#include <doctest/doctest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <pillion/stage/cell_shapes.hpp>
#include <random>
#include <set>

#include "adapters/code_saturne/catalogue.hpp"
#include "adapters/code_saturne/cells.hpp"

namespace pillion::code_saturne {

namespace {

using Face = std::vector<int32_t>;

/// So that the least point comes first; the sense stays.
Face turned(Face face) {
  std::rotate(face.begin(), std::min_element(face.begin(), face.end()), face.end());
  return face;
}

std::set<Face> faces_of(uint8_t type, const std::vector<int32_t>& points) {
  std::set<Face> out;
  for (const auto& shape : stage::shape_of(type)->faces) {
    Face face;
    for (size_t i = 0; i < shape.count; ++i)
      face.push_back(points[static_cast<size_t>(shape.points[i])]);
    out.insert(turned(face));
  }
  return out;
}

uint8_t type_of(const std::vector<Face>& faces, std::vector<int32_t>& points) {
  std::vector<std::span<const int32_t>> spans(faces.begin(), faces.end());
  return type_of_cell(spans, points);
}

/// Two unit cubes in a row along x, one face of the first divided in two triangles if `is_split`,
/// and its halves belong to the boundary.
struct TwoCubes {
  std::vector<double> coordinates;
  std::vector<int32_t> interior_cells = {0, 1}, interior_offsets = {0, 4}, interior_points;
  std::vector<int32_t> boundary_cells, boundary_offsets = {0}, boundary_points, zones;

  static int32_t point(int x, int y, int z) { return x + 3 * (y + 2 * z); }

  explicit TwoCubes(bool is_split) {
    for (int z = 0; z < 2; ++z)
      for (int y = 0; y < 2; ++y)
        for (int x = 0; x < 3; ++x) coordinates.insert(coordinates.end(), {1. * x, 1. * y, 1. * z});
    interior_points = {point(1, 0, 0), point(1, 1, 0), point(1, 1, 1), point(1, 0, 1)};
    for (int c = 0; c < 2; ++c) {
      const std::array<int32_t, 8> p = {point(c, 0, 0),     point(c + 1, 0, 0), point(c + 1, 1, 0),
                                        point(c, 1, 0),     point(c, 0, 1),     point(c + 1, 0, 1),
                                        point(c + 1, 1, 1), point(c, 1, 1)};
      add(c, {p[0], p[1], p[5], p[4]});
      add(c, {p[3], p[7], p[6], p[2]});
      add(c, {p[0], p[3], p[2], p[1]});
      add(c, {p[4], p[5], p[6], p[7]});
      const Face side = c == 0 ? Face{p[0], p[4], p[7], p[3]} : Face{p[1], p[2], p[6], p[5]};
      if (is_split && c == 0) {
        add(c, {side[0], side[1], side[2]});
        add(c, {side[0], side[2], side[3]});
      } else {
        add(c, side);
      }
    }
  }
  void add(int32_t cell, const Face& face) {
    boundary_points.insert(boundary_points.end(), face.begin(), face.end());
    boundary_offsets.push_back(static_cast<int32_t>(boundary_points.size()));
    boundary_cells.push_back(cell);
    zones.push_back(cell);
  }
  [[nodiscard]] pillion_saturne_mesh mesh() const {
    pillion_saturne_mesh out{};
    out.cells = 2;
    out.interior_faces = 1;
    out.boundary_faces = static_cast<int32_t>(boundary_cells.size());
    out.points = 12;
    out.coordinates = coordinates.data();
    out.interior_cells = interior_cells.data();
    out.boundary_cells = boundary_cells.data();
    out.interior_offsets = interior_offsets.data();
    out.interior_points = interior_points.data();
    out.boundary_offsets = boundary_offsets.data();
    out.boundary_points = boundary_points.data();
    out.zones = zones.data();
    return out;
  }
};

}  // namespace

TEST_CASE("Faces in any order and from any point make the cells of VTK that have these faces") {
  std::mt19937 dice(1);
  for (const uint8_t type : {10, 12, 13, 14}) {
    std::vector<int32_t> numbers(static_cast<size_t>(stage::shape_of(type)->points));
    for (size_t p = 0; p < numbers.size(); ++p) numbers[p] = static_cast<int32_t>(7 + 3 * p);
    for (int attempt = 0; attempt < 200; ++attempt) {
      std::shuffle(numbers.begin(), numbers.end(), dice);
      const auto wanted = faces_of(type, numbers);
      std::vector<Face> faces(wanted.begin(), wanted.end());
      std::shuffle(faces.begin(), faces.end(), dice);
      for (auto& face : faces)
        std::rotate(face.begin(), face.begin() + static_cast<int>(dice() % face.size()),
                    face.end());
      std::vector<int32_t> points;
      REQUIRE(type_of(faces, points) == type);
      CHECK(faces_of(type, points) == wanted);
    }
  }
}

TEST_CASE("Other cells are polyhedra") {
  std::vector<int32_t> points;
  // A prism over a pentagon.
  CHECK(type_of({{4, 3, 2, 1, 0},
                 {5, 6, 7, 8, 9},
                 {0, 1, 6, 5},
                 {1, 2, 7, 6},
                 {2, 3, 8, 7},
                 {3, 4, 9, 8},
                 {4, 0, 5, 9}},
                points) == 42);
  CHECK(points == std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  // As many triangles and quadrilaterals as a wedge has, around a point in which two of them meet
  // only at a corner.
  CHECK(type_of({{0, 1, 2}, {3, 4, 5}, {0, 1, 4, 3}, {1, 2, 6, 4}, {2, 0, 3, 5}}, points) == 42);
}

TEST_CASE("The cells of a mesh have its numbers, and polyhedra its faces") {
  const TwoCubes cubes(true);
  const auto table = volume_cells(cubes.mesh());
  CHECK(table.types == std::vector<uint8_t>{42, 12});
  CHECK(table.ids == std::vector<int64_t>{1, 2});
  CHECK(table.polyhedron_offsets == std::vector<int32_t>{0, 7, 7});
  CHECK(table.face_offsets == std::vector<int32_t>{0, 4, 8, 12, 16, 20, 23, 26});
  CHECK(table.view().raw("fluid").face_count == 7);
  const auto whole = volume_cells(TwoCubes(false).mesh());
  CHECK(whole.types == std::vector<uint8_t>{12, 12});
  CHECK(whole.view().raw("fluid").face_count == 0);
  const auto faces = faces_of(12, {whole.points.begin() + 8, whole.points.end()});
  CHECK(faces.count(turned({cubes.interior_points.rbegin(), cubes.interior_points.rend()})) == 1);
}

TEST_CASE("Boundary faces have the points that they need, parents and zones") {
  TwoCubes cubes(true);
  cubes.boundary_cells.back() = -1;
  auto mesh = cubes.mesh();
  const std::vector<int64_t> cells = {70, 90};
  mesh.cell_numbers = cells.data();
  const auto table = boundary_faces(mesh);
  CHECK(table.types == std::vector<uint8_t>{9, 9, 9, 9, 5, 5, 9, 9, 9, 9, 9});
  CHECK(table.parents == std::vector<int64_t>{70, 70, 70, 70, 70, 70, 90, 90, 90, 90, 0});
  CHECK(table.patches == std::vector<int32_t>{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1});
  CHECK(table.flags.back() == 32);
  CHECK(table.flags.front() == 0);
  CHECK(table.points_used.size() == 12);
  mesh.boundary_faces = 1;
  const auto one = boundary_faces(mesh);
  CHECK(one.points_used == std::vector<int32_t>{0, 1, 6, 7});
  CHECK(one.points == std::vector<int32_t>{0, 1, 3, 2});
}

TEST_CASE("An interior face belongs to the rank of its first cell") {
  TwoCubes cubes(false);
  auto mesh = cubes.mesh();
  CHECK(interior_faces(mesh).parents == std::vector<int64_t>{1});
  CHECK(interior_faces(mesh).flags == std::vector<uint8_t>{0});
  cubes.interior_cells = {2, 0};  // the first one is of the halo
  mesh = cubes.mesh();
  CHECK(interior_faces(mesh).parents == std::vector<int64_t>{1});
  CHECK(interior_faces(mesh).flags == std::vector<uint8_t>{1});
}

TEST_CASE("A rank without cells has empty tables") {
  pillion_saturne_mesh mesh{};
  const int32_t zero = 0;
  mesh.interior_offsets = mesh.boundary_offsets = &zero;
  for (const auto& table : {volume_cells(mesh), boundary_faces(mesh), interior_faces(mesh)}) {
    CHECK(table.types.empty());
    CHECK(table.offsets == std::vector<int32_t>{0});
  }
}

TEST_CASE("The catalogue has the registry's fields under names that Pillion allows") {
  Case of;
  of.zones = {"all", "In\"let"};
  of.fields = {{"velocity", 1, 3, false},
               {"velocity", 1, 3, true},
               {"smagorinsky_constant^2", 1, 1, false},
               {"smagorinsky_constant_2", 1, 1, false},
               {"temperature", 1, 1, false},
               {"disale", 4, 3, false},
               {"yplus", 3, 1, false},
               {"cell_volume", 1, 1, false, true},
               {"inner_mass_flux", 2, 1, false}};
  const auto yaml = YAML::Load(catalogue_text(of));
  CHECK(yaml["fields"]["velocity_previous"]["units"].as<std::string>() == "m/s");
  CHECK(yaml["fields"]["smagorinsky_constant_2"]);
  CHECK(yaml["fields"]["smagorinsky_constant_2_"]);
  CHECK(yaml["fields"]["disale"]["centering"].as<std::string>() == "point");
  CHECK(yaml["fields"]["yplus"]["mesh"].as<std::string>() == "boundary");
  CHECK(yaml["fields"]["cell_volume"]["constant"].as<bool>());
  CHECK_FALSE(yaml["fields"]["yplus"]["constant"]);
  CHECK(yaml["fields"]["inner_mass_flux"]["mesh"].as<std::string>() == "interior_faces");
  CHECK(yaml["meshes"]["boundary"]["patches"][1].as<std::string>() == "In\"let");
  CHECK(yaml["fields"]["temperature"]["units"].as<std::string>() == "K");
  CHECK_FALSE(yaml["meshes"]["fluid"]["weight"]);
  of.fields.push_back({"porosity", 1, 1, false});
  CHECK(YAML::Load(catalogue_text(of))["meshes"]["fluid"]["weight"].as<std::string>() ==
        "porosity");
  of.is_celsius = true;
  CHECK(YAML::Load(catalogue_text(of))["fields"]["temperature"]["units"].as<std::string>() ==
        "degC");
  CHECK(names_of({{"1st", 1, 1, false}}) == std::vector<std::string>{"f_1st"});
}

}  // namespace pillion::code_saturne
