// SPDX-License-Identifier: BSD-3-Clause
// All pairs of overlapping boxes of two lists, in a time that grows with the boxes and the pairs.
#pragma once

#include <algorithm>
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

}  // namespace pillion::layout
