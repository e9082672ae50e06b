// SPDX-License-Identifier: BSD-3-Clause
// Which spots sidecars take: four rules, and what a choice costs. docs/placement.md draws them.
#pragma once

#include <cstdint>
#include <vector>

#include "model/sidecars.hpp"
#include "topology/location.hpp"

namespace pillion::topology {

using model::Mapping;

/// Spots of ranks about which there is nothing to choose, by what they are.
struct FixedRanks {
  std::vector<Location> sidecars, simulation;
};

/// Which of some spots, of one node or of several, become `count` sidecars. `spread` is one of the
/// four rules; `numa` also counts ranks that are settled in their domains. Order counts where spots
/// are not known. The result has the size of `spots`.
std::vector<bool> choose_sidecars(const std::vector<Location>& locations, int64_t count,
                                  Mapping mapping, const FixedRanks& settled = {});

/// Sum over simulation ranks of distances to their sidecars, and for contention the sum over
/// intakes of the squares of the hand-overs into each, over their mean: 1 for each hand-over if all
/// take as many. In hand-overs times levels. `server` has indices in `sidecars`.
double cost_of(const std::vector<Location>& simulation, const std::vector<Location>& sidecars,
               const std::vector<int>& server);

// Bettering the choice of sidecars on one node, one exchange at a time.

/// The ranks of a node: spots, what they insist on, and the roles that they have.
struct NodeRanks {
  std::vector<Location> locations;
  std::vector<Role> insisted;
  std::vector<Role> roles;
  bool operator==(const NodeRanks&) const = default;
};

/// Effort that is worth a job's while: seconds at most, however its nodes differ.
constexpr int64_t enough_effort = 4'000'000;

/// Roles that cost no more, with as many sidecars: a sidecar and a simulation rank change places as
/// long as that lowers the cost. Gives up after a bounded number of trials, and when `effort`,
/// which it takes from, is used up: the same on every rank, as no clock would be.
std::vector<Role> improve_roles(const NodeRanks& node, int64_t& effort);

}  // namespace pillion::topology
