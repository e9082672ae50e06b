// SPDX-License-Identifier: BSD-3-Clause
// From a mesh that is described by its faces to cells of VTK's types: tetrahedra, pyramids, wedges
// and hexahedra where the faces of a cell allow it, polyhedra elsewhere. Polygons for faces.
#pragma once

#include <cstdint>
#include <pillion/cells.hpp>
#include <span>
#include <vector>

#include "pillion_saturne.h"

namespace pillion::code_saturne {

/// Cells, ready to be shared. Indices are of points of `points_used`, or of all points of the rank
/// if that is empty.
struct CellTable {
  std::vector<uint8_t> types;
  std::vector<int32_t> offsets = {0}, points;
  std::vector<int32_t> face_offsets = {0}, face_points;
  std::vector<int32_t> polyhedron_offsets = {0}, polyhedron_faces;
  std::vector<uint8_t> flags;
  std::vector<int64_t> ids, parents;
  std::vector<int32_t> patches;
  std::vector<int32_t> points_used;

  /// Views, valid as long as this.
  [[nodiscard]] Cells<int32_t> view() const;
};

/// The rank's own cells, with their numbers as ids.
CellTable volume_cells(const pillion_saturne_mesh& mesh);

/// The boundary faces, of the points that they have. The parents are the numbers of cells, the
/// patches those of zones. A face that bounds no cell is hidden.
CellTable boundary_faces(const pillion_saturne_mesh& mesh);

/// The interior faces. The parent of a face is its first cell; the normal points out of that cell.
/// If the first cell is in the halo, the face is a copy, and its parent is the other cell.
CellTable interior_faces(const pillion_saturne_mesh& mesh);

/// The faces of one cell: points of each, in order around it as seen from outside.
using CellFaces = std::span<const std::span<const int32_t>>;

/// VTK's type of a cell with such faces, and its points in VTK's order, in `points`. For a
/// polyhedron, each point once, ascending.
uint8_t type_of_cell(CellFaces faces, std::vector<int32_t>& points);

/// The number in the whole mesh of the entity at `place`.
inline int64_t number_of(const int64_t* numbers, int64_t place) {
  return numbers == nullptr ? place + 1 : numbers[place];
}

}  // namespace pillion::code_saturne
