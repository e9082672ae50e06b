// SPDX-License-Identifier: BSD-3-Clause
// The grid cut into boxes of equal size (those at the upper ends may be smaller), dealt to ranks in
// runs along a Morton curve, as block-structured codes do. A rank may have any number of them, none
// included. The boxes have nothing to do with the slabs of the transforms, from which they are
// filled.
#pragma once

#include <span>
#include <vector>

#include "slabs.hpp"

namespace cosmology {

/// Cells lo <= i < hi of the whole grid.
struct GridBox {
  int64_t lo[3];
  int64_t hi[3];
  int owner;

  [[nodiscard]] int64_t extent(int axis) const { return hi[axis] - lo[axis]; }
  [[nodiscard]] int64_t count() const { return extent(0) * extent(1) * extent(2); }
};

/// A field on this rank's boxes: for each, its values with x varying fastest and components
/// together.
using BoxField = std::vector<std::vector<double>>;

class Boxes {
 public:
  Boxes(const Slabs& slabs, int64_t side);

  [[nodiscard]] std::span<const GridBox> mine() const { return mine_; }
  /// Largest number of boxes on any rank.
  [[nodiscard]] size_t most() const { return most_; }
  [[nodiscard]] BoxField field(int64_t components) const;
  /// Copies a mesh to one of the components of a field on the boxes. [collective]
  void fill(const Mesh& mesh, BoxField& field, int64_t components = 1, int64_t component = 0) const;

 private:
  const Slabs& slabs_;
  std::vector<GridBox> all_;
  std::vector<GridBox> mine_;
  size_t most_ = 0;
  std::vector<int> first_plane_;  ///< of every rank's slab, and the end
};

}  // namespace cosmology
