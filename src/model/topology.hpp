// SPDX-License-Identifier: BSD-3-Clause
// Cells of a block of an unstructured mesh, after VTK's model. In messages they are bytes: sizes,
// and then the arrays, so that receivers read them where they lie.
#pragma once

#include <pillion/types.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"

namespace pillion::model {

/// What is known of one of VTK's types of cells.
struct CellType {
  int vtk;
  const char* name;  ///< as VTK calls it, in lower case
  int dimensions;
  int points;  ///< 0 if cells of the type have any number
  int least;   ///< of these
};

/// Nothing if Pillion does not know it.
const CellType* find_cell_type(int vtk);
/// The type of VTK's linear or quadratic cells that a Lagrange cell with that number of points is;
/// any other type as it is.
uint8_t plain_type(uint8_t vtk, int64_t points);
constexpr int polyhedron_type = 42;

/// Views of the arrays, which pillion_connectivity in pillion/stage.h explains. An array that the
/// program did not give is empty.
struct Topology {
  std::span<const uint8_t> types;
  std::span<const int64_t> offsets;  ///< one more than cells
  std::span<const int64_t> points;
  std::span<const int64_t> face_offsets;  ///< one more than faces; empty without polyhedra
  std::span<const int64_t> face_points;
  std::span<const int64_t> polyhedron_offsets;  ///< one more than cells
  std::span<const int64_t> polyhedron_faces;
  std::span<const uint8_t> flags;
  std::span<const int64_t> ids;
  std::span<const int64_t> parents;
  std::span<const int32_t> patches;
  int64_t owned = 0;         ///< cells that have no flag
  int64_t least_points = 0;  ///< points that the block must have: one more than the greatest index

  [[nodiscard]] int64_t cells() const { return static_cast<int64_t>(types.size()); }
  [[nodiscard]] int64_t faces() const {
    return face_offsets.empty() ? 0 : static_cast<int64_t>(face_offsets.size()) - 1;
  }
};

/// The same as lists of their own, to make cells of.
struct CellLists {
  std::vector<uint8_t> types;
  std::vector<int64_t> offsets{0}, points, face_offsets{0}, face_points;
  std::vector<int64_t> polyhedron_offsets{0}, polyhedron_faces;
  std::vector<uint8_t> flags;
  std::vector<int64_t> ids, parents;
  std::vector<int32_t> patches;
};
base::Bytes to_bytes(const CellLists& cells);

/// The bytes, aligned to 8, as views. Throws ErrorCode::Internal if the sizes contradict the number
/// of bytes; what is in the arrays is not looked at.
Topology read_topology(std::span<const std::byte> bytes);

/// Of points that the program has not shared yet.
constexpr int64_t unknown_count = std::numeric_limits<int64_t>::max();

/// What is wrong with cells that should have `dimensions`, or less in a mesh of several, and
/// `points` points; "" if nothing is. Names the first cell, as the block counts it, and the value.
std::string fault_of(const Topology& topology, int64_t points, int dimensions, size_t patches);

/// Copies what a program shares. `point_ids` are those of the block's points; they are needed where
/// cells name points by their ids. Throws ErrorCode::Sharing, with what is wrong, if arrays
/// contradict each other or an id is not among those of the points.
base::Bytes to_bytes(const pillion_cells& cells, std::span<const int64_t> point_ids);

}  // namespace pillion::model
