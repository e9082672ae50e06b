// SPDX-License-Identifier: BSD-3-Clause
// The way of the early in-transit code: the root tells all receivers of each box in three small
// broadcasts; then each box goes in a blocking message of its size and one of its data, and
// receivers take boxes one by one, by the number of the box.
#pragma once

#include <mpi.h>

#include <vector>

#include "layout/division.hpp"

namespace study {

using pillion::layout::Box;
using pillion::layout::Tiling;

/// A part of a box on its way.
struct Piece {
  int source, target;  ///< ranks in the world
  Box box, region;
};

/// In the order of the boxes' lower corners, first axis fastest, on any owner. If scattered,
/// piece i goes to target i modulo their number, and not to the target that requests it.
std::vector<Piece> all_pieces(const Tiling& from, const pillion::layout::Wanted& wanted,
                              bool scattered);

/// Where a rank's seconds went.
struct Spent {
  double sizes = 0;   ///< blocked in messages of sizes: for a receiver, the wait for the sender
  double values = 0;  ///< blocked in messages of data
  double copying = 0;
};

/// [collective] `mine` are the pieces that this rank sends or receives.
Spent carry_by_box(const std::vector<Piece>& mine, int components);

/// Of the small broadcasts from rank 0 to the receivers: seconds until a rank has the first, and
/// after how many each of the next follows.
struct Broadcasts {
  double alone = 0, each = 0;
};
/// [collective]
Broadcasts time_broadcasts(int sources, int times);

}  // namespace study
