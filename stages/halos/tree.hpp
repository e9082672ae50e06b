// SPDX-License-Identifier: BSD-3-Clause
// The merge tree as one rank knows it: the branches of its own cells' basins, and of all others
// that these are part of further down. It takes three steps, so that what has to be exchanged
// between them may be exchanged by whoever can: which cells of others paths end in; the part of the
// tree that is not decided here, given which own cells are asked for; and the tree, given what was
// decided of that part.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "basins.hpp"
#include "forest.hpp"
#include "part.hpp"

namespace pillion::stages {

/// Where a basin's top is: a node, in some image of the mesh as seen from the piece.
struct Place {
  int32_t node = -1;
  Image image = 0;
};

struct Tree {
  std::vector<uint32_t> label;  ///< basin of each own cell, by its place in the piece
  std::vector<Place> places;    ///< of basins
  std::vector<Node> nodes;      ///< those of own maxima first
  std::vector<Branch> branches;
  std::vector<Wrap> wraps;  ///< by index of node
  int64_t maxima = 0;       ///< own ones
};

class TreeBuilder {
 public:
  TreeBuilder(const Grid& grid, const Piece& piece, Basins basins)
      : grid_(grid),
        piece_(piece),
        basins_(std::move(basins.basins)),
        saddles_(std::move(basins.saddles)) {
    tree_.label = std::move(basins.label);
    tree_.places.resize(basins_.size());
    for (size_t b = 0; b < basins_.size(); ++b)
      if (basins_[b].is_own) tree_.places[b].node = new_node(basins_[b].top);
    tree_.maxima = static_cast<int64_t>(tree_.nodes.size());
  }

  /// The cells of others that this rank's paths end in, by id. In a periodic mesh they may be
  /// images of its own.
  [[nodiscard]] std::vector<Vertex> asks() const {
    std::vector<Vertex> out;
    for (const auto& basin : basins_)
      if (!basin.is_own) out.push_back(basin.top);
    const auto same = [](const Vertex& a, const Vertex& b) { return a.id == b.id; };
    std::sort(out.begin(), out.end(), [](const Vertex& a, const Vertex& b) { return a.id < b.id; });
    out.erase(std::unique(out.begin(), out.end(), same), out.end());
    return out;
  }

  /// `asked` are own cells that paths end in, once for each rank whose paths do.
  Part part(const std::vector<Vertex>& asked) {
    std::vector<Edge> edges;
    for (const auto& cell : asked) ++tree_.nodes[own(cell, edges)].open;
    for (const auto& cell : asks()) --tree_.nodes[shared(cell)].open;
    for (size_t b = 0; b < basins_.size(); ++b)
      if (!basins_[b].is_own) tree_.places[b] = {shared(basins_[b].top), basins_[b].image};
    Forest forest(tree_.nodes);
    join(forest, edges);
    tree_.branches = std::move(forest.branches());
    tree_.wraps = forest.wraps();
    return part_of(tree_.nodes, forest.undecided(), is_kept_);
  }

  Tree tree(const std::vector<Decided>& decided, const std::vector<Wrap>& wraps) && {
    std::unordered_map<int64_t, const Decided*> of;
    for (const auto& d : decided) of.emplace(d.top.id, &d);
    const size_t here = tree_.nodes.size();
    for (size_t n = 0; n < here; ++n)
      if (is_kept_[n]) by_id_.emplace(tree_.nodes[n].top.id, static_cast<int32_t>(n));
    for (const auto& wrap : wraps)
      tree_.wraps.push_back({wrap.level, shared(of.at(wrap.node)->top), wrap.axes});
    // Nodes that become known as parents join the end, and get parents in their turn.
    for (size_t n = 0; n < tree_.nodes.size(); ++n)
      if (n >= here || is_kept_[n]) attach(n, of);
    tree_.branches.resize(tree_.nodes.size());
    return std::move(tree_);
  }

 private:
  int32_t new_node(const Vertex& top) {
    tree_.nodes.push_back({top, 0});
    return static_cast<int32_t>(tree_.nodes.size() - 1);
  }
  /// The node of a cell that others may know, too.
  int32_t shared(const Vertex& cell) {
    const auto next = static_cast<int32_t>(tree_.nodes.size());
    const auto [found, is_new] = by_id_.try_emplace(cell.id, next);
    return is_new ? new_node(cell) : found->second;
  }

  /// The node of an own cell. If it is no maximum, an edge joins it with its basin right there.
  int32_t own(const Vertex& cell, std::vector<Edge>& edges) {
    if (const auto found = by_id_.find(cell.id); found != by_id_.end()) return found->second;
    const uint32_t label = tree_.label[static_cast<size_t>(piece_.offset(grid_.cell(cell.id)))];
    const bool is_maximum = basins_[label].is_own && basins_[label].top.id == cell.id;
    const int32_t node = is_maximum ? tree_.places[label].node : new_node(cell);
    by_id_.emplace(cell.id, node);
    if (!is_maximum) edges.push_back({cell, node, static_cast<int32_t>(label), 0});
    return node;
  }

  /// `edges` go from nodes to basins.
  void join(Forest& forest, std::vector<Edge>& edges) {
    const auto higher_edge = [](const Edge& a, const Edge& b) { return b.saddle < a.saddle; };
    std::sort(edges.begin(), edges.end(), higher_edge);
    std::sort(saddles_.begin(), saddles_.end(),
              [](const Saddle& a, const Saddle& b) { return b.vertex < a.vertex; });
    auto edge = edges.begin();
    const auto join_until = [&](const Vertex* level) {
      for (; edge != edges.end() && (level == nullptr || *level < edge->saddle); ++edge) {
        const Place& to = tree_.places[edge->b];
        forest.join({edge->saddle, edge->a, to.node, to.image});
      }
    };
    for (const auto& saddle : saddles_) {
      join_until(&saddle.vertex);
      const Place &a = tree_.places[saddle.a], &b = tree_.places[saddle.b];
      forest.join({saddle.vertex, a.node, b.node, b.image - a.image});
    }
    join_until(nullptr);
    saddles_ = {};
  }

  void attach(size_t node, const std::unordered_map<int64_t, const Decided*>& of) {
    tree_.branches.resize(tree_.nodes.size());
    const auto found = of.find(tree_.nodes[node].top.id);
    if (found == of.end() || found->second->parent.id < 0) return;
    const Decided& decided = *found->second;
    tree_.branches[node] = {decided.saddle, shared(decided.parent), 0, decided.image};
  }

  const Grid& grid_;
  const Piece& piece_;
  std::vector<Basin> basins_;
  std::vector<Saddle> saddles_;
  std::unordered_map<int64_t, int32_t> by_id_;
  std::vector<char> is_kept_;
  Tree tree_;
};

}  // namespace pillion::stages
