// SPDX-License-Identifier: BSD-3-Clause
// Boxes of two lists: which of them overlap, in a time that grows with the boxes and the pairs, and
// which of one list each of the other takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/block.hpp"

namespace pillion::layout {

using model::Box;

/// The cells that two boxes have in common; empty, with lo >= hi somewhere, if there are none.
inline Box common(const Box& a, const Box& b) {
  Box out;
  for (size_t d = 0; d < 3; ++d) {
    out.lo[d] = std::max(a.lo[d], b.lo[d]);
    out.hi[d] = std::min(a.hi[d], b.hi[d]);
  }
  return out;
}

inline bool is_empty(const Box& box) {
  return box.lo[0] >= box.hi[0] || box.lo[1] >= box.hi[1] || box.lo[2] >= box.hi[2];
}

/// Which box of one list overlaps which of the other, and where.
struct Overlap {
  size_t a, b;
  Box region;
};

/// By a, then b. Empty boxes overlap nothing.
std::vector<Overlap> overlaps(const std::vector<Box>& a, const std::vector<Box>& b);

/// Cells of a share that a rank has.
struct Affinity {
  int32_t share = 0, rank = 0;
  int64_t cells = 0;
};

/// The rank of each of as many shares as there are ranks. The largest affinities come first, so
/// that at least half as many cells stay where they are as with the best choice.
std::vector<int> match(std::vector<Affinity> affinities, int ranks);

}  // namespace pillion::layout
