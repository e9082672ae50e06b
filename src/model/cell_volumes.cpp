// SPDX-License-Identifier: BSD-3-Clause
// Volumes of cells by their points, with the formulas that stages have.
#include "model/cell_volumes.hpp"

#include <pillion/stage.h>

#include <array>
#include <pillion/stage/cell_shapes.hpp>
#include <vector>

#include "base/error.hpp"
#include "model/topology.hpp"

namespace pillion::model {

namespace {

using stage::Vec3;

constexpr uint8_t left_out = PILLION_CELL_DUPLICATE | PILLION_CELL_REFINED | PILLION_CELL_HIDDEN;

const Array* find(const Block& block, const std::string& field) {
  const auto at = block.arrays.find(field);
  return at == block.arrays.end() ? nullptr : &at->second;
}

template <class T>
Vec3 place_of(const Array& points, int64_t first) {
  Vec3 out;
  const auto* data = static_cast<const T*>(points.data);
  for (int32_t c = 0; c < points.components; ++c)
    out[static_cast<size_t>(c)] = static_cast<double>(data[first + points.component_at(c)]);
  return out;
}

Vec3 place_at(const Array& points, int64_t first) {
  return points.type == ElementType::Float32 ? place_of<float>(points, first)
                                             : place_of<double>(points, first);
}

std::string inverted(const std::string& cell, const char* shape, double volume,
                     const std::string& remedy) {
  return fmt::format("cell {} is a {} that is inverted: its volume is {:.6g}; {}", cell, shape,
                     volume, remedy);
}

// Areas and lengths have no sign, and neither have shapes that go either way.
std::string fault_of_cells(const Mesh& mesh, const Topology& cells, const Array& points) {
  int64_t counted = 0, whole = 0;
  std::vector<Vec3> places;
  for (size_t c = 0; c < cells.types.size(); ++c) {
    if (!cells.flags.empty() && (cells.flags[c] & left_out) != 0) continue;
    ++counted;
    const auto* shape = stage::shape_of(cells.types[c]);
    const auto* type = find_cell_type(cells.types[c]);
    whole += type != nullptr && type->dimensions == mesh.axes ? 1 : 0;
    if (shape == nullptr && type != nullptr)
      return fmt::format(
          "cell {} is a {} of {} points, of a higher order than quadratic cells. Share elements of "
          "higher order on quadrilaterals and hexahedra as a mesh of kind: spectral, and other "
          "cells with the points of quadratic ones",
          c, type->name, cells.offsets[c + 1] - cells.offsets[c]);
    if (shape == nullptr) continue;
    places.clear();
    for (int64_t p = cells.offsets[c]; p < cells.offsets[c + 1]; ++p)
      places.push_back(place_at(points, cells.points[static_cast<size_t>(p)] * points.strides[0]));
    if (const auto place = stage::misplaced_point(*shape, places))
      return fmt::format("cell {} is a {}{}; list its points in the order of VTK's type {}", c,
                         shape->name, place->sentence(), shape->type);
    if (mesh.axes < 3 || shape->dimensions < 3 || shape->either_way) continue;
    const auto found = stage::measure(*shape, places);
    if (stage::is_inverted(found, places))
      return inverted(fmt::format("{}", c), shape->name, found.size,
                      fmt::format("list its points in the order of VTK's type {}", shape->type));
  }
  if (counted == 0 || whole > 0) return {};
  return fmt::format(
      "none of its {} cells has the {} dimensions of the mesh; set 'dimensions' of the mesh",
      counted, mesh.axes);
}

double value_of(const Array& array, const std::array<int64_t, 3>& cell) {
  const auto& s = array.strides;
  const int64_t at = cell[0] * s[0] + cell[1] * s[1] + cell[2] * s[2];
  return with_type(array.type, array.data,
                   [at](const auto* data) { return static_cast<double>(data[at]); });
}

std::string name_of_cell(const Mesh& mesh, const Box& box, const std::array<int64_t, 3>& cell) {
  if (!has_boxes(mesh.kind)) return fmt::format("{}", cell[0]);
  std::array<int64_t, 3> index{};
  for (size_t d = 0; d < 3; ++d) index[d] = box.lo[d] + cell[d];
  return fmt::format("({})", fmt::join(index.begin(), index.begin() + mesh.axes, ", "));
}

std::string fault_of_weight(const Mesh& mesh, const Block& block) {
  const auto* weight = find(block, mesh.weight);
  if (weight == nullptr || weight->data == nullptr) return {};
  for (int64_t k = 0; k < block.box.extent(2); ++k)
    for (int64_t j = 0; j < block.box.extent(1); ++j)
      for (int64_t i = 0; i < block.box.extent(0); ++i)
        if (const double part = value_of(*weight, {i, j, k}); !(part >= 0 && part <= 1))
          return fmt::format(
              "the weight '{}' of cell {} is {:.6g}; it is the part of its volume that a cell has, "
              "from 0 to 1",
              mesh.weight, name_of_cell(mesh, block.box, {i, j, k}), part);
  return {};
}

std::string fault_of_box(const Mesh& mesh, const Box& box, const Array& points, const Array* mask) {
  if (mesh.axes < 3) return {};
  const auto* shape = stage::shape_of(12);
  // Corners in the order of VTK's hexahedron.
  constexpr int64_t corners[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                     {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
  std::array<Vec3, 8> places;
  const auto& s = points.strides;
  for (int64_t k = 0; k < box.extent(2); ++k)
    for (int64_t j = 0; j < box.extent(1); ++j)
      for (int64_t i = 0; i < box.extent(0); ++i) {
        if (mask != nullptr && value_of(*mask, {i, j, k}) == 0) continue;
        for (size_t n = 0; n < 8; ++n)
          places[n] = place_at(points, (i + corners[n][0]) * s[0] + (j + corners[n][1]) * s[1] +
                                           (k + corners[n][2]) * s[2]);
        const auto found = stage::measure(*shape, places);
        if (stage::is_inverted(found, places))
          return inverted(fmt::format("({}, {}, {})", box.lo[0] + i, box.lo[1] + j, box.lo[2] + k),
                          shape->name, found.size, "its coordinates must be right-handed");
      }
  return {};
}

}  // namespace

std::string fault_of_volumes(const Mesh& mesh, const Block& block) {
  if (!mesh.weight.empty())
    if (auto fault = fault_of_weight(mesh, block); !fault.empty()) return fault;
  if (mesh.kind == MeshKind::Curvilinear) {
    const auto* points = find(block, mesh.coordinates);
    if (points == nullptr || points->data == nullptr) return {};
    return fault_of_box(mesh, block.box, *points, find(block, mesh.mask));
  }
  if (!has_points(mesh.kind)) return {};
  const auto* cells = find(block, topology_of(mesh.name));
  const auto* points = find(block, coordinates_of(mesh.name));
  if (cells == nullptr || points == nullptr) return {};
  const auto topology = read_topology(
      {static_cast<const std::byte*>(cells->data), static_cast<size_t>(cells->extents[0])});
  return fault_of_cells(mesh, topology, *points);
}

}  // namespace pillion::model
