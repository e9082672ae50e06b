// SPDX-License-Identifier: BSD-3-Clause
// The datasets of an UnstructuredGrid for blocks made by hand: a hexahedron below a polyhedron in
// one, a tetrahedron in another that has neither faces nor flags.
#include <doctest/doctest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "write/vtkhdf/grid.hpp"

namespace {

using namespace pillion::stages::write_vtkhdf;
namespace stage = pillion::stage;

pillion_array array_of(const void* data, pillion_type type, int32_t components, int64_t stride) {
  pillion_array out{};
  out.size = sizeof out;
  out.data = data;
  out.type = type;
  out.components = components;
  const int64_t element = type == PILLION_FLOAT64 ? 8 : type == PILLION_UINT8 ? 1 : 4;
  out.strides[0] = stride * element;
  out.strides[3] = element;
  out.memory_space = PILLION_MEMORY_HOST;
  return out;
}

struct HandMade {
  std::vector<uint8_t> types, flag_values;
  std::vector<int64_t> offsets, points, face_offsets, face_points, cell_faces, faces, ids;
  std::vector<double> places;     // x, y, z, and one that is not read
  std::vector<float> at_cells;    // two components
  std::vector<double> at_points;  // one component
  pillion_connectivity connectivity{};
  pillion_array coordinates{}, cell_array{}, point_array{}, flags{};
  const pillion_array* arrays[2]{};
  pillion_block block{};

  const pillion_block* finish() {
    const auto cells = static_cast<int64_t>(types.size());
    const auto point_count = static_cast<int64_t>(places.size() / 4);
    for (int64_t c = 0; c < cells; ++c) {
      at_cells.push_back(static_cast<float>(c) + 0.5F);
      at_cells.push_back(static_cast<float>(c) - 0.5F);
    }
    for (int64_t p = 0; p < point_count; ++p) at_points.push_back(static_cast<double>(p) / 4);
    connectivity.size = sizeof connectivity;
    connectivity.types = types.data();
    connectivity.offsets = offsets.data();
    connectivity.points = points.data();
    if (!faces.empty()) {
      connectivity.face_count = static_cast<int64_t>(face_offsets.size()) - 1;
      connectivity.face_offsets = face_offsets.data();
      connectivity.face_points = face_points.data();
      connectivity.polyhedron_offsets = cell_faces.data();
      connectivity.polyhedron_faces = faces.data();
    }
    if (!ids.empty()) connectivity.cell_ids = ids.data();
    coordinates = array_of(places.data(), PILLION_FLOAT64, 3, 4);
    cell_array = array_of(at_cells.data(), PILLION_FLOAT32, 2, 2);
    point_array = array_of(at_points.data(), PILLION_FLOAT64, 1, 1);
    flags = array_of(flag_values.data(), PILLION_UINT8, 1, 1);
    arrays[0] = &cell_array;
    arrays[1] = &point_array;
    block.size = sizeof block;
    block.array_count = 2;
    block.arrays = arrays;
    block.cells = {cells, cells};
    block.points = {point_count, point_count};
    block.connectivity = &connectivity;
    block.coordinates = &coordinates;
    if (!flag_values.empty()) block.flags = &flags;
    return &block;
  }
};

HandMade tower() {
  HandMade out;
  for (int k = 0; k < 3; ++k)
    for (int j = 0; j < 2; ++j)
      for (int i = 0; i < 2; ++i) {
        const double at[] = {1.0 * i, 1.0 * j, 1.0 * k, -9.0};
        out.places.insert(out.places.end(), at, at + 4);
      }
  out.types = {12, 42};
  out.flag_values = {0, PILLION_CELL_DUPLICATE};
  out.offsets = {0, 8, 16};
  out.points = {0, 1, 3, 2, 4, 5, 7, 6, 4, 5, 6, 7, 8, 9, 10, 11};
  out.face_offsets = {0, 4, 8, 12, 16, 20, 24};
  out.face_points = {4, 6, 7, 5, 8, 9, 11, 10, 4, 5, 9, 8, 6, 10, 11, 7, 4, 8, 10, 6, 5, 7, 11, 9};
  out.cell_faces = {0, 0, 6};
  out.faces = {0, 1, 2, 3, 4, 5};
  out.ids = {70, 80};
  return out;
}

HandMade tetrahedron() {
  HandMade out;
  out.places = {5, 0, 0, -9, 6, 0, 0, -9, 5, 1, 0, -9, 5, 0, 1, -9};
  out.types = {10};
  out.offsets = {0, 4};
  out.points = {0, 1, 2, 3};
  return out;
}

Wanted wanted() {
  pillion_field_description flux{}, level{};
  flux.mesh_kind = level.mesh_kind = PILLION_UNSTRUCTURED;
  flux.units = level.units = "";
  flux.type = PILLION_FLOAT32;
  flux.components = 2;
  flux.centering = PILLION_CELL;
  level.type = PILLION_FLOAT64;
  level.components = 1;
  level.centering = PILLION_POINT;
  return {.names = {"flux", "level"}, .fields = {flux, level}};
}

/// All rows of a dataset.
template <class T>
std::vector<T> rows(const std::vector<Dataset>& datasets, const std::string& name) {
  std::vector<T> out;
  for (const auto& of : datasets) {
    if (of.path != "/VTKHDF/" + name) continue;
    for (const auto& piece : of.pieces) {
      pillion::stages::Bytes memory;
      const auto bytes = piece.source(memory);
      REQUIRE(static_cast<int64_t>(bytes.size()) == piece.count * of.row_bytes());
      pillion::stages::append(out, bytes);
    }
    return out;
  }
  FAIL("there is no " << name);
  return out;
}

using Integers = std::vector<int64_t>;

}  // namespace

