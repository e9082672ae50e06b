// SPDX-License-Identifier: BSD-3-Clause
// Ranks of one node hand values to each other through memory that they share: the sender packs, and
// the receiver unpacks what is there already, so that each value is copied twice in all and both
// work at once. Every word has one writer.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/scratch_buffer.hpp"
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
  /// What one plan writes for each neighbour: bytes, by rank on the node.
  using Sizes = std::map<int, size_t>;
  /// Bytes that a rank needs for that.
  static size_t bytes_for(const Sizes& sizes);

  /// Memory of `bytes` for what this rank writes. [collective over the node] Nothing, on all of
  /// them, if some rank finds no memory or is not shown that what it opens is another one's; on
  /// that rank `failure` says why.
  static std::optional<NodePath> make(const Neighbours& neighbours, size_t bytes,
                                      std::exception_ptr& failure);

  /// Divides this rank's memory for plan number `plan`, unless it is. Other plans may have used it:
  /// then waits until all neighbours have read what was there.
  void divide_for(uint64_t plan, const Sizes& sizes);
  /// Where to put what goes to a neighbour. Waits until it has read what was there.
  std::byte* begin_writing(int to) const;
  /// `bytes` more bytes are there.
  void wrote(int to, size_t bytes) const;
  /// What a neighbour has put for this rank, once there is something to read, and how many bytes of
  /// it have not been read.
  [[nodiscard]] const std::byte* begin_reading(int from) const;
  [[nodiscard]] size_t unread(int from) const;
  void did_read(int from, size_t bytes) const;

 private:
  struct Words;
  /// Bytes of the words before the values.
  static size_t head_of(const comm::Communicator& node);
  [[nodiscard]] Words& words(int owner, int about) const;
  int me_ = 0;
  size_t head_ = 0;
  uint64_t plan_ = 0;  ///< for which the memory is divided; 0 for none
  node::SharedFile own_file_;
  std::vector<node::Mapping> maps_;  ///< by rank on the node
};

/// Memory that all plans of some ranks share, since one after the other moves values: room for
/// messages, and node memory within a budget. Plans set their needs. Both grow to the largest
/// need, and shrink when plans that needed much are gone.
class TransferMemory {
 public:
  /// All values go by messages.
  TransferMemory() = default;
  /// Ranks of a node may have `node_budget` bytes of its memory together; the same on all of them.
  TransferMemory(Neighbours neighbours, size_t node_budget)
      : neighbours_(std::move(neighbours)), budget_(node_budget) {}

  /// What a plan needs, as long as the plan keeps this.
  struct Need {
    uint64_t plan = 0;              ///< its number on this rank, from 1
    NodePath::Sizes sizes{};        ///< through node memory; empty if that has no room for it
    size_t sent = 0, received = 0;  ///< bytes of messages
  };
  [[nodiscard]] std::shared_ptr<Need> add_plan();
  [[nodiscard]] bool has_neighbours() const { return neighbours_ && neighbours_->any(); }
  [[nodiscard]] const Neighbours& neighbours() const { return *neighbours_; }
  /// Finds node memory for a plan. False, on all ranks of the node, if it does not fit within the
  /// budget or there is none. [collective over the node]
  bool reserve(Need& need, NodePath::Sizes sizes);
  /// Frees room for messages that no plan needs.
  void trim();
  /// Null if there is none now.
  [[nodiscard]] NodePath* path() { return path_ ? &*path_ : nullptr; }

  /// Bytes of node memory of this rank.
  [[nodiscard]] size_t node_bytes() const { return capacity_; }
  /// The most of them so far, and how many plans did not fit within the budget.
  [[nodiscard]] size_t most_node_bytes() const { return most_; }
  [[nodiscard]] int64_t refused() const { return refused_; }
  /// Why this rank shared no node memory with its neighbours, once; null if there is nothing new.
  [[nodiscard]] std::exception_ptr take_failure() { return std::exchange(failure_, nullptr); }

  base::ScratchBuffer sending, receiving;

 private:
  /// The largest of each number over all plans.
  struct Largest {
    size_t node = 0, sent = 0, received = 0;
  };
  Largest largest_needs();
  std::optional<Neighbours> neighbours_;
  size_t budget_ = 0, capacity_ = 0, most_ = 0;
  uint64_t plans_ = 0;
  int64_t refused_ = 0;
  std::exception_ptr failure_;
  std::vector<std::weak_ptr<Need>> needs_;
  std::optional<NodePath> path_;
};

}  // namespace pillion::redistribution
