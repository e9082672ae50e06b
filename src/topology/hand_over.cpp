// SPDX-License-Identifier: BSD-3-Clause
// Successive cheapest paths (Bellman and Ford's, since edges back have negative costs). Sources and
// targets are few: kinds of spots, not spots.
#include "topology/hand_over.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>

#include "base/error.hpp"

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

namespace {

using Indices = std::vector<int>;

/// Ranks of one node, and the sidecar of each simulation rank.
struct Node {
  Indices simulation, sidecars;
};

std::map<int32_t, Node> by_node(const std::vector<Location>& simulation,
                                const std::vector<Location>& sidecars) {
  std::map<int32_t, Node> nodes;
  for (size_t i = 0; i < simulation.size(); ++i)
    nodes[simulation[i].node].simulation.push_back(static_cast<int>(i));
  for (size_t i = 0; i < sidecars.size(); ++i)
    nodes[sidecars[i].node].sidecars.push_back(static_cast<int>(i));
  return nodes;
}

std::vector<Location> chosen(const std::vector<Location>& locations, const Indices& indices) {
  std::vector<Location> out;
  for (const int i : indices) out.push_back(locations[static_cast<size_t>(i)]);
  return out;
}

/// Positions of `from` that are equally far from all of `to`, kind by kind.
std::vector<Indices> kinds_of(const std::vector<Location>& from, const std::vector<Location>& to) {
  std::map<std::vector<int64_t>, size_t> known;
  std::vector<Indices> kinds;
  std::vector<int64_t> distances(to.size());
  for (size_t i = 0; i < from.size(); ++i) {
    for (size_t j = 0; j < to.size(); ++j) distances[j] = distance(from[i], to[j]);
    const auto kind = known.try_emplace(distances, kinds.size()).first->second;
    if (kind == kinds.size()) kinds.emplace_back();
    kinds[kind].push_back(static_cast<int>(i));
  }
  return kinds;
}

/// `away` go nowhere: what a last target has.
std::vector<std::vector<int64_t>> plan_of(const std::vector<Indices>& sources,
                                          const std::vector<Indices>& targets,
                                          const std::vector<Location>& from,
                                          const std::vector<Location>& to, int64_t away) {
  const int64_t staying = static_cast<int64_t>(from.size()) - away;
  const auto all = static_cast<int64_t>(to.size());
  const int64_t share = staying / all;
  const int64_t rest = staying % all == 0 ? 0 : 1;
  std::vector<int64_t> goods;
  std::vector<Target> rooms;
  std::vector<std::vector<int64_t>> cost(sources.size());
  for (const auto& target : targets) {
    const auto sidecars = static_cast<int64_t>(target.size());
    rooms.push_back({share * sidecars, (share + rest) * sidecars});
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    goods.push_back(static_cast<int64_t>(sources[i].size()));
    for (const auto& target : targets)
      cost[i].push_back(distance(from[static_cast<size_t>(sources[i].front())],
                                 to[static_cast<size_t>(target.front())]));
    cost[i].push_back(0);
  }
  rooms.push_back({away, away});
  return cheapest_plan(goods, rooms, cost);
}

/// Assigns ranks to sidecars, in order and evenly.
void assign_evenly(Indices ranks, const Indices& sidecars, Indices& out) {
  std::sort(ranks.begin(), ranks.end());
  for (size_t turn = 0; turn < ranks.size(); ++turn)
    out[static_cast<size_t>(ranks[turn])] = sidecars[turn * sidecars.size() / ranks.size()];
}

/// All spots on one node; positions in `to` for each of `from`, -1 for the farthest `away` of them.
Indices nearest(const std::vector<Location>& from, const std::vector<Location>& to, int64_t away) {
  const auto sources = kinds_of(from, to);
  const auto targets = kinds_of(to, from);
  const auto plan = plan_of(sources, targets, from, to, away);
  Indices out(from.size(), -1);
  std::vector<size_t> taken(sources.size());
  for (size_t j = 0; j < targets.size(); ++j) {
    Indices ranks;
    for (size_t i = 0; i < sources.size(); ++i)
      for (int64_t n = 0; n < plan[i][j]; ++n) ranks.push_back(sources[i][taken[i]++]);
    assign_evenly(ranks, targets[j], out);
  }
  return out;
}

/// The same with a cache for a few nodes, as most are like another.
class Nearest {
 public:
  const Indices& operator()(std::vector<Location> from, std::vector<Location> to, int64_t away) {
    for (auto* side : {&from, &to})
      for (Location& location : *side) location.node = 0;
    for (const auto& plan : known_)
      if (plan.away == away && plan.from == from && plan.to == to) return plan.found;
    if (known_.size() == most) known_.pop_front();
    auto found = nearest(from, to, away);
    return known_.emplace_back(Plan{std::move(from), std::move(to), away, std::move(found)}).found;
  }

