// SPDX-License-Identifier: BSD-3-Clause
// What ranks tell each other: the part of the merge tree of some region that is not decided within
// it. Two parts are merged by finding the nodes that both have; what becomes decided leaves the
// part, so that it grows with the surface of the region and not with its volume.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "forest.hpp"

namespace pillion::stages {

/// Nodes sorted by id, each once, and edges in descending order. A node that paths of n other ranks
/// end in counts n where it lies and -1 at each of those, so the sum over a region is 0 if and only
/// if all of them belong to it.
struct Part {
  std::vector<Node> nodes;
  std::vector<Edge> edges;
};

/// The branch of a node, in words that mean the same on all ranks. The highest node of all has
/// neither saddle nor parent: their ids are -1.
struct Decided {
  Vertex top, saddle, parent;
  Image image = 0;
};

/// What merging gives.
struct Merged {
  Part part;
  std::vector<Decided> decided;
  std::vector<Wrap> wraps;  ///< by id
};

/// Keeps those nodes that are open or that an undecided edge ends at; `is_kept` says which those
/// were.
inline Part part_of(const std::vector<Node>& nodes, std::vector<Edge> edges,
                    std::vector<char>& is_kept) {
  is_kept.assign(nodes.size(), 0);
  for (size_t n = 0; n < nodes.size(); ++n) is_kept[n] = nodes[n].open != 0;
  for (const auto& edge : edges)
    is_kept[static_cast<size_t>(edge.a)] = is_kept[static_cast<size_t>(edge.b)] = 1;
  std::vector<int32_t> kept;
  for (size_t n = 0; n < nodes.size(); ++n)
    if (is_kept[n]) kept.push_back(static_cast<int32_t>(n));
  std::sort(kept.begin(), kept.end(),
            [&](int32_t a, int32_t b) { return nodes[a].top.id < nodes[b].top.id; });
  Part out;
  std::vector<int32_t> number(nodes.size());
  for (const int32_t n : kept) {
    number[n] = static_cast<int32_t>(out.nodes.size());
    out.nodes.push_back(nodes[n]);
  }
  for (auto& edge : edges) {
    edge.a = number[edge.a];
    edge.b = number[edge.b];
  }
  out.edges = std::move(edges);
  return out;
}

namespace detail {

/// All nodes of both, and the numbers there of those that each had.
inline std::vector<Node> united(const Part& a, const Part& b, std::vector<int32_t>& of_a,
                                std::vector<int32_t>& of_b) {
  std::vector<Node> nodes;
  size_t i = 0, j = 0;
  while (i < a.nodes.size() || j < b.nodes.size()) {
    const bool from_a =
        j == b.nodes.size() || (i < a.nodes.size() && a.nodes[i].top.id <= b.nodes[j].top.id);
    const bool from_b =
        i == a.nodes.size() || (j < b.nodes.size() && b.nodes[j].top.id <= a.nodes[i].top.id);
    const auto number = static_cast<int32_t>(nodes.size());
    nodes.push_back({(from_a ? a.nodes[i] : b.nodes[j]).top, 0});
    if (from_a) {
      nodes.back().open += a.nodes[i++].open;
      of_a.push_back(number);
    }
    if (from_b) {
      nodes.back().open += b.nodes[j++].open;
      of_b.push_back(number);
    }
  }
  return nodes;
}

}  // namespace detail

/// Merges the parts of two regions. If `is_all`, they are the mesh, and the highest node is decided
/// to be that of all.
inline Merged merge(const Part& a, const Part& b, bool is_all) {
  std::vector<int32_t> of_a, of_b;
  const auto nodes = detail::united(a, b, of_a, of_b);
  Forest forest(nodes);
  const auto join = [&](Edge edge, const std::vector<int32_t>& number) {
    edge.a = number[edge.a];
    edge.b = number[edge.b];
    forest.join(edge);
  };
  for (size_t i = 0, j = 0; i < a.edges.size() || j < b.edges.size();)
    if (j == b.edges.size() || (i < a.edges.size() && !(a.edges[i].saddle < b.edges[j].saddle)))
      join(a.edges[i++], of_a);
    else join(b.edges[j++], of_b);

  Merged out;
  std::vector<char> is_kept;
  out.part = part_of(nodes, forest.undecided(), is_kept);
  const auto& branches = forest.branches();
  for (size_t n = 0; n < nodes.size(); ++n)
    if (branches[n].parent >= 0)
      out.decided.push_back(
          {nodes[n].top, branches[n].saddle, nodes[branches[n].parent].top, branches[n].image});
    else if (!is_kept[n] && is_all) out.decided.push_back({nodes[n].top, {}, {}, 0});
  for (auto wrap : forest.wraps()) {
    wrap.node = nodes[wrap.node].top.id;
    out.wraps.push_back(wrap);
  }
  return out;
}

}  // namespace pillion::stages
