// SPDX-License-Identifier: BSD-3-Clause
// Whether there are ranks enough for what is wanted.
#pragma once

#include <vector>

#include "topology/location.hpp"
#include "topology/mapping.hpp"

namespace pillion::topology {

/// How many sidecars are needed beside the ranks that insist. Throws ErrorCode::Placement if that
/// leaves too few of either kind.
int64_t missing(const std::vector<Role>& insisted, int64_t sidecars);

/// The same on one node, with its number for messages.
int64_t missing_on_node(const std::vector<Role>& insisted, int64_t per_node, int32_t node);

// Who simulates, who is a sidecar, and who hands over to whom: a pure function of where ranks sit,
// what they insist on and what the configuration wants. Every rank comes to the same answer.

struct MappingRequest {
  int64_t ranks = 0;     ///< sidecars in all, unless
  int64_t per_node = 0;  ///< the number on every node
  Mapping mapping = Mapping::Auto;
  /// Hand-overs go through node memory and so stay on their node, even where loads then differ
  /// from node to node.
  bool stay_on_node = false;
};

struct Placement {
  std::vector<Role> roles;
  std::vector<int> server;                ///< for each rank that of its sidecar; -1 for sidecars
  Mapping mapping = Mapping::Contiguous;  ///< the rule, or `Auto` if a choice of its own is cheaper
  double cost = 0;
};

/// Places sidecars by a rule, or, with `Mapping::Auto`, as it costs least: no rule costs less, and
/// among equals the first of them counts. Ranks that insist get what they insist on.
/// Throws ErrorCode::Placement if that leaves too few of either kind.
Placement place(const std::vector<Role>& insisted, const std::vector<Location>& locations,
                const MappingRequest& request);

/// Who serves whom, and what it costs, where roles are settled.
Placement serve(std::vector<Role> roles, const std::vector<Location>& locations, bool stay_on_node);

}  // namespace pillion::topology
