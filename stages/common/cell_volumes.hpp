// SPDX-License-Identifier: BSD-3-Clause
// Cells of a block by their points, and their volumes as weights of values. Boxes of cells are seen
// as hexahedra or quadrilaterals, so that what works on cells of any shape works on them. Volumes
// are kept from one publication to the next while the program says, by the versions of a block,
// that neither its cells nor its points have changed.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <pillion/stage.hpp>
#include <pillion/stage/cell_shapes.hpp>
#include <string>
#include <vector>

#include "by_block.hpp"
#include "cells.hpp"
#include "quadratic_cells.hpp"
#include "sampled_values.hpp"

namespace pillion::stages {

using stage::CellMeasure;
using stage::CellShape;
using stage::length_of;
using stage::mean_of;
using stage::polyhedron_type;
using stage::PolyhedronFaces;
using stage::shape_of;
using stage::Vec3;

/// The cells of a box, and the points at their corners, numbered with the first axis fastest. In a
/// mesh of two axes both have one layer.
class CellBox {
 public:
  CellBox(const pillion_mesh& mesh, const pillion_block& block) : axes_(mesh.axes) {
    for (int32_t d = 0; d < axes_; ++d) {
      lo_[d] = block.allocated.lo[d];
      cells_[d] = block.allocated.hi[d] - lo_[d];
      points_[d] = cells_[d] + 1;
    }
  }

  /// Of cells along each axis.
  [[nodiscard]] const std::array<int64_t, 3>& cells() const { return cells_; }
  [[nodiscard]] const std::array<int64_t, 3>& points() const { return points_; }
  [[nodiscard]] int64_t count() const { return cells_[0] * cells_[1] * cells_[2]; }
  /// VTK's: a hexahedron, quadrilateral or line.
  [[nodiscard]] uint8_t type() const { return axes_ == 3 ? 12 : axes_ == 2 ? 9 : 3; }
  [[nodiscard]] std::array<int64_t, 3> cell(int64_t number) const { return index(number, cells_); }
  [[nodiscard]] std::array<int64_t, 3> point(int64_t number) const {
    return index(number, points_);
  }
  /// The points of a cell in the order of its type.
  [[nodiscard]] std::span<const int64_t> corners(int64_t number,
                                                 std::array<int64_t, 8>& out) const {
    const auto [i, j, k] = cell(number);
    const int64_t row = points_[0], plane = row * points_[1];
    const int64_t first = i + row * j + plane * k;
    out = {first, first + 1, first + row + 1, first + row};
    for (size_t c = 0; c < 4; ++c) out[4 + c] = out[c] + plane;
    return std::span<const int64_t>(out).first(size_t{1} << axes_);
  }
  /// For messages: the cell's index in the mesh.
  [[nodiscard]] std::string name(int64_t number) const {
    const auto at = cell(number);
    std::string out = "(";
    for (int32_t d = 0; d < axes_; ++d) out += (d > 0 ? ", " : "") + std::to_string(lo_[d] + at[d]);
    return out + ")";
  }
  [[nodiscard]] int64_t lo(size_t axis) const { return lo_[axis]; }

 private:
  static std::array<int64_t, 3> index(int64_t number, const std::array<int64_t, 3>& n) {
    return {number % n[0], number / n[0] % n[1], number / (n[0] * n[1])};
  }

  int32_t axes_;
  std::array<int64_t, 3> lo_{}, cells_{1, 1, 1}, points_{1, 1, 1};
};

/// Reads the cells of one block; good while the block and the mesh are. Cells of uniform and
/// rectilinear meshes are where their coordinates are, whatever these measure.
class BlockCells {
 public:
  BlockCells(const pillion_mesh& mesh, const stage::Block& block)
      : block_(block.raw()),
        cells_(block_.connectivity),
        box_(mesh, block_),
        sizes_(mesh, block.level()),
        axes_(mesh.axes) {
    if (block_.coordinates != nullptr) coordinates_ = block.coordinates();
    else if (mesh.kind != PILLION_UNIFORM && mesh.kind != PILLION_RECTILINEAR)
      throw Error(ErrorCode::Stage, "a stage read cells of a block that has no coordinates");
    if (is_unstructured() && coordinates_.type != PILLION_FLOAT64)
      throw Error(ErrorCode::Stage, "a stage expected coordinates as 64-bit floats");
  }

