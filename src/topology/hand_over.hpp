// SPDX-License-Identifier: BSD-3-Clause
// The transportation problem: a number of goods at each source, room at each target, and the
// cheapest way to bring all goods to targets. Solved exactly by cheapest augmenting paths.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/location.hpp"

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

// To which sidecar each simulation rank hands over: the nearest, as far as sidecars are to have as
// much to do as each other.

/// For each simulation rank the index of its sidecar on the same node. On a node loads differ by
/// one at most, and under this the sum of distances is the least; ranks with the same choice keep
/// their order, neighbours together. Throws ErrorCode::Placement if a node has no sidecar.
std::vector<int> hand_over_on_nodes(const std::vector<Location>& simulation,
                                    const std::vector<Location>& sidecars);

/// The same for sidecars anywhere: loads differ by one at most over all nodes, ranks stay on their
/// node as far as its sidecars have room, the nearest of them, and there the sum of distances is
/// the least.
std::vector<int> hand_over_anywhere(const std::vector<Location>& simulation,
                                    const std::vector<Location>& sidecars);

}  // namespace pillion::topology
