// SPDX-License-Identifier: BSD-3-Clause
// Rectilinear meshes and metrics in the catalogue, where mistakes in them are pointed at, and the
// faces of coarse meshes.
#include "model/geometry.hpp"

#include <doctest/doctest.h>

#include "model/coarsen.hpp"
#include "model/configuration.hpp"

using namespace pillion;
using namespace pillion::model;

namespace {

Mesh read(const std::string& mesh) {
  return read_configuration("meshes: {m: {" + mesh + "}}\nanalyses: {}\n", "f", {}, {}, 0)
      .catalogue.mesh("m");
}

std::string error_of(const std::string& mesh) {
  try {
    (void)read(mesh);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("cells of a rectilinear mesh follow from its coordinates, or coordinates come later") {
  const auto mesh = read("kind: rectilinear, coordinates: [[0, 1, 4], [-2, -1.5, 0, 7]]");
  CHECK(mesh.kind == MeshKind::Rectilinear);
  CHECK(has_boxes(mesh.kind));
  CHECK(mesh.axes == 2);
  CHECK(mesh.cells == std::array<int64_t, 3>{2, 3, 1});
  CHECK(mesh.origin[1] == -2);
  CHECK(mesh.length[1] == 9);
  CHECK(mesh.faces[0] == std::vector<double>{0, 1, 4});
  const auto later = read("kind: rectilinear, cells: [4, 5, 6], periodic: [true, false, false]");
  CHECK(later.faces.empty());
  CHECK(later.cells[2] == 6);
  CHECK(later.periodic[0]);
}

TEST_CASE("a sphere has a radius") {
  CHECK(read("kind: uniform, cells: [4, 2], length: [360, 180], origin: [0, -90], "
             "metric: spherical")
            .radius == 1);
  CHECK(read("kind: uniform, cells: [4, 2], length: [360, 180], origin: [0, -90], radius: 6371, "
             "metric: spherical")
            .radius == 6371);
  const auto shell = read(
      "kind: rectilinear, coordinates: [[0, 90], [-90, 0, 90], [-4, -1, 0]], radius: 10, "
      "metric: spherical");
  CHECK(name_of_axis(shell, 2) == "height");
  const auto ball =
      read("kind: rectilinear, coordinates: [[0, 90], [-90, 0, 90], [0, 1]], metric: spherical");
  CHECK(ball.radius == 0);
  CHECK(name_of_axis(ball, 2) == "radius");
}

TEST_CASE("what cannot be is refused where it stands") {
  const std::pair<const char*, const char*> mistakes[] = {
      {"kind: rectilinear", "'coordinates'"},
      {"kind: rectilinear, coordinates: [[0, 1, 1]]", "number 2 is 1 after 1"},
      {"kind: rectilinear, coordinates: [[0, 1, .inf]]", "expected a number, found '.inf'"},
      {"kind: rectilinear, coordinates: [[0]]", "at least two faces"},
      {"kind: rectilinear, coordinates: 3", "1 to 3 lists"},
      {"kind: rectilinear, cells: [2], coordinates: [[0, 1]]", "2 cells, so 3 coordinates"},
      {"kind: rectilinear, cells: [1, 1], coordinates: [[0, 1]]", "of 1 axes, and cells of 2"},
      {"kind: rectilinear, coordinates: [[0, 1]], length: [3]", "unknown key 'length'"},
      {"kind: uniform, cells: [2, 2], metric: sphere", "unknown metric 'sphere'"},
      {"kind: uniform, cells: [2, 2], radius: 2", "set 'metric: spherical'"},
      {"kind: uniform, cells: [2, 2], metric: spherical, radius: -2", "radius must be above 0"},
      {"kind: uniform, cells: [2], metric: spherical", "has 2 or 3 axes"},
      {"kind: uniform, cells: [2, 2], length: [360, 180], metric: spherical",
       "latitude goes from 0 to 180"},
      {"kind: uniform, cells: [2, 2], length: [361, 90], metric: spherical",
       "longitude goes from 0 to 361"},
      {"kind: uniform, cells: [2, 2], periodic: true, metric: spherical",
       "latitude cannot be periodic"},
      {"kind: uniform, cells: [2, 2], origin: [-1, 0], metric: cylindrical", "radius begins at -1"},
      {"kind: rectilinear, coordinates: [[0, 1], [0, 1], [-2, 0]], radius: 1, metric: spherical",
       "height begins at -2"},
      {"kind: particles, metric: spherical", "unknown key 'metric'"},
  };
  for (const auto& [mesh, expected] : mistakes) {
    const auto error = error_of(mesh);
    CAPTURE(error);
    CHECK(error.find("f:1: ") == 0);
    CHECK(error.find(expected) != std::string::npos);
  }
}

TEST_CASE("coarse faces fill the mesh and lie midway between the centres that remain") {
  const auto mesh = read("kind: rectilinear, coordinates: [[0, 2, 4, 8, 10, 20]]");
  const auto coarse = coarse_mesh(mesh, 1);
  CHECK(coarse.cells[0] == 3);
  // Centres of cells 0, 2 and 4: 1, 6 and 15.
  CHECK(coarse.faces[0] == std::vector<double>{0, 3.5, 10.5, 20});
  CHECK(coarse_mesh(mesh, 0).faces == mesh.faces);
  CHECK(coarse_mesh(mesh, 5).faces[0] == std::vector<double>{0, 20});
}
