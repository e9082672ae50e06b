// SPDX-License-Identifier: BSD-3-Clause
// Volumes, or areas, of the cells of curvilinear meshes, from the coordinates of their points:
// cells are hexahedra or quadrilaterals of VTK's.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "cell_shapes.hpp"
#include "cells.hpp"

namespace pillion::stages {

/// Whether blocks of a field are boxes of cells whose points have coordinates.
inline bool is_curvilinear(const pillion_field_description& field) {
  return field.mesh_kind == PILLION_CURVILINEAR;
}

class CurvedCells {
 public:
  /// Points of a block by index, counted in the block.
  class Points {
   public:
    explicit Points(const stage::Array& coordinates) : array_(coordinates) {}
    [[nodiscard]] Vec3 at(int64_t i, int64_t j, int64_t k) const {
      Vec3 out{};
      array_.visit([&](const auto* data) {
        const auto* from =
            data + i * array_.strides[0] + j * array_.strides[1] + k * array_.strides[2];
        for (int32_t c = 0; c < array_.components; ++c)
          out[static_cast<size_t>(c)] = static_cast<double>(from[c * array_.strides[3]]);
      });
      return out;
    }

   private:
    stage::Array array_;
  };

  /// The corners of a cell, in VTK's order; 4 of a mesh of two axes.
  static std::vector<Vec3> corners(const Points& points, int32_t axes, int64_t i, int64_t j,
                                   int64_t k) {
    std::vector<Vec3> out;
    for (int64_t up = 0; up < (axes == 3 ? 2 : 1); ++up)
      for (const auto& [a, b] : {std::array<int64_t, 2>{0, 0}, {1, 0}, {1, 1}, {0, 1}})
        out.push_back(points.at(i + a, j + b, k + up));
    return out;
  }

  /// The weights of a block's cells; good until the next publication. Throws if one is inverted.
  CellWeights weights(const stage::Step& step, const pillion_mesh& mesh,
                      const stage::Block& block) {
    Seen& seen = seen_[block.id()];
    if (seen.step != step.index()) measure(step, mesh, block, seen);
    CellWeights out;
    out.flags = block.raw().flags;
    out.of_values = seen.volumes;
    out.row = block.hi()[0] - block.lo()[0];
    out.rows = mesh.axes > 1 ? block.hi()[1] - block.lo()[1] : 1;
    return out;
  }

 private:
  struct Seen {
    int64_t step = -1;
    std::vector<double> volumes;
  };

  static void measure(const stage::Step& step, const pillion_mesh& mesh, const stage::Block& block,
                      Seen& seen) {
    seen = {step.index(), {}};
    const Points points(block.coordinates());
    const CellShape& shape = *shape_of(mesh.axes == 3 ? 12 : 9);
    std::array<int64_t, 3> n{1, 1, 1};
    for (int d = 0; d < mesh.axes; ++d) n[static_cast<size_t>(d)] = block.hi()[d] - block.lo()[d];
    for (int64_t k = 0; k < n[2]; ++k)
      for (int64_t j = 0; j < n[1]; ++j)
        for (int64_t i = 0; i < n[0]; ++i) {
          const auto at = corners(points, mesh.axes, i, j, k);
          const double size = stages::measure(shape, at).size;
          const bool is_good = std::isfinite(size) && (size >= 0 || is_flat(size, at));
          if (!is_good)
            throw Error(ErrorCode::Sharing,
                        "cell (" + std::to_string(block.lo()[0] + i) + ", " +
                            std::to_string(block.lo()[1] + j) +
                            (mesh.axes == 3 ? ", " + std::to_string(block.lo()[2] + k) : "") +
                            ") of block " + std::to_string(block.number()) + " of mesh '" +
                            mesh.name + "' (rank " + std::to_string(step.peer()) +
                            " of the analysis) has the volume " + std::to_string(size) +
                            "; its coordinates must be right-handed");
          seen.volumes.push_back(std::max(size, 0.0));
        }
  }

  /// Flat cells may come out below zero by rounding.
  static bool is_flat(double size, const std::vector<Vec3>& at) {
    double extent = 0;
    for (const auto& p : at) extent = std::max(extent, length_of(p - at[0]));
    return size > -1e-12 * extent * extent * extent;
  }

  std::map<int64_t, Seen> seen_;  ///< by block
};

}  // namespace pillion::stages
