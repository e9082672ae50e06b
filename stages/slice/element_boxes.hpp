// SPDX-License-Identifier: BSD-3-Clause
// Spectral elements as cells: one of order N is a box of N x N x N hexahedra between its points, or
// of N x N quadrilaterals, as those of a curvilinear mesh are.
#pragma once

#include <cstdint>
#include <pillion/stage.hpp>

#include "../common/elements.hpp"

namespace pillion::stages::slice {

class ElementBoxes {
 public:
  /// `coordinates` is which array of the block has the places of points.
  ElementBoxes(const pillion_field_description& field, const stage::Block& block,
               int32_t coordinates)
      : count_(block.count()) {
    mesh_.size = sizeof mesh_;
    mesh_.name = field.mesh;
    mesh_.kind = PILLION_CURVILINEAR;
    mesh_.axes = field.axes;
    mesh_.levels = 1;
    block_.size = sizeof block_;
    const int64_t n = field.order + 1;
    int64_t points = 1;
    for (int32_t d = 0; d < 3; ++d) {
      mesh_.cells[d] = d < field.axes ? field.order : 1;
      block_.allocated.hi[d] = block_.valid.hi[d] = mesh_.cells[d];
      points *= d < field.axes ? n : 1;
    }
    places_ = *block.raw().arrays[coordinates];
    next_ = places_.strides[0];
    const int64_t one = places_.strides[3];
    places_.components /= static_cast<int32_t>(points);
    places_.strides[0] = one;
    places_.strides[1] = one * n;
    places_.strides[2] = one * n * n;
    places_.strides[3] = one * points;
    first_ = static_cast<const std::byte*>(places_.data);
    block_.coordinates = &places_;
  }
  ElementBoxes(const ElementBoxes&) = delete;
  ElementBoxes& operator=(const ElementBoxes&) = delete;

  [[nodiscard]] int64_t count() const { return count_; }
  [[nodiscard]] const pillion_mesh& mesh() const { return mesh_; }
  /// Good until the next call.
  [[nodiscard]] stage::Block element(int64_t number) {
    places_.data = first_ + number * next_;
    return stage::Block(&block_);
  }

 private:
  int64_t count_;
  pillion_mesh mesh_{};
  pillion_block block_{};
  pillion_array places_{};
  const std::byte* first_;
  int64_t next_;
};

}  // namespace pillion::stages::slice
