// SPDX-License-Identifier: BSD-3-Clause
// The faces of each cell are collected first; their points then tell the type of the cell.
#include "cells.hpp"

#include <algorithm>
#include <array>

namespace pillion::code_saturne {

namespace {

constexpr uint8_t triangle = 5, polygon = 7, quadrilateral = 9;
constexpr uint8_t tetrahedron = 10, hexahedron = 12, wedge = 13, pyramid = 14, polyhedron = 42;
constexpr uint8_t duplicate = 1, hidden = 32;  // VTK's ghost bits

/// The one point that a side of a cell joins to `point` of its base, which is the next in the face
/// that is not in the base; -1 if there is none, or if sides disagree.
int32_t point_above(CellFaces faces, size_t base, int32_t point) {
  int32_t found = -1;
  for (size_t f = 0; f < faces.size(); ++f) {
    const auto face = faces[f];
    const auto at = std::find(face.begin(), face.end(), point);
    if (f == base || at == face.end()) continue;
    const auto place = static_cast<size_t>(at - face.begin());
    for (const size_t beside : {place + 1, place + face.size() - 1}) {
      const int32_t other = face[beside % face.size()];
      if (std::find(faces[base].begin(), faces[base].end(), other) != faces[base].end()) continue;
      if (found >= 0 && found != other) return -1;
      found = other;
    }
  }
  return found;
}

/// A base, the points above it, and nothing else: a tetrahedron or pyramid if they are one point, a
/// wedge or hexahedron if they are the opposite face. Faces are seen from outside, so the points of
/// the base run the other way round in VTK's order.
bool fits_above(CellFaces faces, size_t base, std::vector<int32_t>& points) {
  points.assign(faces[base].rbegin(), faces[base].rend());
  const size_t corners = points.size();
  for (size_t c = 0; c < corners; ++c) {
    const int32_t above = point_above(faces, base, points[c]);
    if (above < 0) return false;
    points.push_back(above);
  }
  const auto top = std::span<const int32_t>(points).subspan(corners);
  const bool is_point =
      std::all_of(top.begin(), top.end(), [&](int32_t point) { return point == top.front(); });
  if (is_point) {
    points.resize(corners + 1);
    return faces.size() == corners + 1;
  }
  return faces.size() == corners + 2 && std::any_of(faces.begin(), faces.end(), [&](auto face) {
           return face.size() == corners &&
                  std::is_permutation(face.begin(), face.end(), top.begin(), top.end());
         });
}

/// The faces of each cell of the rank; `is_turned` where the face is seen from inside.
struct FacesOfCells {
  struct Entry {
    int32_t face;  ///< boundary faces come behind interior ones
    bool is_turned;
  };
  std::vector<int32_t> offsets;
  std::vector<Entry> entries;
};

template <class Use>
void each_face_of_a_cell(const pillion_saturne_mesh& mesh, Use&& use) {
  for (int32_t f = 0; f < mesh.interior_faces; ++f)
    for (int32_t side = 0; side < 2; ++side)
      if (const int32_t cell = mesh.interior_cells[2 * f + side]; cell >= 0 && cell < mesh.cells)
        use(cell, f, side == 1);
  for (int32_t f = 0; f < mesh.boundary_faces; ++f)
    if (const int32_t cell = mesh.boundary_cells[f]; cell >= 0 && cell < mesh.cells)
      use(cell, mesh.interior_faces + f, false);
}

FacesOfCells faces_of_cells(const pillion_saturne_mesh& mesh) {
  FacesOfCells out;
  out.offsets.assign(static_cast<size_t>(mesh.cells) + 1, 0);
  each_face_of_a_cell(
      mesh, [&](int32_t cell, int32_t, bool) { ++out.offsets[static_cast<size_t>(cell) + 1]; });
  for (size_t c = 1; c < out.offsets.size(); ++c) out.offsets[c] += out.offsets[c - 1];
  out.entries.resize(static_cast<size_t>(out.offsets.back()));
  auto next = out.offsets;
  each_face_of_a_cell(mesh, [&](int32_t cell, int32_t face, bool is_turned) {
    out.entries[static_cast<size_t>(next[static_cast<size_t>(cell)]++)] = {face, is_turned};
  });
  return out;
}

std::span<const int32_t> points_of_face(const pillion_saturne_mesh& mesh, int32_t face) {
  const bool is_interior = face < mesh.interior_faces;
  const int32_t at = is_interior ? face : face - mesh.interior_faces;
  const int32_t* offsets = is_interior ? mesh.interior_offsets : mesh.boundary_offsets;
  const int32_t* points = is_interior ? mesh.interior_points : mesh.boundary_points;
  return {points + offsets[at], static_cast<size_t>(offsets[at + 1] - offsets[at])};
}

void add_polygon(std::span<const int32_t> face, CellTable& table) {
  table.types.push_back(face.size() == 3 ? triangle : face.size() == 4 ? quadrilateral : polygon);
  table.points.insert(table.points.end(), face.begin(), face.end());
  table.offsets.push_back(static_cast<int32_t>(table.points.size()));
}

/// Takes points that no face has out of the numbering.
void keep_used_points(int32_t count, CellTable& table) {
  std::vector<int32_t> places(static_cast<size_t>(count), -1);
  for (const int32_t point : table.points) places[static_cast<size_t>(point)] = 0;
  for (int32_t p = 0; p < count; ++p)
    if (places[static_cast<size_t>(p)] == 0) {
      places[static_cast<size_t>(p)] = static_cast<int32_t>(table.points_used.size());
      table.points_used.push_back(p);
    }
  for (int32_t& point : table.points) point = places[static_cast<size_t>(point)];
}

}  // namespace

uint8_t type_of_cell(CellFaces faces, std::vector<int32_t>& points) {
  std::array<size_t, 5> with{};  // faces by their number of points
  for (const auto face : faces) ++with[face.size() < 5 ? face.size() : 0];
  const auto base = [&](size_t corners) {
    return static_cast<size_t>(
        std::find_if(faces.begin(), faces.end(), [&](auto f) { return f.size() == corners; }) -
        faces.begin());
  };
  if (faces.size() == with[3] + with[4]) {
    if (with[3] == 4 && with[4] == 0 && fits_above(faces, 0, points)) return tetrahedron;
    if (with[3] == 4 && with[4] == 1 && fits_above(faces, base(4), points)) return pyramid;
    if (with[3] == 2 && with[4] == 3 && fits_above(faces, base(3), points)) return wedge;
    if (with[3] == 0 && with[4] == 6 && fits_above(faces, 0, points)) return hexahedron;
  }
  points.clear();
  for (const auto face : faces) points.insert(points.end(), face.begin(), face.end());
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return polyhedron;
}

CellTable volume_cells(const pillion_saturne_mesh& mesh) {
  CellTable table;
  const auto all = faces_of_cells(mesh);
  // Of each face, its place among those of polyhedra; two polyhedra may have it.
  std::vector<int32_t> places(
      static_cast<size_t>(mesh.interior_faces) + static_cast<size_t>(mesh.boundary_faces), -1);
  std::vector<std::vector<int32_t>> turned;
  std::vector<std::span<const int32_t>> faces;
  std::vector<int32_t> points;
  for (int32_t c = 0; c < mesh.cells; ++c) {
    const auto begin = static_cast<size_t>(all.offsets[static_cast<size_t>(c)]);
    const auto end = static_cast<size_t>(all.offsets[static_cast<size_t>(c) + 1]);
    turned.resize(std::max(turned.size(), end - begin));
    faces.clear();
    for (size_t i = begin; i < end; ++i) {
      auto face = points_of_face(mesh, all.entries[i].face);
      if (all.entries[i].is_turned) {
        turned[i - begin].assign(face.rbegin(), face.rend());
        face = turned[i - begin];
      }
      faces.push_back(face);
    }
    const uint8_t type = type_of_cell(faces, points);
    table.types.push_back(type);
    table.points.insert(table.points.end(), points.begin(), points.end());
    table.offsets.push_back(static_cast<int32_t>(table.points.size()));
    for (size_t i = begin; i < end && type == polyhedron; ++i) {
      int32_t& place = places[static_cast<size_t>(all.entries[i].face)];
      if (place < 0) {
        place = static_cast<int32_t>(table.face_offsets.size()) - 1;
        table.face_points.insert(table.face_points.end(), faces[i - begin].begin(),
                                 faces[i - begin].end());
        table.face_offsets.push_back(static_cast<int32_t>(table.face_points.size()));
      }
      table.polyhedron_faces.push_back(place);
    }
    table.polyhedron_offsets.push_back(static_cast<int32_t>(table.polyhedron_faces.size()));
    table.ids.push_back(number_of(mesh.cell_numbers, c));
  }
  return table;
}

CellTable boundary_faces(const pillion_saturne_mesh& mesh) {
  CellTable table;
  for (int32_t f = 0; f < mesh.boundary_faces; ++f) {
    add_polygon(points_of_face(mesh, mesh.interior_faces + f), table);
    const int32_t cell = mesh.boundary_cells[f];
    table.flags.push_back(cell < 0 ? hidden : 0);
    table.ids.push_back(number_of(mesh.boundary_numbers, f));
    table.parents.push_back(cell < 0 ? 0 : number_of(mesh.cell_numbers, cell));
    table.patches.push_back(mesh.zones[f]);
  }
  keep_used_points(mesh.points, table);
  return table;
}

CellTable interior_faces(const pillion_saturne_mesh& mesh) {
  CellTable table;
  for (int32_t f = 0; f < mesh.interior_faces; ++f) {
    add_polygon(points_of_face(mesh, f), table);
    const int32_t first = mesh.interior_cells[2 * f];
    const bool is_copy = first >= mesh.cells;  // in the halo: its rank has the face, too
    table.flags.push_back(is_copy ? duplicate : 0);
    table.ids.push_back(number_of(mesh.interior_numbers, f));
    const int32_t cell = is_copy ? mesh.interior_cells[2 * f + 1] : first;
    table.parents.push_back(number_of(mesh.cell_numbers, cell));
  }
  return table;
}

Cells<int32_t> CellTable::view() const {
  Cells<int32_t> out;
  out.types = types;
  out.offsets = offsets;
  out.points = points;
  if (!polyhedron_faces.empty()) {
    out.face_offsets = face_offsets;
    out.face_points = face_points;
    out.polyhedron_offsets = polyhedron_offsets;
    out.polyhedron_faces = polyhedron_faces;
  }
  if (std::any_of(flags.begin(), flags.end(), [](uint8_t flag) { return flag != 0; }))
    out.flags = flags;
  out.ids = ids;
  out.parents = parents;
  out.patches = patches;
  return out;
}

}  // namespace pillion::code_saturne
