// SPDX-License-Identifier: BSD-3-Clause
// Which rank takes which share of boxes: the one that has most of it already, as far as that goes,
// each taking one. Loads stay as even as the shares are.
#pragma once

#include <cstdint>
#include <vector>

namespace pillion::layout {

/// Cells of a share that a rank has.
struct Affinity {
  int32_t share = 0, rank = 0;
  int64_t cells = 0;
};

/// The rank of each of as many shares as there are ranks. The largest affinities come first, so
/// that at least half as many cells stay where they are as with the best choice.
std::vector<int> match(std::vector<Affinity> affinities, int ranks);

}  // namespace pillion::layout
