// SPDX-License-Identifier: BSD-3-Clause
// Ranks of one node hand values to each other through memory that they share: the sender packs, and
// the receiver unpacks what is there already, so that each value is copied twice in all and both
// work at once. Every word has one writer.
#pragma once

#include <map>
#include <optional>

#include "comm/communicator.hpp"
#include "node/shared_file.hpp"

namespace pillion::redistribution {

/// Which ranks of a communicator share this rank's node.
class Neighbours {
 public:
  /// [collective]
  explicit Neighbours(const comm::Communicator& ranks) : Neighbours(ranks, ranks.split_by_node()) {}
  /// Those of `on_node`, which must share its memory. [collective]
  Neighbours(const comm::Communicator& ranks, comm::Communicator on_node);
  [[nodiscard]] bool any() const { return on_node_.size() > 1; }
  /// Its rank on the node; nothing for this rank itself and for ranks of other nodes.
  [[nodiscard]] std::optional<int> find(int rank) const;
  [[nodiscard]] const comm::Communicator& on_node() const { return on_node_; }

 private:
  comm::Communicator on_node_;
  int me_;
  std::map<int, int> places_;
};

class NodePath {
 public:
  /// `sizes` are the bytes for each neighbour, by rank on the node. [collective over the node]
  /// Nothing, on all of them, if some rank finds no memory or cannot see that of another.
  static std::optional<NodePath> make(const Neighbours& neighbours,
                                      const std::map<int, size_t>& sizes);

  /// Where to put what goes to a neighbour. Waits until it has read what was there.
  std::byte* begin_writing(int to) const;
  /// `bytes` more bytes are there.
  void wrote(int to, size_t bytes) const;
  /// What a neighbour has put for this rank, and how many bytes of it have not been read.
  [[nodiscard]] const std::byte* begin_reading(int from) const;
  [[nodiscard]] size_t unread(int from) const;
  void did_read(int from, size_t bytes) const;

 private:
  struct Words;
  [[nodiscard]] Words& words(int owner, int about) const;
  int me_ = 0;
  node::SharedFile own_file_;
  std::vector<node::Mapping> maps_;  ///< by rank on the node
};

}  // namespace pillion::redistribution
