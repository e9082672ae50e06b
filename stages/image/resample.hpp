// SPDX-License-Identifier: BSD-3-Clause
// A field of spectral elements on a uniform mesh, for volumes: the value in each cell's centre, and
// not a number where no element is. A centre on a face of elements may get a value from each of
// them; the larger one counts, so that it does not matter who holds which.
#pragma once

#include <pillion/stage.hpp>
#include <vector>

#include "patch.hpp"
#include "spectral.hpp"

namespace pillion::image {

struct Resampled {
  Lattice lattice;
  std::vector<double> values;  ///< first axis fastest

  [[nodiscard]] int64_t cells(int axis) const {
    return lattice.axes[static_cast<size_t>(axis)].cells;
  }
};

/// With so many cells along the longest side; the same on every peer. [peers]
Resampled resampled(const stage::Step& step, const Elements& elements, const SpectralField& field,
                    int64_t resolution);

/// Calls use(const Patch&, const stage::Array&) for the bricks that are this peer's.
template <class F>
void for_each_brick(const stage::Step& step, const Resampled& mesh, F&& use) {
  constexpr int64_t side = 1 << Sources::brick_side;
  stage::Array array{};
  array.data = mesh.values.data();
  array.type = PILLION_FLOAT64;
  array.components = 1;
  for (int axis = 0, stride = 1; axis < 3; ++axis) {
    array.strides[axis] = stride;
    stride *= static_cast<int>(mesh.cells(axis));
  }
  int64_t number = 0;
  Index lo;
  for (lo[2] = 0; lo[2] < mesh.cells(2); lo[2] += side)
    for (lo[1] = 0; lo[1] < mesh.cells(1); lo[1] += side)
      for (lo[0] = 0; lo[0] < mesh.cells(0); lo[0] += side) {
        if (number++ % step.peers() != step.peer()) continue;
        pillion_block block{};
        for (int d = 0; d < 3; ++d) {
          block.allocated.hi[d] = mesh.cells(d);
          block.valid.lo[d] = lo[static_cast<size_t>(d)];
          block.valid.hi[d] = std::min(block.valid.lo[d] + side, block.allocated.hi[d]);
        }
        use(Patch(stage::Block(&block), mesh.lattice, 3, 0), array);
      }
}

}  // namespace pillion::image
