// SPDX-License-Identifier: BSD-3-Clause
// Plans of redistribution among one set of peers, kept for every stage that asks for the same
// division of the same mesh, whole or coarse, and what the peers need for all of them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "layout/division.hpp"
#include "redistribution/exchange.hpp"
#include "stagehost/coverage.hpp"

namespace pillion::stagehost {

/// How cells are divided, whatever fields are on them.
struct Division {
  Division(layout::Request request, const model::Mesh& mesh);
  friend bool operator==(const Division&, const Division&) = default;

  layout::Request request;
  std::string mesh;
  std::array<int64_t, 3> cells;  ///< fewer where it is coarse
  std::array<bool, 3> periodic;
};

/// The rank of each share of boxes.
using Owners = std::shared_ptr<const std::vector<int>>;

struct Plan {
  int64_t number;  ///< no other one of the same peers has it
  Division division;
  Owners owners;
  layout::Wanted wanted;
  std::vector<layout::Place> places;  ///< what this rank gets, without ghost cells
  redistribution::Redistribution moves;
};

class Plans {
 public:
  Plans() = default;
  Plans(const Plans&) = delete;
  Plans& operator=(const Plans&) = delete;

  /// Which of the plans that are kept take boxes `here` to a division, with these owners if there
  /// are any: a bit for each. All ranks ask for the same ones in the same order, and must agree on
  /// one to use. Each has the memory to exchange values of `per_cell` bytes when this returns: a
  /// rank that lacks memory between the agreement and the exchange leaves the others waiting.
  [[nodiscard]] uint32_t fitting(const Division& division, const std::vector<model::Box>& here,
                                 size_t per_cell, const Owners& owners = {}) const;
  /// The plan of the lowest bit, to look at or to use.
  [[nodiscard]] Plan& peek(uint32_t bits) const;
  Plan* use(uint32_t bits);
  /// A plan for the boxes that ranks have now, with these owners, or such as suit it, and with the
  /// memory for `per_cell` bytes. `peers` are the same every time, and stay. [collective]
  std::unique_ptr<Plan> make(const layout::Request& request, const model::Mesh& mesh,
                             const std::vector<model::Box>& here, size_t per_cell,
                             const comm::Communicator& peers, Owners owners = {});
  /// Keeps a plan that is good on all ranks; beyond a number, of all or of its division, drops the
  /// one unused for longest.
  Plan* keep(std::unique_ptr<Plan> plan);

  /// Ranks of a node may have `bytes` of its memory together, for values on their way from one to
  /// another; above that they send messages. Before the first plan; the same on all ranks.
  void set_node_budget(size_t bytes) { node_budget_ = bytes; }
  /// How many plans did not fit within that.
  [[nodiscard]] int64_t refused() const { return memory_ ? memory_->refused() : 0; }
  /// The most bytes of node memory that this rank has had for that.
  [[nodiscard]] size_t most_node_bytes() const { return memory_ ? memory_->most_node_bytes() : 0; }
  /// Why ranks of a node share no memory for values, once; null if there is nothing new.
  [[nodiscard]] std::exception_ptr take_failure() {
    return memory_ ? memory_->take_failure() : nullptr;
  }
  /// Of meshes in publications to these peers.
  [[nodiscard]] Coverage& coverage() { return coverage_; }
  /// How many have been made.
  [[nodiscard]] int64_t made() const { return made_; }

 private:
  size_t node_budget_ = size_t{128} << 20;
  std::unique_ptr<redistribution::TransferMemory> memory_;  ///< made when first needed
  std::vector<std::unique_ptr<Plan>> kept_;                 ///< that used last at the end
  Coverage coverage_;
  int64_t made_ = 0;
};

}  // namespace pillion::stagehost
