// SPDX-License-Identifier: BSD-3-Clause
// Cells of a block of an unstructured mesh, for Session::share_cells: ranges of a program in C++.
// Their lengths are checked against each other before they go through the C interface. C++17.
#pragma once

#include <pillion/pillion.h>

#include <cstdint>
#include <pillion/arrays.hpp>
#include <pillion/error.hpp>
#include <string>
#include <type_traits>

namespace pillion {

/// Points of a cell of one of VTK's linear types; 0 if the type has no fixed number, or is another
/// one: give offsets then.
constexpr size_t points_of_cell(int32_t type) {
  switch (type) {
    case 1: return 1;    // vertex
    case 3: return 2;    // line
    case 5: return 3;    // triangle
    case 8:              // pixel
    case 9:              // quadrilateral
    case 10: return 4;   // tetrahedron
    case 14: return 5;   // pyramid
    case 13: return 6;   // wedge
    case 11:             // voxel
    case 12: return 8;   // hexahedron
    case 15: return 10;  // pentagonal prism
    case 16: return 12;  // hexagonal prism
    default: return 0;
  }
}

/// What pillion_cells describes, as ranges; an empty range stands for NULL. All are read during the
/// call that shares them, and not later.
template <class Index = int64_t>
struct Cells {
  static_assert(std::is_integral_v<Index> && std::is_signed_v<Index> &&
                    (sizeof(Index) == 4 || sizeof(Index) == 8),
                "indices of cells are signed integers of 4 or 8 bytes");
  Span<const uint8_t> types;  ///< VTK's type of each cell; if empty, all are of `type`
  int32_t type = 0;
  Span<const Index> offsets;  ///< one more than cells; may be empty if all are of `type`, and
                              ///< that is linear
  Span<const Index> points;
  Span<const Index> face_offsets{};  ///< this and the next three are for polyhedra
  Span<const Index> face_points{};
  Span<const Index> polyhedron_offsets{};
  Span<const Index> polyhedron_faces{};
  Span<const uint8_t> flags{};
  Span<const int64_t> ids{};
  Span<const int64_t> parents{};  ///< of a boundary: ids of the cells that its cells bound
  Span<const int32_t> patches{};  ///< counted from 0, whatever `base` is
  int32_t base = 0;               ///< what indices and offsets are counted from
  bool points_are_ids = false;    ///< points are named by their ids in the whole mesh

  /// Number of cells.
  [[nodiscard]] size_t count() const {
    if (!types.empty()) return types.size();
    if (!offsets.empty()) return offsets.size() - 1;
    const size_t each = points_of_cell(type);
    return each == 0 ? 0 : points.size() / each;
  }

  /// The struct of the C interface. Throws, in the name of `mesh`, if lengths contradict each
  /// other.
  [[nodiscard]] pillion_cells raw(const std::string& mesh) const {
    expect_offsets(mesh);
    expect(mesh, "face_points", face_points.size(), used(face_offsets), true);
    expect(mesh, "polyhedron_faces", polyhedron_faces.size(), used(polyhedron_offsets), true);
    expect_each(mesh, "flags", flags.size());
    expect_each(mesh, "ids", ids.size());
    expect_each(mesh, "parents", parents.size());
    expect_each(mesh, "patches", patches.size());
    pillion_cells out{};
    out.size = sizeof out;
    out.count = static_cast<int64_t>(count());
    out.types = begin_of(types);
    out.type = type;
    out.index_type = sizeof(Index) == 4 ? PILLION_INT32 : PILLION_INT64;
    out.base = base;
    out.points_are_ids = points_are_ids ? 1 : 0;
    out.offsets = begin_of(offsets);
    out.points = begin_of(points);
    out.face_count = face_offsets.empty() ? 0 : static_cast<int64_t>(face_offsets.size()) - 1;
    out.face_offsets = begin_of(face_offsets);
    out.face_points = begin_of(face_points);
    out.polyhedron_offsets = begin_of(polyhedron_offsets);
    out.polyhedron_faces = begin_of(polyhedron_faces);
    out.flags = begin_of(flags);
    out.ids = begin_of(ids);
    out.parents = begin_of(parents);
    out.patches = begin_of(patches);
    return out;
  }

 private:
  template <class T>
  static const T* begin_of(Span<const T> values) {
    return values.empty() ? nullptr : values.data();
  }
  /// How many indices the offsets reach.
  [[nodiscard]] size_t used(Span<const Index> of) const {
    return of.empty() || of.back() < base ? 0 : static_cast<size_t>(of.back() - base);
  }
  [[noreturn]] static void refuse(const std::string& mesh, const std::string& what) {
    throw Error(ErrorCode::Argument, "cells of mesh '" + mesh + "' were shared with " + what);
  }
  static void expect(const std::string& mesh, const std::string& what, size_t size, size_t wanted,
                     bool or_more) {
    if (size == wanted || (or_more && size > wanted)) return;
    refuse(mesh, std::to_string(size) + " " + what + "; give " + std::to_string(wanted));
  }
  void expect_each(const std::string& mesh, const std::string& what, size_t size) const {
    if (size != 0) expect(mesh, what, size, count(), false);
  }
  void expect_offsets(const std::string& mesh) const {
    if (!polyhedron_offsets.empty())
      expect(mesh, "polyhedron_offsets", polyhedron_offsets.size(), count() + 1, false);
    if (!offsets.empty()) {
      expect(mesh, "offsets", offsets.size(), count() + 1, false);
      expect(mesh, "points", points.size(), used(offsets), true);
      return;
    }
    const size_t each = points_of_cell(type);
    if (!types.empty()) refuse(mesh, "types but no offsets; give one offset more than cells");
    if (each == 0 && !points.empty())
      refuse(mesh, "the type " + std::to_string(type) +
                       " and no offsets; give offsets, or a linear type of VTK such as 12");
    if (each != 0 && points.size() % each != 0)
      refuse(mesh, std::to_string(points.size()) + " points; cells of type " +
                       std::to_string(type) + " have " + std::to_string(each) + " each");
  }
};

}  // namespace pillion
