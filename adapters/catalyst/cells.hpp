// SPDX-License-Identifier: BSD-3-Clause
// Cells of an unstructured topology of Mesh Blueprint as Pillion takes them: VTK's types, points by
// offsets, and the faces of polyhedra.
#pragma once

#include <pillion/types.h>

#include <array>
#include <cstdint>
#include <vector>

#include "conduit.hpp"

namespace pillion::catalyst {

struct CellTable {
  int64_t count = 0;
  int32_t dimensions = 0;  ///< of the cell that has most
  int32_t type = 0;        ///< VTK's, of all cells, if `types` is empty
  /// In memory of the simulation, if its array serves as it is: then `points` is empty.
  Array connectivity;
  std::vector<uint8_t> types;
  std::vector<int64_t> offsets, points;
  std::vector<int64_t> face_offsets, face_points, polyhedron_offsets, polyhedron_faces;

  /// Whether the cells are points, each of them one point, in the order of the points.
  [[nodiscard]] bool is_list_of_points() const;
  /// Points into this table, which must not move while it is used.
  [[nodiscard]] pillion_cells raw() const;
};

/// The cells of `topology`, whose type is "unstructured". Throws Error if it cannot be understood.
CellTable read_cells(const Node& topology);

/// Lines, quadrilaterals or hexahedra between points that are numbered along axes, the first one
/// fastest. `cells` is the number of cells along each of the `axes`.
CellTable cells_of_grid(int axes, const std::array<int64_t, 3>& cells);

}  // namespace pillion::catalyst