 private:
  static constexpr size_t most = 8;
  struct Plan {
    std::vector<Location> from, to;
    int64_t away;
    Indices found;
  };
  std::deque<Plan> known_;
};

/// Gives ranks of a node, but for the `away` that are farthest from all, a sidecar there.
void place_on(const std::vector<Location>& simulation, const std::vector<Location>& sidecars,
              const Node& node, int64_t away, Nearest& nearest, Indices& out) {
  if (node.simulation.empty() || node.sidecars.empty()) return;
  const auto& found =
      nearest(chosen(simulation, node.simulation), chosen(sidecars, node.sidecars), away);
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i] >= 0)
      out[static_cast<size_t>(node.simulation[i])] = node.sidecars[static_cast<size_t>(found[i])];
}

/// How many ranks each node's sidecars are to have, so that all sidecars have as many but one.
/// Nodes with many ranks of their own have more.
std::map<int32_t, int64_t> room_of_nodes(const std::map<int32_t, Node>& nodes, int64_t ranks,
                                         int64_t sidecars) {
  const int64_t share = ranks / sidecars;
  int64_t left = ranks % sidecars;
  std::map<int32_t, int64_t> room;
  for (const auto& [number, node] : nodes) {
    const auto here = static_cast<int64_t>(node.sidecars.size());
    const int64_t wanted = static_cast<int64_t>(node.simulation.size()) - share * here;
    const int64_t more = std::min(std::clamp<int64_t>(wanted, 0, here), left);
    room[number] = share * here + more;
    left -= more;
  }
  for (const auto& [number, node] : nodes) {
    const auto here = static_cast<int64_t>(node.sidecars.size());
    const int64_t more = std::min((share + 1) * here - room[number], left);
    room[number] += more;
    left -= more;
  }
  return room;
}

/// Assigns ranks without a sidecar on their node to sidecars with room, least load first.
void fill(const Indices& strangers, const std::map<int32_t, Node>& nodes,
          std::map<int32_t, int64_t>& room, Indices& out, size_t sidecars) {
  std::vector<int64_t> load(sidecars);
  for (const int server : out)
    if (server >= 0) ++load[static_cast<size_t>(server)];
  size_t next = 0;
  for (const auto& [number, node] : nodes) {
    int64_t open = room[number];
    for (const int server : node.sidecars) open -= load[static_cast<size_t>(server)];
    for (; open > 0; --open) {
      const int server =
          *std::min_element(node.sidecars.begin(), node.sidecars.end(), [&](int a, int b) {
            return load[static_cast<size_t>(a)] < load[static_cast<size_t>(b)];
          });
      ++load[static_cast<size_t>(server)];
      out[static_cast<size_t>(strangers[next++])] = server;
    }
  }
}

}  // namespace

std::vector<int> hand_over_on_nodes(const std::vector<Location>& simulation,
                                    const std::vector<Location>& sidecars) {
  Indices out(simulation.size(), -1);
  Nearest nearest;
  for (const auto& [number, node] : by_node(simulation, sidecars)) {
    if (node.sidecars.empty())
      base::fail(ErrorCode::Placement,
                 "node {} has {} simulation ranks but no sidecar; start one on every node", number,
                 node.simulation.size());
    place_on(simulation, sidecars, node, 0, nearest, out);
  }
  return out;
}

std::vector<int> hand_over_anywhere(const std::vector<Location>& simulation,
                                    const std::vector<Location>& sidecars) {
  const auto nodes = by_node(simulation, sidecars);
  auto room = room_of_nodes(nodes, static_cast<int64_t>(simulation.size()),
                            static_cast<int64_t>(sidecars.size()));
  Indices out(simulation.size(), -1);
  Nearest nearest;
  for (const auto& [number, node] : nodes) {
    const auto here = static_cast<int64_t>(node.simulation.size());
    place_on(simulation, sidecars, node, std::max<int64_t>(0, here - room[number]), nearest, out);
  }
  Indices strangers;
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i] < 0) strangers.push_back(static_cast<int>(i));
  fill(strangers, nodes, room, out, sidecars.size());
  return out;
}

}  // namespace pillion::topology
