// SPDX-License-Identifier: BSD-3-Clause
// Cells of a block of an unstructured mesh: their points, and their volumes as weights of values.
// Volumes are kept from one publication to the next while the program says, by the versions of a
// block, that neither its cells nor its points have changed.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "cell_shapes.hpp"
#include "cells.hpp"

namespace pillion::stages {

/// Reads the cells of one block; good while the block is.
class BlockCells {
 public:
  explicit BlockCells(const stage::Block& block)
      : block_(block.raw()), cells_(block.connectivity()), coordinates_(block.coordinates()) {
    if (coordinates_.type != PILLION_FLOAT64)
      throw Error(ErrorCode::Stage, "a stage expected coordinates as 64-bit floats");
  }

  [[nodiscard]] int64_t count() const { return block_.cells.total; }
  [[nodiscard]] uint8_t type(int64_t cell) const { return cells_.types[cell]; }
  /// Whether no flag leaves it out.
  [[nodiscard]] bool counts(int64_t cell) const {
    if (block_.flags == nullptr) return true;
    const auto* bits = static_cast<const uint8_t*>(block_.flags->data);
    return is_counted(bits[cell * block_.flags->strides[0]]);
  }
  /// Whether it counts and has as many dimensions as its mesh.
  [[nodiscard]] bool is_part(int64_t cell, int32_t dimensions) const {
    const CellShape* shape = shape_of(type(cell));
    return counts(cell) && shape != nullptr && shape->dimensions == dimensions;
  }
  /// Numbers of its points in the block.
  [[nodiscard]] std::span<const int64_t> points(int64_t cell) const {
    const int64_t from = cells_.offsets[cell], to = cells_.offsets[cell + 1];
    return {cells_.points + from, static_cast<size_t>(to - from)};
  }
  [[nodiscard]] Vec3 place(int64_t point) const {
    const auto* at =
        static_cast<const double*>(coordinates_.data) + point * coordinates_.strides[0];
    return {at[0], at[coordinates_.strides[3]], at[2 * coordinates_.strides[3]]};
  }
  /// Where its points are; good until the next call.
  [[nodiscard]] std::span<const Vec3> places(int64_t cell) {
    places_.clear();
    for (const int64_t p : points(cell)) places_.push_back(place(p));
    return places_;
  }
  /// The faces of a polyhedron; good until the next call.
  [[nodiscard]] const PolyhedronFaces& faces(int64_t cell) {
    faces_.clear();
    if (cells_.face_count == 0) return faces_;
    for (int64_t f = cells_.polyhedron_offsets[cell]; f < cells_.polyhedron_offsets[cell + 1];
         ++f) {
      const int64_t face = cells_.polyhedron_faces[f];
      const int64_t from = cells_.face_offsets[face], to = cells_.face_offsets[face + 1];
      faces_.add({cells_.face_points + from, static_cast<size_t>(to - from)});
    }
    return faces_;
  }
  /// Of a cell whose shape is known and that has the points of one.
  [[nodiscard]] CellMeasure measure(int64_t cell, const CellShape& shape) {
    const auto at = places(cell);
    if (shape.type != polyhedron_type) return stages::measure(shape, at);
    return stages::measure(faces(cell), mean_of(at), [&](int64_t point) { return place(point); });
  }
  /// The largest distance between corners of the box around its points.
  [[nodiscard]] double extent(int64_t cell) {
    Vec3 lo{{HUGE_VAL, HUGE_VAL, HUGE_VAL}}, hi{{-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}};
    for (const auto& at : places(cell))
      for (size_t d = 0; d < 3; ++d) {
        lo[d] = std::min(lo[d], at[d]);
        hi[d] = std::max(hi[d], at[d]);
      }
    return places_.empty() ? 0 : length_of(hi - lo);
  }

 private:
  const pillion_block& block_;
  const pillion_connectivity& cells_;
  stage::Array coordinates_;
  std::vector<Vec3> places_;
  PolyhedronFaces faces_;
};

// Weights. A cell weighs its volume, or its area or length if the mesh has two dimensions or one.
// Cells with flags are left out, and so are cells of fewer dimensions than the mesh, which are
// there to mark its boundary. A point weighs what its cells share among their points evenly: the
// lumped mass matrix of linear elements (O. C. Zienkiewicz, R. L. Taylor: The Finite Element
// Method). A point that several blocks have then weighs in each what the cells there contribute, so
// that weights add up to the volume of the mesh however it is cut.

class CellVolumes {
 public:
  /// Of all blocks of one mesh, seen from the peer that has them.
  struct Seen {
    int64_t topology = 0, geometry = 0, step = -1;
    std::vector<double> of_cells;
    std::vector<uint8_t> cell_flags;   ///< hidden if a cell does not count
    std::vector<double> of_points;     ///< empty until they are wanted
    std::vector<uint8_t> point_flags;  ///< hidden if no cell of a point counts
  };

  /// Throws if a cell that counts is inverted, or has no volume that could be known.
  const Seen& of(const stage::Step& step, const pillion_mesh& mesh, const stage::Block& block) {
    return of(step.index(), step.peer(), mesh, block);
  }
  /// The same for publication number `step` on peer number `peer`.
  const Seen& of(int64_t step, int32_t peer, const pillion_mesh& mesh, const stage::Block& block) {
    Seen& seen = seen_[block.id()];
    if (is_known(seen, step, block)) return seen;
    seen = Seen();
    measure_cells(peer, mesh, block, seen);
    const auto& raw = block.raw();
    seen.topology = raw.topology_version;
    seen.geometry = raw.geometry_version;
    seen.step = step;
    return seen;
  }