TEST_CASE("blocks of an unstructured mesh are parts of a grid") {
  auto first = tower(), second = tetrahedron();
  const stage::Block blocks[] = {stage::Block(first.finish()), stage::Block(second.finish())};
  GridParts parts;
  for (const auto& block : blocks) parts.look_at(block);
  CHECK(parts.polyhedra);
  CHECK(parts.flags);
  CHECK(parts.cell_ids);
  CHECK_FALSE(parts.point_ids);
  CHECK_FALSE(parts.patches);
  const auto what = wanted();
  Grid grid(what, GridParts::of_numbers(parts.as_numbers()));
  for (const auto& block : blocks) grid.add_cells(block);
  CHECK(grid.parts() == 2);
  const auto found = grid.take();
  CHECK(rows<int64_t>(found, "NumberOfPoints") == Integers{12, 4});
  CHECK(rows<int64_t>(found, "NumberOfCells") == Integers{2, 1});
  CHECK(rows<int64_t>(found, "NumberOfConnectivityIds") == Integers{16, 4});
  CHECK(rows<int64_t>(found, "Offsets") == Integers{0, 8, 16, 0, 4});
  auto points = first.points;
  points.insert(points.end(), {0, 1, 2, 3});
  CHECK(rows<int64_t>(found, "Connectivity") == points);
  CHECK(rows<uint8_t>(found, "Types") == std::vector<uint8_t>{12, 42, 10});
  const auto places = rows<double>(found, "Points");
  REQUIRE(places.size() == 48);
  CHECK(std::vector<double>(places.begin() + 30, places.begin() + 42) ==
        std::vector<double>{0, 1, 2, 1, 1, 2, 5, 0, 0, 6, 0, 0});
  CHECK(rows<int64_t>(found, "NumberOfFaces") == Integers{6, 0});
  CHECK(rows<int64_t>(found, "NumberOfFaceConnectivityIds") == Integers{24, 0});
  CHECK(rows<int64_t>(found, "NumberOfPolyhedronToFaceIds") == Integers{6, 0});
  CHECK(rows<int64_t>(found, "FaceConnectivity") == first.face_points);
  CHECK(rows<int64_t>(found, "FaceOffsets") == Integers{0, 4, 8, 12, 16, 20, 24, 0});
  CHECK(rows<int64_t>(found, "PolyhedronToFaces") == first.faces);
  CHECK(rows<int64_t>(found, "PolyhedronOffsets") == Integers{0, 0, 6, 0, 0});
  CHECK(rows<uint8_t>(found, "CellData/vtkGhostType") == std::vector<uint8_t>{0, 1, 0});
  CHECK(rows<int64_t>(found, "CellData/GlobalCellIds") == Integers{70, 80, -1});
  CHECK(rows<float>(found, "CellData/flux") ==
        std::vector<float>{0.5F, -0.5F, 1.5F, 0.5F, 0.5F, -0.5F});
  CHECK(rows<double>(found, "PointData/level").size() == 16);
  CHECK(rows<double>(found, "PointData/level")[13] == 0.25);
}

TEST_CASE("a grid has one part at least") {
  const auto what = wanted();
  Grid grid(what, {});
  grid.add_nothing();
  const auto found = grid.take();
  CHECK(rows<int64_t>(found, "NumberOfCells") == Integers{0});
  CHECK(rows<int64_t>(found, "Offsets") == Integers{0});
  CHECK(rows<double>(found, "Points").empty());
}

TEST_CASE("a hexahedron of any order has each point once, corners first") {
  for (const int32_t order : {1, 2, 3, 6}) {
    const auto nodes = lagrange_nodes(order);
    const int64_t n = order + 1;
    CHECK(std::set<int64_t>(nodes.begin(), nodes.end()).size() == static_cast<size_t>(n * n * n));
    const Integers corners{0,
                           n - 1,
                           n * n - 1,
                           n * n - n,
                           n * n * (n - 1),
                           n * n * (n - 1) + n - 1,
                           n * n * n - 1,
                           n * n * n - n};
    CHECK(Integers(nodes.begin(), nodes.begin() + 8) == corners);
    CHECK(split_nodes(order).size() == static_cast<size_t>(8 * order * order * order));
  }
  CHECK(split_nodes(1) == lagrange_nodes(1));
  CHECK(split_nodes(1, 2) == lagrange_nodes(1, 2));
  CHECK(lagrange_nodes(2, 2) == std::vector<int64_t>{0, 2, 8, 6, 1, 5, 7, 3, 4});
}
