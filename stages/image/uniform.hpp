// SPDX-License-Identifier: BSD-3-Clause
// What layers of uniform meshes have in common: the lattice of a step, and going through the blocks
// that a peer has.
#pragma once

#include <array>
#include <pillion/stage.hpp>
#include <span>
#include <vector>

#include "../common/elements.hpp"
#include "camera.hpp"
#include "colouring.hpp"
#include "layer.hpp"
#include "patch.hpp"

namespace pillion::stages::image {

/// Of a mesh with two axes the third has one cell, as thick as those of the first are wide.
inline Lattice lattice_of(const pillion_field_description& field, int64_t factor) {
  Lattice out;
  for (int32_t d = 0; d < 3; ++d) {
    Axis& axis = out.axes[static_cast<size_t>(d)];
    if (d >= field.axes) {
      const double width = field.length[0] / static_cast<double>(field.cells[0]);
      axis = {-width / 2, width / 2, 0, width, 1};
      continue;
    }
    const double width = field.length[d] / static_cast<double>(field.cells[d]);
    const auto coarse = static_cast<double>(factor);
    axis = {field.origin[d], field.origin[d] + field.length[d], field.origin[d] + width / 2,
            coarse * width, (field.cells[d] + factor - 1) / factor};
  }
  return out;
}

inline void enclose_mesh(const pillion_field_description& field, Box& box) {
  for (int d = 0; d < 3; ++d) {
    const double lo = d < field.axes ? field.origin[d] : 0;
    box.lo[d] = std::min(box.lo[d], lo);
    box.hi[d] = std::max(box.hi[d], d < field.axes ? lo + field.length[d] : 0);
  }
}

/// Adds the numbers of this peer's cells, without ghosts.
inline void measure_cells(const stage::Step& step, int32_t input, const Slot& slot,
                          const FieldComponent& what, Extremes& extremes) {
  std::vector<double> row;
  for (int32_t b = 0; b < step.block_count(input); ++b) {
    const auto block = step.block(input, b);
    stages::Extent size = {1, 1, 1}, lo{}, hi = {1, 1, 1};
    for (int32_t d = 0; d < what.description.axes; ++d) {
      size[d] = block.hi()[d] - block.lo()[d];
      lo[d] = block.inner_lo()[d] - block.lo()[d];
      hi[d] = block.inner_hi()[d] - block.lo()[d];
    }
    const auto array = block[slot.array];
    row.resize(static_cast<size_t>(hi[0] - lo[0]));
    for (int64_t k = lo[2]; k < hi[2]; ++k)
      for (int64_t j = lo[1]; j < hi[1]; ++j) {
        stages::read_values({&array, what.component}, size, (k * size[1] + j) * size[0] + lo[0],
                            row);
        for (const double value : row) extremes.add(value);
      }
  }
}

}  // namespace pillion::stages::image