  [[nodiscard]] bool is_unstructured() const { return cells_ != nullptr; }
  /// Of a block that is not unstructured.
  [[nodiscard]] const CellBox& box() const { return box_; }
  [[nodiscard]] int64_t count() const {
    return is_unstructured() ? block_.cells.total : box_.count();
  }
  /// For messages.
  [[nodiscard]] std::string name(int64_t cell) const {
    return is_unstructured() ? std::to_string(cell) : box_.name(cell);
  }
  [[nodiscard]] uint8_t type(int64_t cell) const {
    return is_unstructured() ? cells_->types[cell] : box_.type();
  }
  /// Whether no flag leaves it out.
  [[nodiscard]] bool counts(int64_t cell) const {
    if (block_.flags == nullptr) return true;
    const auto* bits = static_cast<const uint8_t*>(block_.flags->data);
    const auto* stride = block_.flags->strides;
    if (is_unstructured()) return is_counted(bits[cell * stride[0]]);
    const auto [i, j, k] = box_.cell(cell);
    return is_counted(bits[i * stride[0] + j * stride[1] + k * stride[2]]);
  }
  /// Whether it counts and has as many dimensions as its mesh.
  [[nodiscard]] bool is_part(int64_t cell, int32_t dimensions) const {
    const CellShape* shape = shape_of(type(cell));
    return counts(cell) && shape != nullptr && shape->dimensions == dimensions;
  }
  /// The part of its volume that it has, by the weight of its mesh.
  [[nodiscard]] double part(int64_t cell) const {
    const CellParts parts(block_.weight);
    if (!parts.any()) return 1;
    if (is_unstructured()) return parts.of(cell, 0, 0);
    const auto [i, j, k] = box_.cell(cell);
    return parts.of(i, j, k);
  }
  /// Numbers of its points in the block; good until the next call.
  [[nodiscard]] std::span<const int64_t> points(int64_t cell) {
    if (!is_unstructured()) return box_.corners(cell, corners_);
    const int64_t from = cells_->offsets[cell], to = cells_->offsets[cell + 1];
    return {cells_->points + from, static_cast<size_t>(to - from)};
  }
  [[nodiscard]] Vec3 place(int64_t point) const {
    if (!is_unstructured()) return place_in_box(box_.point(point));
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
    if (!is_unstructured() || cells_->face_count == 0) return faces_;
    for (int64_t f = cells_->polyhedron_offsets[cell]; f < cells_->polyhedron_offsets[cell + 1];
         ++f) {
      const int64_t face = cells_->polyhedron_faces[f];
      const int64_t from = cells_->face_offsets[face], to = cells_->face_offsets[face + 1];
      faces_.add({cells_->face_points + from, static_cast<size_t>(to - from)});
    }
    return faces_;
  }
  /// Of a cell whose shape is known and that has the points of one.
  [[nodiscard]] CellMeasure measure(int64_t cell, const CellShape& shape) {
    const auto at = places(cell);
    if (shape.type != polyhedron_type) return stage::measure(shape, at);
    return stage::measure(faces(cell), mean_of(at), [&](int64_t point) { return place(point); });
  }

 private:
  [[nodiscard]] Vec3 place_in_box(const std::array<int64_t, 3>& index) const {
    Vec3 out{};
    if (coordinates_.data == nullptr) {
      for (size_t d = 0; d < static_cast<size_t>(axes_); ++d)
        out[d] = sizes_.face(static_cast<int>(d), box_.lo(d) + index[d]);
      return out;
    }
    const auto* stride = coordinates_.strides;
    coordinates_.visit([&](const auto* data) {
      const auto* from = data + index[0] * stride[0] + index[1] * stride[1] + index[2] * stride[2];
      for (int32_t c = 0; c < coordinates_.components; ++c)
        out[static_cast<size_t>(c)] = static_cast<double>(from[c * stride[3]]);
    });
    return out;
  }

