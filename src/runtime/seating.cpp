// SPDX-License-Identifier: BSD-3-Clause
// Numbering nodes and spreading simulation ranks over the sidecars of their node.
#include "runtime/seating.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"

namespace pillion::runtime {

int pretended_node(int rank, int ranks, int nodes) {
  const int64_t groups = std::clamp(nodes, 1, std::max(ranks, 1));
  return static_cast<int>(rank * groups / ranks);
}

std::vector<int> number_nodes(const std::vector<int64_t>& leader_of_rank) {
  std::map<int64_t, int> numbers;
  std::vector<int> nodes;
  for (const int64_t leader : leader_of_rank)
    nodes.push_back(numbers.try_emplace(leader, static_cast<int>(numbers.size())).first->second);
  return nodes;
}

std::vector<int> serve(const std::vector<int>& node_of_simulation_rank,
                       const std::vector<int>& node_of_sidecar_rank) {
  std::map<int, int64_t> simulating;
  std::map<int, std::vector<int>> sidecars;
  for (const int node : node_of_simulation_rank) ++simulating[node];
  for (size_t rank = 0; rank < node_of_sidecar_rank.size(); ++rank)
    sidecars[node_of_sidecar_rank[rank]].push_back(static_cast<int>(rank));
  std::map<int, int64_t> seen;
  std::vector<int> server;
  for (const int node : node_of_simulation_rank) {
    const auto& here = sidecars[node];
    if (here.empty())
      base::fail(ErrorCode::Placement,
                 "node {} has {} simulation ranks but no sidecar; start one on every node", node,
                 simulating[node]);
    const auto turn = seen[node]++ * static_cast<int64_t>(here.size()) / simulating[node];
    server.push_back(here[static_cast<size_t>(turn)]);
  }
  return server;
}

}  // namespace pillion::runtime
