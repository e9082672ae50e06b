// SPDX-License-Identifier: BSD-3-Clause
// The merge tree of a piece of a mesh, and of what pieces have to tell each other of it. It takes
// three steps: basins of maxima; the part of the tree that other pieces may change, which is merged
// with theirs; and the tree, when all of it is decided.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "basins.hpp"
#include "grid.hpp"

namespace pillion::stages::halos {

// The merge tree of components, from nodes and the saddles that join them, in descending order of
// the saddles. Of two components that meet, the one with the lower top ends: its top gets a branch,
// from the saddle to the top of the other. Where part of the mesh is not known yet, some nodes are
// open: a component that has one may turn out to be higher than it looks, so that its end is only
// noted as an edge, to be decided when the parts are merged. Everything else is decided for good.
//
// Along with it goes where things are in a periodic mesh: edges say in which image of the mesh the
// one end lies, seen from the other, and a loop that does not come back to the same image shows
// that its component wraps round the mesh.

/// A maximum, or a cell of one rank that paths of another end in.
struct Node {
  Vertex top;
  int64_t open = 0;  ///< 0 if all that it is connected with is known; see PartialTree
};

/// A cell that joins the components of two nodes, by index; b is in `image` as seen from a.
struct Edge {
  Vertex saddle;
  int32_t a = 0, b = 0;
  Image image = 0;
};

/// The end of a node's component: it is part of its parent's from the saddle downwards. The parent
/// is -1 as long as none is known.
struct Branch {
  Vertex saddle;
  int32_t parent = -1;
  int32_t reserved = 0;
  Image image = 0;  ///< of the node as seen from its parent
};

/// From `level` downwards the component of a node wraps round the mesh along some axes.
struct Wrap {
  Vertex level;
  int64_t node = 0;  ///< its index, or its id
  int64_t axes = 0;  ///< bits
};

inline int64_t axes_of(Image image) {
  const Cell meshes = meshes_of(image);
  return (meshes[0] != 0 ? 1 : 0) | (meshes[1] != 0 ? 2 : 0) | (meshes[2] != 0 ? 4 : 0);
}

class Forest {
 public:
  explicit Forest(std::span<const Node> nodes)
      : nodes_(nodes), set_(nodes.size()), branches_(nodes.size()) {
    for (size_t n = 0; n < nodes.size(); ++n)
      set_[n] = {0, static_cast<int32_t>(n), nodes[n].open != 0, 0};
  }

  /// Edges must come in descending order of their saddles.
  void join(const Edge& edge) {
    Image to_a = 0, to_b = 0;
    const int32_t a = find(edge.a, to_a), b = find(edge.b, to_b);
    const Image b_from_a = to_a + edge.image - to_b;
    if (a == b) return close(edge.saddle, a, b_from_a);
    if (nodes_[a].top < nodes_[b].top) end(edge.saddle, a, b, -b_from_a);
    else end(edge.saddle, b, a, b_from_a);
  }

  [[nodiscard]] std::vector<Branch>& branches() { return branches_; }
  [[nodiscard]] const std::vector<Edge>& undecided() const { return undecided_; }
  [[nodiscard]] const std::vector<Wrap>& wraps() const { return wraps_; }

 private:
  struct Set {
    Image image;  ///< as seen from `up`
    int32_t up;
    bool is_open;
    uint8_t axes;
  };

  int32_t find(int32_t node, Image& image) {
    int32_t top = node;
    for (; set_[top].up != top; top = set_[top].up) image += set_[top].image;
    for (Image left = image; set_[node].up != top && node != top;) {
      const Set at = set_[node];
      set_[node].image = left;
      set_[node].up = top;
      left -= at.image;
      node = at.up;
    }
    return top;
  }

  void end(const Vertex& saddle, int32_t lower, int32_t higher, Image image) {
    auto &ends = set_[lower], &goes_on = set_[higher];
    if (ends.is_open) undecided_.push_back({saddle, higher, lower, image});
    else branches_[lower] = {saddle, higher, 0, image};
    ends.up = higher;
    ends.image = image;
    goes_on.is_open = goes_on.is_open || ends.is_open;
    goes_on.axes |= ends.axes;
  }

  void close(const Vertex& saddle, int32_t top, Image loop) {
    const auto axes = static_cast<uint8_t>(loop == 0 ? 0 : axes_of(loop));
    if ((axes & ~set_[top].axes) == 0) return;
    set_[top].axes |= axes;
    wraps_.push_back({saddle, top, axes});
  }

  std::span<const Node> nodes_;
  std::vector<Set> set_;
  std::vector<Branch> branches_;
  std::vector<Edge> undecided_;
  std::vector<Wrap> wraps_;
};

// What ranks tell each other: the part of the merge tree of some region that is not decided within
// it. Two parts are merged by finding the nodes that both have; what becomes decided leaves the
// part, so that it grows with the surface of the region and not with its volume.

/// Nodes sorted by id, each once, and edges in descending order. A node that paths of n other ranks
/// end in counts n where it lies and -1 at each of those, so the sum over a region is 0 if and only
/// if all of them belong to it.
struct PartialTree {
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
  PartialTree part;
  std::vector<Decided> decided;
  std::vector<Wrap> wraps;  ///< by id
};

/// Keeps those nodes that are open or that an undecided edge ends at; `is_kept` marks which they
/// were.
inline PartialTree part_of(const std::vector<Node>& nodes, std::vector<Edge> edges,
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
  PartialTree out;
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

/// All nodes of both, and the numbers there of the ones that each had.
inline std::vector<Node> united(const PartialTree& a, const PartialTree& b,
                                std::vector<int32_t>& of_a, std::vector<int32_t>& of_b) {
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
inline Merged merge(const PartialTree& a, const PartialTree& b, bool is_all) {
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

// The merge tree as one rank knows it: the branches of its own cells' basins, and of all others
// that these are part of further down. It takes three steps, so that what has to be exchanged
// between them may be exchanged by any means: which cells of others paths end in; the part of the
// tree that is not decided here, given which own cells are asked for; and the tree, given what was
// decided of that part.

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
  PartialTree part(const std::vector<Vertex>& asked) {
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

  /// The node of an own cell. If it is not a maximum, an edge joins it with its basin right there.
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

}  // namespace pillion::stages::halos
