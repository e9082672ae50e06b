// SPDX-License-Identifier: BSD-3-Clause
// Bettering the choice of sidecars on one node, one exchange at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/location.hpp"
#include "topology/role.hpp"

namespace pillion::topology {

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
