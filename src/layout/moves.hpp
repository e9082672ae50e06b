// SPDX-License-Identifier: BSD-3-Clause
// What has to go where for a mesh to change from the boxes that ranks have to the boxes of a
// tiling, grown by ghost cells: worked out by each rank from its own boxes alone.
#pragma once

#include <string>

#include "layout/tiling.hpp"

namespace pillion::layout {

/// The boxes that ranks are to have.
struct Wanted {
  Tiling tiling;
  Index3 ghosts{0, 0, 0};          ///< cells added on each side, per axis
  std::array<bool, 3> periodic{};  ///< ghost cells beyond the domain are those of the other end

  /// A box as it is wanted: beyond the domain only where it is periodic.
  [[nodiscard]] Box grown(const Box& box) const;
};

/// A part of a box here that is part of a box there.
struct Move {
  int32_t from = 0;  ///< which of the boxes here
  int32_t to = 0;    ///< number of the box there
  Box region;        ///< its cells, as they are counted there
  Index3 shift{};    ///< there minus here: other than 0 for cells of a periodic image
  friend bool operator==(const Move&, const Move&) = default;
};

/// All that goes to one rank, in the order in which it is packed.
struct Moves {
  int rank = 0;
  std::vector<Move> moves;
  int64_t cells = 0;
};

/// What goes to each rank that gets anything, by rank. The boxes here must not overlap each other
/// or those of other ranks.
std::vector<Moves> plan_moves(const std::vector<Box>& here, const Wanted& wanted);

}  // namespace pillion::layout