  const pillion_block& block_;
  const pillion_connectivity* cells_;
  CellBox box_;
  CellSizes sizes_;
  int32_t axes_;
  stage::Array coordinates_;
  std::array<int64_t, 8> corners_{};
  std::vector<Vec3> places_;
  PolyhedronFaces faces_;
};

/// The integral of the interpolation of each point of a cell, whose volume is known.
inline std::vector<double> node_integrals(BlockCells& cells, int64_t cell, const QuadraticCell& of,
                                          double volume) {
  const auto at = cells.places(cell);
  std::vector<Vec3> places(at.begin(), at.end());
  complete(of, places);
  std::vector<double> each;
  weigh_points(of, places, volume, each);
  return node_integrals(of, at.size(), each);
}

// Weights. A cell weighs its volume, or its area or length if the mesh has two dimensions or one.
// Cells with flags are left out, and so are cells of fewer dimensions than the mesh, which are
// there to mark its boundary. A point weighs what its cells share among their points evenly: the
// lumped mass matrix of linear elements (O. C. Zienkiewicz, R. L. Taylor: The Finite Element
// Method). A cell with nodes in the middle of its edges gives each the integral of its
// interpolation, which may be below 0: means are exact, and whatever needs more than a mean takes
// the values at points of a quadrature instead, see for_each_sample(). A point that several blocks
// have then weighs in each what the cells there contribute, so that weights add up to the volume of
// the mesh however it is cut.

/// Which part of a mesh the weights of points stand for: all cells, or those with straight edges.
enum class PointsOf { all_cells, straight_cells };

class CellVolumes {
 public:
  /// Of all blocks of one mesh, seen from the peer that has them.
  struct Seen {
    int64_t topology = 0, geometry = 0, step = -1;
    std::vector<double> of_cells;
    std::vector<uint8_t> cell_flags;   ///< hidden if a cell does not count
    std::vector<double> of_points;     ///< empty until they are wanted
    std::vector<double> of_straight;   ///< the same of cells with straight edges; empty if all are
    std::vector<uint8_t> point_flags;  ///< hidden if no cell of a point counts
  };

  /// Throws if a cell that counts is inverted, or has no volume that could be known.
  const Seen& of(const stage::Step& step, const pillion_mesh& mesh, const stage::Block& block) {
    return of(step.index(), step.peer(), mesh, block);
  }
  /// The same for publication number `step` on peer number `peer`.
  const Seen& of(int64_t step, int32_t peer, const pillion_mesh& mesh, const stage::Block& block) {
    Seen& seen = seen_.at(step, block.id());
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
                      pillion_centering centering, PointsOf points = PointsOf::all_cells) {
    return weights(step.index(), step.peer(), mesh, block, centering, points);
  }
  CellWeights weights(int64_t step, int32_t peer, const pillion_mesh& mesh,
                      const stage::Block& block, pillion_centering centering,
                      PointsOf points = PointsOf::all_cells) {
    of(step, peer, mesh, block);
    Seen& seen = seen_.at(step, block.id());
    const bool at_points = centering == PILLION_POINT;
    if (at_points) share_among_points(mesh, block, seen);
    auto& flags = at_points ? seen.point_flags : seen.cell_flags;
    CellWeights out;
    const bool is_straight = points == PointsOf::straight_cells && !seen.of_straight.empty();
    out.of_values = !at_points ? seen.of_cells : is_straight ? seen.of_straight : seen.of_points;
    if (!at_points) out.parts = CellParts(block.raw().weight);
    out.row = static_cast<int64_t>(out.of_values.size());
    if (block.raw().connectivity == nullptr) {
      const CellBox box(mesh, block.raw());
      const auto& n = at_points ? box.points() : box.cells();
      out.row = n[0];
      out.rows = n[1];
    }
    flags_ = pillion_array{};
    flags_.data = flags.data();
    flags_.type = PILLION_UINT8;
    flags_.components = 1;
    flags_.strides[0] = 1;
    flags_.strides[1] = out.row;
    flags_.strides[2] = out.row * out.rows;
    if (std::any_of(flags.begin(), flags.end(), [](uint8_t bits) { return bits != 0; }))
      out.flags = &flags_;
    return out;
  }

