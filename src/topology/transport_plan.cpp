// SPDX-License-Identifier: BSD-3-Clause
// Successive cheapest paths (Bellman and Ford's, since edges back have negative costs). Sources and
// targets are few: kinds of spots, not spots.
#include "topology/transport_plan.hpp"

#include <algorithm>
#include <limits>

namespace pillion::topology {

namespace {

struct Edge {
  int to = 0;
  int64_t room = 0;
  int64_t cost = 0;
};

/// Edges 2e and 2e+1 are each other's way back.
struct Network {
  explicit Network(size_t nodes) : of_node(nodes) {}

  int join(int from, int to, int64_t room, int64_t cost) {
    const int edge = static_cast<int>(edges.size());
    edges.push_back({to, room, cost});
    edges.push_back({from, 0, -cost});
    of_node[static_cast<size_t>(from)].push_back(edge);
    of_node[static_cast<size_t>(to)].push_back(edge + 1);
    return edge;
  }

  Edge& edge(int number) { return edges[static_cast<size_t>(number)]; }

  std::vector<Edge> edges;
  std::vector<std::vector<int>> of_node;
};

constexpr int64_t far = std::numeric_limits<int64_t>::max() / 4;

/// The edge by which each node is reached cheapest from node 0, -1 where none is.
std::vector<int> cheapest_ways(Network& network) {
  const size_t nodes = network.of_node.size();
  std::vector<int64_t> cost(nodes, far);
  std::vector<int> by(nodes, -1);
  cost[0] = 0;
  for (bool better = true; better;) {
    better = false;
    for (size_t n = 0; n < nodes; ++n) {
      if (cost[n] == far) continue;
      for (const int e : network.of_node[n]) {
        const Edge& edge = network.edge(e);
        const auto to = static_cast<size_t>(edge.to);
        if (edge.room == 0 || cost[n] + edge.cost >= cost[to]) continue;
        cost[to] = cost[n] + edge.cost;
        by[to] = e;
        better = true;
      }
    }
  }
  return by;
}

/// Sends what fits along the cheapest path to `end`; whether there was one.
bool augment(Network& network, int end) {
  const auto by = cheapest_ways(network);
  if (by[static_cast<size_t>(end)] < 0) return false;
  int64_t room = far;
  const auto walk = [&](auto&& deed) {
    for (int at = end; at != 0;) {
      const int e = by[static_cast<size_t>(at)];
      deed(e);
      at = network.edge(e ^ 1).to;
    }
  };
  walk([&](int e) { room = std::min(room, network.edge(e).room); });
  walk([&](int e) {
    network.edge(e).room -= room;
    network.edge(e ^ 1).room += room;
  });
  return true;
}

/// More than any detour can save.
int64_t price_of_more(const std::vector<std::vector<int64_t>>& cost) {
  int64_t most = 0;
  for (const auto& row : cost)
    for (const int64_t c : row) most = std::max(most, c);
  return (most + 1) * static_cast<int64_t>(2 * cost.size() + 2);
}

}  // namespace

std::vector<std::vector<int64_t>> cheapest_plan(const std::vector<int64_t>& goods,
                                                const std::vector<Target>& targets,
                                                const std::vector<std::vector<int64_t>>& cost) {
  const int sources = static_cast<int>(goods.size());
  const int end = sources + static_cast<int>(targets.size()) + 1;
  Network network(static_cast<size_t>(end) + 1);
  std::vector<std::vector<int>> edge(goods.size());
  for (int i = 0; i < sources; ++i) {
    const auto row = static_cast<size_t>(i);
    network.join(0, 1 + i, goods[row], 0);
    for (size_t j = 0; j < targets.size(); ++j)
      edge[row].push_back(network.join(1 + i, 1 + sources + static_cast<int>(j),
                                       std::min(goods[row], targets[j].most), cost[row][j]));
  }
  const int64_t price = price_of_more(cost);
  for (size_t j = 0; j < targets.size(); ++j) {
    const int from = 1 + sources + static_cast<int>(j);
    network.join(from, end, targets[j].least, 0);
    network.join(from, end, targets[j].most - targets[j].least, price);
  }
  while (augment(network, end)) {}
  std::vector<std::vector<int64_t>> plan(goods.size(), std::vector<int64_t>(targets.size()));
  for (size_t i = 0; i < goods.size(); ++i)
    for (size_t j = 0; j < targets.size(); ++j) plan[i][j] = network.edge(edge[i][j] + 1).room;
  return plan;
}

}  // namespace pillion::topology
