// SPDX-License-Identifier: BSD-3-Clause
// Which ranks share a node. Pure functions, so that every rank comes to the same answer from the
// same list.
#pragma once

#include <cstdint>
#include <vector>

namespace pillion::run {

/// The node of a rank where `ranks` ranks pretend to be on `nodes` nodes: neighbours together,
/// sizes differing by one at most. There are never more nodes than ranks.
int overridden_node(int rank, int ranks, int nodes);

/// Numbers nodes from 0 in the order in which they first appear. `leader_of_rank` is the same for
/// ranks on the same node and for no others.
std::vector<int> number_nodes(const std::vector<int64_t>& leader_of_rank);

}  // namespace pillion::run