  /// Calls use(values, weights) with the values of fields at points of a quadrature within the
  /// cells that count and have nodes in the middle of their edges, up to 1024 at a time. `all` are
  /// arrays of values at the block's points.
  template <class Use>
  void for_each_sample(const stage::Step& step, const pillion_mesh& mesh, const stage::Block& block,
                       const std::vector<Selected>& all, Use&& use) {
    const Seen& seen = of(step, mesh, block);
    BlockCells cells(mesh, block);
    const CellParts parts(block.raw().weight);
    SampledValues values(all, block.point_count());
    std::vector<Vec3> places;
    std::vector<double> each;
    for (int64_t c = 0; c < cells.count(); ++c) {
      const auto* quadratic = quadratic_of(cells.type(c));
      if (quadratic == nullptr || seen.cell_flags[static_cast<size_t>(c)] != 0) continue;
      const auto at = cells.places(c);
      places.assign(at.begin(), at.end());
      complete(*quadratic, places);
      weigh_points(*quadratic, places,
                   seen.of_cells[static_cast<size_t>(c)] * part_of(parts, cells, c), each);
      values.add(*quadratic, cells.points(c), each, use);
    }
    values.flush(use);
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
    BlockCells cells(mesh, block);
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
          cells, c, mesh, [&] { return "cell " + cells.name(c) + " of " + of_block(); });
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
           ", whose volume this version cannot compute; share linear or quadratic cells, or " +
           "elements of higher order as a mesh of kind: spectral");
    const std::string called = std::string(" is a ") + shape->name;
    const auto points = static_cast<int32_t>(cells.points(cell).size());
    const auto in_order = "; list its points in the order of VTK's type " + std::to_string(type);
    if (shape->points != 0 && points != shape->points)
      fail(called + ", which has " + std::to_string(shape->points) + " points, and has " +
           std::to_string(points));
    if (shape->dimensions > mesh.axes)
      fail(called + " of " + std::to_string(shape->dimensions) +
           " dimensions, and the cells of its mesh have " + std::to_string(mesh.axes) +
           "; set `dimensions` of the mesh");
    if (const auto place = stage::misplaced_point(*shape, cells.places(cell)))
      fail(called + place->sentence() + in_order);
    const auto found = cells.measure(cell, *shape);
    if (!std::isfinite(found.size)) fail(called + " with a volume that is not finite");
    if (found.size >= 0) return found.size;
    if (!stage::is_inverted(found, cells.places(cell))) return 0;
    std::array<char, 32> text{};
    (void)std::snprintf(text.data(), text.size(), "%.6g", found.size);
    fail(called + " that is inverted: its volume is " + text.data() +
         (cells.is_unstructured() ? in_order : "; its coordinates must be right-handed"));
    return 0;
  }

  static double part_of(const CellParts& parts, const BlockCells& cells, int64_t cell) {
    if (!parts.any()) return 1;
    if (cells.is_unstructured()) return parts.of(cell, 0, 0);
    const auto [i, j, k] = cells.box().cell(cell);
    return parts.of(i, j, k);
  }

  static void share_among_points(const pillion_mesh& mesh, const stage::Block& block, Seen& seen) {
    const auto count = static_cast<size_t>(block.point_count());
    if (count == 0 || (!seen.of_points.empty() && block.raw().weight == nullptr)) return;
    seen.of_points.assign(count, 0);
    seen.of_straight.clear();
    seen.point_flags.assign(count, PILLION_CELL_HIDDEN);
    BlockCells cells(mesh, block);
    const CellParts parts(block.raw().weight);
    std::vector<int64_t> curved;
    for (int64_t c = 0; c < cells.count(); ++c) {
      const auto cell = static_cast<size_t>(c);
      if (seen.cell_flags[cell] != 0) continue;
      const auto points = cells.points(c);
      for (const int64_t p : points) seen.point_flags[static_cast<size_t>(p)] = 0;
      if (quadratic_of(cells.type(c)) != nullptr) {
        curved.push_back(c);
        continue;
      }
      const double part =
          seen.of_cells[cell] * part_of(parts, cells, c) / static_cast<double>(points.size());
      for (const int64_t p : points) seen.of_points[static_cast<size_t>(p)] += part;
    }
    if (!curved.empty()) seen.of_straight = seen.of_points;
    for (const int64_t c : curved) {
      const double size = seen.of_cells[static_cast<size_t>(c)] * part_of(parts, cells, c);
      const auto integrals = node_integrals(cells, c, *quadratic_of(cells.type(c)), size);
      const auto points = cells.points(c);
      for (size_t n = 0; n < points.size(); ++n)
        seen.of_points[static_cast<size_t>(points[n])] += integrals[n];
    }
  }

  pillion_array flags_{};  ///< of the last weights
  ByBlock<Seen> seen_;
};

}  // namespace pillion::stages
