// SPDX-License-Identifier: BSD-3-Clause
// Chooses the cores that become sidecars by one of five rules, and counts what a choice costs.
// docs/howto-placement.md draws the rules.
#pragma once

#include <cstdint>
#include <vector>

#include "model/sidecars.hpp"
#include "topology/location.hpp"

namespace pillion::topology {

using model::Mapping;

/// Locations of ranks that are sidecars or simulate whatever the rule chooses.
struct FixedRanks {
  std::vector<Location> sidecars, simulation;
};

/// Which of these locations, of one node or of several, become `count` sidecars. `numa` also counts
/// ranks that are settled in their domains. Order counts where cores are not known. The result has
/// the size of `locations`.
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
