// SPDX-License-Identifier: BSD-3-Clause
// Planes through cells of every shape: areas and means in pixels against those of the section, and
// pieces that fill the cells.
#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "common/tetrahedra.hpp"
#include "slice/cell_raster.hpp"

using namespace pillion;
using namespace pillion::stages;

namespace {

/// Cells that fill the box of 2 by 1 by 1: a hexahedron, and a wedge, a pyramid and two tetrahedra.
struct Boxful {
  std::vector<double> places = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1,
                                1, 1, 1, 0, 1, 1, 2, 0, 0, 2, 1, 0, 2, 0, 1, 2, 1, 1};
  std::vector<uint8_t> types = {12, 13, 14, 10};
  std::vector<int64_t> offsets = {0, 8, 14, 19, 23};
  // The half of the second cube below the plane x - 1 + z = 1 is the wedge; the other half is a
  // pyramid on its face x = 2 and a tetrahedron.
  std::vector<int64_t> points = {0, 1, 2, 3,  4,  5, 6, 7, 1, 8,  5, 2,
                                 9, 6, 8, 10, 11, 9, 6, 8, 5, 10, 6};
  pillion_mesh mesh{};
  pillion_connectivity cells{};
  pillion_array coordinates{};
  pillion_block raw{};

  stage::Block block() {
    mesh.kind = PILLION_UNSTRUCTURED;
    mesh.axes = 3;
    cells.types = types.data();
    cells.offsets = offsets.data();
    cells.points = points.data();
    coordinates.data = places.data();
    coordinates.type = PILLION_FLOAT64;
    coordinates.components = 3;
    coordinates.strides[0] = 24;
    coordinates.strides[3] = 8;
    raw.cells = {4, 4};
    raw.points.owned = raw.points.total = 12;
    raw.connectivity = &cells;
    raw.coordinates = &coordinates;
    return stage::Block(&raw);
  }
};

struct Pixels {
  std::vector<double> area, sum;
  explicit Pixels(const slice::CellRaster& raster)
      : area(static_cast<size_t>(raster.size())), sum(area.size()) {}
  auto adding() {
    return [this](size_t pixel, double part, double mean) {
      area[pixel] += part;
      sum[pixel] += part * mean;
    };
  }
};

double linear(const Vec3& p) { return 1 + 2 * p[0] - 3 * p[1] + 0.5 * p[2]; }

}  // namespace

TEST_CASE("pieces fill cells") {
  Boxful scene;
  const auto block = scene.block();
  CellPieces pieces(scene.mesh, block);
  double all = 0;
  for (int64_t c = 0; c < 4; ++c) {
    double volume = 0;
    for (const auto& piece : pieces.tetrahedra(c, [](int64_t) { return 0.0; })) {
      const auto& p = piece.points;
      volume += piece.sign *
                std::abs(dot(p[1].place - p[0].place,
                             cross(p[2].place - p[0].place, p[3].place - p[0].place))) /
                6;
    }
    CHECK(volume == doctest::Approx(std::abs(
                        pieces.cells().measure(c, *shape_of(scene.types[size_t(c)])).size)));
    all += volume;
  }
  CHECK(all == doctest::Approx(2));
}

