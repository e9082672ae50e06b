// SPDX-License-Identifier: BSD-3-Clause
// The merge tree of components, from nodes and the saddles that join them, in descending order of
// the saddles. Of two components that meet, the one with the lower top ends: its top gets a branch,
// from the saddle to the top of the other. Where part of the mesh is not known yet, some nodes are
// open: a component that has one may turn out to be higher than it looks, so that its end is only
// noted as an edge, to be decided when the parts are merged. Everything else is decided for good.
//
// Along with it goes where things are in a periodic mesh: edges say in which image of the mesh the
// one end lies, seen from the other, and a loop that does not come back to the same image shows
// that its component wraps round the mesh.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grid.hpp"

namespace pillion::stages {

/// A maximum, or a cell of one rank that paths of another end in.
struct Node {
  Vertex top;
  int64_t open = 0;  ///< 0 if all that it is connected with is known; see Part
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

}  // namespace pillion::stages
