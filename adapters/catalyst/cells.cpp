// SPDX-License-Identifier: BSD-3-Clause
// Reading cells. Blueprint has three ways to list them: all of one shape, shapes by number with a
// map of names, and a list of groups that each have one shape.
#include "cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <pillion/cells.hpp>
#include <pillion/error.hpp>
#include <string>

namespace pillion::catalyst {

namespace {

constexpr int32_t polygon = 7, polyhedron = 42;

struct Shape {
  int32_t type;  ///< VTK's
  int32_t dimensions;
};

const std::map<std::string, Shape>& shapes() {
  static const std::map<std::string, Shape> all = {{"point", {1, 0}},
                                                   {"line", {3, 1}},
                                                   {"tri", {5, 2}},
                                                   {"quad", {9, 2}},
                                                   {"polygonal", {polygon, 2}},
                                                   {"tet", {10, 3}},
                                                   {"hex", {12, 3}},
                                                   {"wedge", {13, 3}},
                                                   {"pyramid", {14, 3}},
                                                   {"polyhedral", {polyhedron, 3}},
                                                   {"polygon", {polygon, 2}},
                                                   {"polyhedron", {polyhedron, 3}}};
  return all;
}

Shape shape_called(const std::string& name, const Node& where) {
  const auto found = shapes().find(name);
  if (found == shapes().end())
    refuse(fmt::format("'{}' has cells of the shape '{}', which Pillion does not know",
                       where.path(), name));
  return found->second;
}

/// Where the indices of each cell are in its connectivity.
struct Ranges {
  std::vector<int64_t> first, size;
  [[nodiscard]] size_t count() const { return size.size(); }
};

/// By `sizes` and `offsets`, if they are there; otherwise `each` indices for each cell.
Ranges ranges_of(const Node& elements, int64_t length, int64_t each) {
  Ranges out;
  const auto sizes = elements.find("sizes");
  const auto offsets = elements.find("offsets");
  if (!sizes && each <= 0)
    refuse(fmt::format("'{}/sizes' is missing, which cells of this shape need", elements.path()));
  const Array given = sizes ? sizes->array() : Array{};
  const Array starts = offsets ? offsets->array() : Array{};
  if (!sizes && length % each != 0)
    refuse(fmt::format("'{}/connectivity' has {} indices; its cells have {} each", elements.path(),
                       length, each));
  const auto count = static_cast<size_t>(sizes ? given.count : length / each);
  if (sizes && offsets && starts.count < given.count)
    refuse(fmt::format("'{}/offsets' has {} entries and 'sizes' has {}", elements.path(),
                       starts.count, given.count));
  int64_t next = 0;
  for (size_t c = 0; c < count; ++c) {
    const auto at = static_cast<int64_t>(c);
    const int64_t size = sizes ? given.integer(at) : each;
    const int64_t first = sizes && offsets ? starts.integer(at) : next;
    if (size < 0 || first < 0 || size > length || first > length - size)
      refuse(
          fmt::format("cell {} of '{}' has {} indices from number {} on, and 'connectivity' has {}",
                      c, elements.path(), size, first, length));
    out.first.push_back(first);
    out.size.push_back(size);
    next = first + size;
  }
  return out;
}

/// VTK's type of each cell, and the dimensions of each.
std::vector<Shape> shapes_of(const Node& elements, const Array& numbers) {
  std::map<int64_t, Shape> by_number;
  for (const auto& entry : elements.at("shape_map").children())
    by_number[entry.integer()] = shape_called(entry.name(), elements);
  std::vector<Shape> out;
  out.reserve(static_cast<size_t>(numbers.count));
  for (int64_t c = 0; c < numbers.count; ++c) {
    const auto found = by_number.find(numbers.integer(c));
    if (found == by_number.end())
      refuse(fmt::format("cell {} of '{}' has the shape {}, which is not in its 'shape_map'", c,
                         elements.path(), numbers.integer(c)));
    out.push_back(found->second);
  }
  return out;
}

/// The faces of polyhedra, behind those that `table` has.
void add_faces(const Node& faces, CellTable& table) {
  const std::string shape = faces.at("shape").text();
  const Array connectivity = faces.at("connectivity").array();
  const int64_t each =
      shape == "mixed" ? 0 : static_cast<int64_t>(points_of_cell(shape_called(shape, faces).type));
  const auto ranges = ranges_of(faces, connectivity.count, each);
  for (size_t f = 0; f < ranges.count(); ++f) {
    for (int64_t i = 0; i < ranges.size[f]; ++i)
      table.face_points.push_back(connectivity.integer(ranges.first[f] + i));
    table.face_offsets.push_back(static_cast<int64_t>(table.face_points.size()));
  }
}

/// Each point of its faces once, in the order of their numbers.
void add_polyhedron(const Array& faces, int64_t first, int64_t size, int64_t base,
                    CellTable& table) {
  const auto known = static_cast<int64_t>(table.face_offsets.size()) - 1;
  std::vector<int64_t> points;
  for (int64_t i = first; i < first + size; ++i) {
    const int64_t number = faces.integer(i);
    if (number < 0 || number >= known - base)
      refuse(
          fmt::format("a polyhedron has the face {}; 'subelements' has {}", number, known - base));
    const int64_t face = base + number;
    table.polyhedron_faces.push_back(face);
    const auto at = static_cast<size_t>(face);
    points.insert(points.end(), table.face_points.begin() + table.face_offsets[at],
                  table.face_points.begin() + table.face_offsets[at + 1]);
  }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  table.points.insert(table.points.end(), points.begin(), points.end());
}

/// Adds the cells of one group. `topology` has the faces of polyhedra.
void add_group(const Node& elements, const Node& topology, CellTable& table) {
  const std::string name = elements.at("shape").text();
  const Array connectivity = elements.at("connectivity").array();
  std::vector<Shape> each;
  Shape shape{};
  if (name == "mixed") each = shapes_of(elements, elements.at("shapes").array());
  else shape = shape_called(name, elements);
  const auto ranges =
      ranges_of(elements, connectivity.count, static_cast<int64_t>(points_of_cell(shape.type)));
  if (!each.empty() && each.size() != ranges.count())
    refuse(fmt::format("'{}' has {} shapes and {} sizes", elements.path(), each.size(),
                       ranges.count()));
  if (table.face_offsets.empty()) table.face_offsets.push_back(0);
  const auto base = static_cast<int64_t>(table.face_offsets.size()) - 1;
  if (const auto faces = topology.find("subelements")) add_faces(*faces, table);
  for (size_t c = 0; c < ranges.count(); ++c) {
    if (!each.empty()) shape = each[c];
    if (shape.type == polyhedron) {
      add_polyhedron(connectivity, ranges.first[c], ranges.size[c], base, table);
    } else {
      for (int64_t i = 0; i < ranges.size[c]; ++i)
        table.points.push_back(connectivity.integer(ranges.first[c] + i));
    }
    table.types.push_back(static_cast<uint8_t>(shape.type));
    table.offsets.push_back(static_cast<int64_t>(table.points.size()));
    table.polyhedron_offsets.push_back(static_cast<int64_t>(table.polyhedron_faces.size()));
    table.dimensions = std::max(table.dimensions, shape.dimensions);
  }
  table.count += static_cast<int64_t>(ranges.count());
}

/// Cells of one shape with a fixed number of points, in an array that Pillion reads as it is.
bool take_as_it_is(const Node& elements, CellTable& table) {
  const std::string name = elements.at("shape").text();
  if (name == "mixed" || elements.has("sizes")) return false;
  const Shape shape = shape_called(name, elements);
  const Array connectivity = elements.at("connectivity").array();
  const auto each = static_cast<int64_t>(points_of_cell(shape.type));
  const bool is_index = connectivity.type == PILLION_INT32 || connectivity.type == PILLION_INT64;
  if (each == 0 || !is_index || !connectivity.is_packed() || !connectivity.is_regular() ||
      connectivity.count % each != 0)
    return false;
  table.type = shape.type;
  table.dimensions = shape.dimensions;
  table.count = connectivity.count / each;
  table.connectivity = connectivity;
  return true;
}

}  // namespace

CellTable read_cells(const Node& topology) {
  CellTable table;
  const Node elements = topology.at("elements");
  if (elements.has("shape") && take_as_it_is(elements, table)) return table;
  table.offsets.push_back(0);
  table.polyhedron_offsets.push_back(0);
  if (elements.has("shape")) {
    add_group(elements, topology, table);
  } else {
    for (const auto& group : elements.children()) add_group(group, topology, table);
  }
  return table;
}

CellTable cells_of_grid(int axes, const std::array<int64_t, 3>& cells) {
  static constexpr std::array<int32_t, 3> types = {3, 9, 12};
  // From the first point of a cell, along the axes, in VTK's order.
  static constexpr std::array<std::array<int64_t, 3>, 8> corners = {
      {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}}};
  CellTable table;
  table.type = types[static_cast<size_t>(axes - 1)];
  table.dimensions = axes;
  std::array<int64_t, 3> extent{1, 1, 1};
  for (int a = 0; a < axes; ++a) extent[static_cast<size_t>(a)] = cells[static_cast<size_t>(a)];
  const std::array<int64_t, 3> step{1, extent[0] + 1,
                                    (extent[0] + 1) * (axes > 1 ? extent[1] + 1 : 1)};
  table.count = extent[0] * extent[1] * extent[2];
  table.points.reserve(static_cast<size_t>(table.count) << axes);
  for (int64_t k = 0; k < extent[2]; ++k)
    for (int64_t j = 0; j < extent[1]; ++j)
      for (int64_t i = 0; i < extent[0]; ++i)
        for (size_t c = 0; c < (size_t{1} << axes); ++c)
          table.points.push_back((i + corners[c][0]) * step[0] + (j + corners[c][1]) * step[1] +
                                 (k + corners[c][2]) * step[2]);
  return table;
}

