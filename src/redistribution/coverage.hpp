// SPDX-License-Identifier: BSD-3-Clause
// Whether the boxes of all ranks are a mesh, and which of its cells finer boxes cover. Each rank
// looks at the boxes in a part of each level, so none has to know all boxes.
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "model/block.hpp"

namespace pillion::redistribution {

/// The rank of the simulation that shared a block, from its id, wherever the block is now.
constexpr int32_t sharer_of(int64_t id) { return static_cast<int32_t>(id >> 32 & 0xffffff); }

/// A box of a mesh, as a rank has it.
struct MeshBox {
  int32_t level = 0;   ///< of refinement
  int32_t number = 0;  ///< of the block, for messages
  model::Box box;      ///< in cells of its level
  int32_t rank = -1;   ///< that shared the block, for messages; negative: this one
  friend bool operator==(const MeshBox&, const MeshBox&) = default;
};

/// Cells of a box here, in its own level, that a box of the next finer level covers.
struct CoveredPart {
  size_t of = 0;  ///< index of the box here
  model::Box cells;
};

/// The cells here that finer boxes cover, by box. Throws the same error on every rank if two boxes
/// of a level overlap, if a box is not inside boxes of the next coarser level, or, unless the mesh
/// is partial, if no box has a cell of level 0. Boxes lie within the cells of their level, and
/// those of finer levels begin and end where cells of the next coarser level do; empty ones do not
/// count. `field` is for messages. [collective]
std::vector<CoveredPart> find_covered(const comm::Communicator& ranks,
                                      const std::vector<MeshBox>& here, const model::Mesh& mesh,
                                      const std::string& field);

/// Whether two lists have the same cells of each level. Boxes of one list do not overlap. Not
/// collective.
bool have_same_cells(const std::vector<MeshBox>& a, const std::vector<MeshBox>& b);

}  // namespace pillion::redistribution
