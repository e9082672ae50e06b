// SPDX-License-Identifier: BSD-3-Clause
// The transportation problem: so many goods at each source, so much room at each target, and the
// cheapest way to bring all goods to targets. Solved exactly by cheapest augmenting paths.
#pragma once

#include <cstdint>
#include <vector>

namespace pillion::topology {

struct Target {
  int64_t least = 0;  ///< goods that it is to have if there are enough
  int64_t most = 0;
};

/// Goods that go from source i to target j, at [i][j]. `cost[i][j]` is that of one. Targets get
/// more than their least only when all others have theirs. The room must be enough.
std::vector<std::vector<int64_t>> cheapest_plan(const std::vector<int64_t>& goods,
                                                const std::vector<Target>& targets,
                                                const std::vector<std::vector<int64_t>>& cost);

}  // namespace pillion::topology
