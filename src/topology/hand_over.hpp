// SPDX-License-Identifier: BSD-3-Clause
// To which sidecar each simulation rank hands over: the nearest, as far as sidecars are to have as
// much to do as each other.
#pragma once

#include <vector>

#include "topology/location.hpp"

namespace pillion::topology {

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