TEST_CASE("planes across cells fill the pixels of their section") {
  Boxful scene;
  const auto block = scene.block();
  CellPieces pieces(scene.mesh, block);
  Vec3 lo{{9, 9, 9}}, hi{{-9, -9, -9}};
  slice::enclose(pieces, 3, lo, hi);
  CHECK(hi[0] - lo[0] == 2);
  for (const size_t axis : {0, 1, 2})
    // The last is where cells meet: each of them is cut once.
    for (const double at : {0.3, 0.77, 1.0}) {
      CAPTURE(axis);
      CAPTURE(at);
      slice::CellRaster raster(static_cast<int32_t>(axis), lo, hi, 10);
      Pixels pixels(raster);
      const std::vector<double> planes = {at - (axis > 0 && at == 1.0 ? 1e-9 : 0)};
      const auto value = [&](int64_t point) {
        return linear(Vec3{{scene.places[3 * size_t(point)], scene.places[3 * size_t(point) + 1],
                            scene.places[3 * size_t(point) + 2]}});
      };
      for (int64_t c = 0; c < 4; ++c)
        slice::cut_cell(pieces, c, axis, planes, raster, value, pixels.adding());
      for (int64_t v = 0; v < raster.count(1); ++v)
        for (int64_t u = 0; u < raster.count(0); ++u) {
          const auto p = static_cast<size_t>(v * raster.count(0) + u);
          REQUIRE(pixels.area[p] == doctest::Approx(raster.side() * raster.side()));
          Vec3 place;
          place[axis] = planes[0];
          place[raster.along(0)] = raster.centre(0, u);
          place[raster.along(1)] = raster.centre(1, v);
          REQUIRE(pixels.sum[p] / pixels.area[p] == doctest::Approx(linear(place)));
        }
    }
}

TEST_CASE("cells of boxes are hexahedra at coordinates") {
  // 3 x 2 x 1 cells, from cell (4, 0, 2) of the mesh.
  const std::array<std::vector<double>, 3> faces = {
      {{0, 1, 2, 3, 4, 6, 9, 13}, {0, 1, 3}, {0, 1, 2, 5}}};
  pillion_mesh mesh{};
  mesh.kind = PILLION_RECTILINEAR;
  mesh.axes = 3;
  pillion_block raw{};
  raw.allocated = {{4, 0, 2}, {7, 2, 3}};
  for (size_t d = 0; d < 3; ++d) {
    mesh.coordinates[d] = faces[d].data();
    mesh.cells[d] = static_cast<int64_t>(faces[d].size()) - 1;
  }
  // Its fifth cell is covered.
  std::vector<uint8_t> bits = {0, 0, 0, 0, PILLION_CELL_REFINED, 0};
  pillion_array flags{};
  flags.data = bits.data();
  flags.type = PILLION_UINT8;
  flags.strides[0] = 1;
  flags.strides[1] = 3;
  flags.strides[2] = 6;
  raw.flags = &flags;
  CellPieces pieces(mesh, stage::Block(&raw));
  auto& cells = pieces.cells();
  REQUIRE(cells.count() == 6);
  for (int64_t c = 0; c < 6; ++c) {
    CAPTURE(c);
    CHECK(cells.type(c) == 12);
    CHECK(cells.is_part(c, 3) == (c != 4));
    const double width = c % 3 == 0 ? 2 : c % 3 == 1 ? 3 : 4, height = c < 3 ? 1 : 2;
    CHECK(cells.measure(c, *shape_of(12)).size == doctest::Approx(width * height * 3));
  }
  CHECK(cells.name(5) == "(6, 1, 2)");
  const auto corner = cells.places(5)[6];
  CHECK(corner[0] == 13);
  CHECK(corner[1] == 3);
  CHECK(corner[2] == 5);
}

TEST_CASE("a polygon that is not convex covers its pixels alone") {
  // A square of side 4 without the square of side 2 at its upper right.
  Boxful scene;
  scene.places = {0, 0, 0, 4, 0, 0, 4, 2, 0, 2, 2, 0, 2, 4, 0, 0, 4, 0};
  scene.types = {7, 7, 7, 7};
  scene.points = {0, 1, 2, 3, 4, 5};
  scene.offsets = {0, 6, 6, 6, 6};
  const auto block = scene.block();
  CellPieces pieces(scene.mesh, block);
  slice::CellRaster raster(2, {{0, 0, 0}}, {{4, 4, 0}}, 4);
  Pixels pixels(raster);
  slice::flatten_cell(
      pieces, 0, raster, [](int64_t) { return 5.0; }, pixels.adding());
  for (size_t p = 0; p < 16; ++p) {
    const bool inside = p % 4 < 2 || p / 4 < 2;
    CHECK(pixels.area[p] == doctest::Approx(inside ? 1 : 0).scale(1));
  }
  CHECK(std::accumulate(pixels.sum.begin(), pixels.sum.end(), 0.0) == doctest::Approx(60));
}
