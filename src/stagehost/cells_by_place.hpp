// SPDX-License-Identifier: BSD-3-Clause
// Moves cells of any shape among the peers, so that each peer has the cells of one part of space.
#pragma once

#include <array>
#include <vector>

#include "model/topology.hpp"
#include "stagehost/work.hpp"

namespace pillion::stagehost {

/// A box that is divided among ranks, in parts as near to cubes as can be.
class SpaceDivision {
 public:
  /// Extents may be 0: the mesh may be a surface or a line along axes.
  SpaceDivision(const std::array<double, 3>& lo, const std::array<double, 3>& hi, int ranks);
  /// The rank of a place in the box; a place between two parts is in the upper one.
  [[nodiscard]] int rank_of(const std::array<double, 3>& place) const;
  [[nodiscard]] const std::array<int, 3>& parts() const { return parts_; }

 private:
  std::array<double, 3> lo_, hi_;
  std::array<int, 3> parts_;
};

/// A topology of `cells` of another, in their order, with the points and faces that these use.
/// `points` receives, for each of its points, the number in the other.
base::Bytes subset_of(const model::Topology& whole, const std::vector<int64_t>& cells,
                      std::vector<int64_t>& points);

/// The cells whose centres, the means of their points, lie in this rank's part of the box around
/// all centres. There is one block for each block that has such cells. Arrays of the request's
/// fields, points, ids and flags come with them. With a halo there is one block of them all, in
/// which copies of as many layers of cells around them follow. `blocks` have all these.
/// [collective over the peers]
model::MeshBlocks cells_by_place(const std::vector<model::Block>& blocks,
                                 const layout::Request& request, const model::Mesh& mesh,
                                 CheckedCells& checked, const ExecutionContext& context);

}  // namespace pillion::stagehost
