// SPDX-License-Identifier: BSD-3-Clause
// The ranks of one side, simulation or analysis. Where all ranks of a node do the same at the same
// time, the first of them, its leader, stands for all: what they send to another node goes in one
// message, which loads the node's links as theirs would, and the time of the busiest counts.
#pragma once

#include <functional>
#include <memory>

#include "comm/communicator.hpp"

namespace study {

/// Lets a rank work for so long.
void spend(double seconds);

class Side {
 public:
  /// Ranks [first, first + count) of the world, which fill their nodes one after the other.
  /// [collective over the world]
  Side(int first, int count, int number);

  [[nodiscard]] bool has_me() const { return rank_ >= 0; }
  [[nodiscard]] bool leads() const { return place_ == 0; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return static_cast<int>(node_of_.size()); }
  [[nodiscard]] int node() const { return node_of_[static_cast<size_t>(rank_)]; }
  [[nodiscard]] int nodes() const { return node_of_.back() + 1; }
  [[nodiscard]] int node_of(int rank) const { return node_of_[static_cast<size_t>(rank)]; }
  [[nodiscard]] const pillion::comm::Communicator& all() const { return all_; }
  [[nodiscard]] const pillion::comm::Communicator& leaders() const { return leaders_; }
  /// Ranks of a node wait for each other.
  void meet_on_node() const { on_node_.barrier(); }
  /// Sums of so many bytes over all ranks. [leaders]
  void reduce(int64_t bytes) const;

  /// The most that a rank of this node has of something.
  [[nodiscard]] double most(const std::function<double(int rank)>& of_rank) const;
  /// What one leader makes, for all of them, who are threads of one process. [leaders]
  template <class T>
  [[nodiscard]] std::shared_ptr<const T> common(const std::function<T()>& make) const {
    if (rank_ == 0) slots()[static_cast<size_t>(number_)] = std::make_shared<const T>(make());
    leaders_.barrier();
    auto made = std::static_pointer_cast<const T>(slots()[static_cast<size_t>(number_)]);
    leaders_.barrier();
    return made;
  }

 private:
  static std::array<std::shared_ptr<const void>, 2>& slots();
  int number_, rank_ = -1, place_ = -1;
  std::vector<int> node_of_;
  pillion::comm::Communicator all_, on_node_, leaders_;
};

/// What a rank has for another.
struct Consignment {
  int rank = 0;
  double bytes = 0;
};

/// What every rank of a side sends, again and again.
class Exchange {
 public:
  Exchange() = default;
  /// [leaders]
  Exchange(const Side& side, const std::function<std::vector<Consignment>(int rank)>& of_rank);
  /// Packing, messages, unpacking. `factor` times the bytes. [leaders]
  void operator()(double factor = 1) const;

 private:
  struct Table {
    std::vector<std::vector<double>> bytes;  ///< by nodes from and to
    /// By rank: bytes that it packs and unpacks, and its messages.
    std::vector<double> packed, unpacked, messages;
  };
  const Side* side_ = nullptr;
  std::shared_ptr<const Table> table_;
  double packed_ = 0, unpacked_ = 0, messages_ = 0;  ///< of the busiest of this node
};

}  // namespace study
