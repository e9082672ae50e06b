// SPDX-License-Identifier: BSD-3-Clause
// Numbering nodes.
#include "run/node_numbers.hpp"

#include <algorithm>
#include <map>

namespace pillion::run {

int overridden_node(int rank, int ranks, int nodes) {
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

}  // namespace pillion::run
