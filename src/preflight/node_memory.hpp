// SPDX-License-Identifier: BSD-3-Clause
// How much memory Pillion takes on a node, by what it is for: budgets of the configuration, and
// what stages need for their inputs, their outputs and their work. An upper bound for uniform
// meshes; the numbers of particles and elements are known only in the run.
#pragma once

#include <cstdint>
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
};

/// What a node needs at most. Stages of an analysis run one after the other, and so do analyses:
/// the largest one counts.
struct NodeMemory {
  std::string node;  ///< which nodes: "node", "node of the simulation", "node of sidecars"
  Peers simulation, sidecars;
  std::vector<MemoryUse> uses;

  [[nodiscard]] int64_t bytes() const;
};

/// Bytes that the chain's largest stage takes on a node, with the fields that stages before it have
/// produced; its name is in `origin`. Inputs as shared are used where they are. 0 for a stage that
/// works on particles or elements, whose number is not known.
MemoryUse memory_of(stagehost::Chain& chain, const std::string& analysis, const Peers& peers);

/// Nodes by what runs there: one entry if sidecars share the simulation's nodes or if there are
/// none, two if they may be elsewhere.
std::vector<NodeMemory> node_memory(const model::Configuration& configuration,
                                    const run::Chains& in_simulation,
                                    const run::Chains& in_sidecars, int64_t simulating,
                                    int64_t nodes);

}  // namespace pillion::preflight
