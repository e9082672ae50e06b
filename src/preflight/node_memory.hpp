// SPDX-License-Identifier: BSD-3-Clause
// How much memory Pillion takes on a node, by what it is for: budgets of the configuration, and
// what stages need for their inputs, their outputs and their work. An upper bound. The numbers of
// particles and elements are known only in the run, so these are bytes for each of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "run/chains.hpp"

namespace pillion::preflight {

/// The quotient, rounded up; that by 1 if `b` is 0.
constexpr int64_t divide_up(int64_t a, int64_t b) { return b > 0 ? (a + b - 1) / b : a; }

/// Ranks that run a chain, all of them and on the fullest node.
struct Peers {
  int64_t all = 0;
  int64_t on_node = 0;
};

/// Memory on one node for one purpose.
struct MemoryUse {
  std::string purpose;
  std::string origin;  ///< the key that sets it, or the stage and analysis that need it
  int64_t bytes = 0;
  /// By mesh, bytes for each of its particles or elements on the node, in addition.
  std::map<std::string, int64_t> per_item{};
  bool is_within = false;  ///< a part of the budget that comes before it
};

/// What the stages of a chain need.
struct ChainMemory {
  MemoryUse largest;  ///< of the largest stage
  int64_t moved = 0;  ///< bytes of the inputs of one stage that come from other ranks, at most
};

/// What a node needs at most. Stages of an analysis run one after the other, and so do analyses:
/// the largest one counts.
struct NodeMemory {
  std::string node;  ///< which nodes: "node", "node of the simulation", "node of sidecars"
  Peers simulation, sidecars;
  std::vector<MemoryUse> uses;

  [[nodiscard]] int64_t bytes() const;
};

/// What the chain's largest stage takes on a node, with the fields that stages before it have
/// produced; its name is in `origin`. Inputs as shared are used where they are. Of each particle or
/// element what the largest stage for that takes, which may be another one.
ChainMemory memory_of(stagehost::Chain& chain, const std::string& analysis, const Peers& peers);

/// Nodes by what runs there: one entry if sidecars share the simulation's nodes or if there are
/// none, two if they may be elsewhere.
std::vector<NodeMemory> node_memory(const model::Configuration& configuration,
                                    const run::Chains& in_simulation,
                                    const run::Chains& in_sidecars, int64_t simulating,
                                    int64_t nodes);

}  // namespace pillion::preflight