  /// For the values of a field of the mesh in a block; good until the next call.
  CellWeights weights(const stage::Step& step, const pillion_mesh& mesh, const stage::Block& block,
                      pillion_centering centering) {
    return weights(step.index(), step.peer(), mesh, block, centering);
  }
  CellWeights weights(int64_t step, int32_t peer, const pillion_mesh& mesh,
                      const stage::Block& block, pillion_centering centering) {
    of(step, peer, mesh, block);
    Seen& seen = seen_[block.id()];
    const bool at_points = centering == PILLION_POINT;
    if (at_points) share_among_points(block, seen);
    auto& flags = at_points ? seen.point_flags : seen.cell_flags;
    flags_ = pillion_array{};
    flags_.data = flags.data();
    flags_.type = PILLION_UINT8;
    flags_.components = 1;
    flags_.strides[0] = 1;
    CellWeights out;
    out.of_values = at_points ? seen.of_points : seen.of_cells;
    out.row = static_cast<int64_t>(out.of_values.size());
    if (std::any_of(flags.begin(), flags.end(), [](uint8_t bits) { return bits != 0; }))
      out.flags = &flags_;
    return out;
  }

 private:
  static bool is_known(const Seen& seen, int64_t step, const stage::Block& block) {
    if (seen.step < 0 || seen.of_cells.size() != static_cast<size_t>(block.count())) return false;
    if (seen.step == step) return true;
    const auto& raw = block.raw();
    return raw.topology_version != 0 && raw.geometry_version != 0 &&
           seen.topology == raw.topology_version && seen.geometry == raw.geometry_version;
  }

  static void measure_cells(int32_t peer, const pillion_mesh& mesh, const stage::Block& block,
                            Seen& seen) {
    BlockCells cells(block);
    const auto count = static_cast<size_t>(cells.count());
    seen.of_cells.assign(count, 0);
    seen.cell_flags.assign(count, PILLION_CELL_HIDDEN);
    const auto of_block = [&] {
      return "block " + std::to_string(block.number()) + " of mesh '" + mesh.name + "' (rank " +
             std::to_string(peer) + " of the analysis)";
    };
    int64_t flat = 0, whole = 0;
    for (int64_t c = 0; c < cells.count(); ++c) {
      if (!cells.counts(c)) continue;
      const CellShape* shape = shape_of(cells.type(c));
      const bool is_flat = shape != nullptr && shape->dimensions < mesh.axes;
      ++(is_flat ? flat : whole);
      if (is_flat) continue;
      const auto i = static_cast<size_t>(c);
      seen.cell_flags[i] = 0;
      seen.of_cells[i] = size_of_cell(
          cells, c, mesh, [&] { return "cell " + std::to_string(c) + " of " + of_block(); });
    }
    if (flat > 0 && whole == 0)
      throw Error(
          ErrorCode::Sharing,
          "no cell of " + of_block() + " has the " + std::to_string(mesh.axes) +
              " dimensions of the mesh, so none has a volume; set `dimensions` of the mesh");
  }

  /// `where()` names the cell.
  template <class Where>
  static double size_of_cell(BlockCells& cells, int64_t cell, const pillion_mesh& mesh,
                             Where&& where) {
    const auto fail = [&](const std::string& why) {
      throw Error(ErrorCode::Sharing, where() + why);
    };
    const uint8_t type = cells.type(cell);
    const CellShape* shape = shape_of(type);
    if (shape == nullptr)
      fail(" is of VTK's type " + std::to_string(type) +
           ", whose volume this version cannot compute; share linear or quadratic cells");
    const std::string called = std::string(" is a ") + shape->name;
    const auto points = static_cast<int32_t>(cells.points(cell).size());
    if (shape->points != 0 && points != shape->points)
      fail(called + ", which has " + std::to_string(shape->points) + " points, and has " +
           std::to_string(points));
    if (shape->dimensions > mesh.axes)
      fail(called + " of " + std::to_string(shape->dimensions) +
           " dimensions, and the cells of its mesh have " + std::to_string(mesh.axes) +
           "; set `dimensions` of the mesh");
    const auto found = cells.measure(cell, *shape);
    if (!std::isfinite(found.size)) fail(called + " with a volume that is not finite");
    if (found.size >= 0) return found.size;
    // Flat cells may come out below zero by rounding.
    const double extent = cells.extent(cell);
    if (found.size > -1e-12 * extent * extent * extent) return 0;
    std::array<char, 32> text{};
    (void)std::snprintf(text.data(), text.size(), "%.6g", found.size);
    fail(called + " that is inverted: its volume is " + text.data() +
         "; list its points in the order of VTK's type " + std::to_string(type));
    return 0;
  }

  static void share_among_points(const stage::Block& block, Seen& seen) {
    const auto count = static_cast<size_t>(block.point_count());
    if (!seen.of_points.empty() || count == 0) return;
    seen.of_points.assign(count, 0);
    seen.point_flags.assign(count, PILLION_CELL_HIDDEN);
    const BlockCells cells(block);
    for (int64_t c = 0; c < cells.count(); ++c) {
      const auto cell = static_cast<size_t>(c);
      if (seen.cell_flags[cell] != 0) continue;
      const auto points = cells.points(c);
      const double part = seen.of_cells[cell] / static_cast<double>(points.size());
      for (const int64_t p : points) {
        seen.of_points[static_cast<size_t>(p)] += part;
        seen.point_flags[static_cast<size_t>(p)] = 0;
      }
    }
  }

  pillion_array flags_{};         ///< of the last weights
  std::map<int64_t, Seen> seen_;  ///< by block
};

}  // namespace pillion::stages