bool CellTable::is_list_of_points() const {
  if (dimensions != 0) return false;
  const bool is_own = connectivity.data == nullptr;
  // Cells may have been given no points, or several.
  for (int64_t c = 0; is_own && c < count; ++c)
    if (offsets[static_cast<size_t>(c)] != c) return false;
  if (is_own && static_cast<int64_t>(points.size()) != count) return false;
  for (int64_t c = 0; c < count; ++c) {
    const int64_t point = is_own ? points[static_cast<size_t>(c)] : connectivity.integer(c);
    if (point != c) return false;
  }
  return true;
}

pillion_cells CellTable::raw() const {
  pillion_cells out{};
  out.size = sizeof out;
  out.count = count;
  out.type = type;
  const bool is_own = connectivity.data == nullptr;
  out.index_type = is_own ? PILLION_INT64 : connectivity.type;
  out.points = is_own ? static_cast<const void*>(points.data()) : connectivity.data;
  if (types.empty()) return out;
  out.types = types.data();
  out.offsets = offsets.data();
  if (polyhedron_faces.empty()) return out;
  out.face_count = static_cast<int64_t>(face_offsets.size()) - 1;
  out.face_offsets = face_offsets.data();
  out.face_points = face_points.data();
  out.polyhedron_offsets = polyhedron_offsets.data();
  out.polyhedron_faces = polyhedron_faces.data();
  return out;
}

}  // namespace pillion::catalyst
