// SPDX-License-Identifier: BSD-3-Clause
// Bettering the choice of sidecars on one node, one exchange at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/role.hpp"
#include "placement/spot.hpp"

namespace pillion::placement {

/// The ranks of a node: spots, what they insist on, and the roles that they have.
struct Nodeful {
  std::vector<Spot> spots;
  std::vector<Role> insisted;
  std::vector<Role> roles;
  bool operator==(const Nodeful&) const = default;
};

/// Effort that is worth a job's while: seconds at most, however its nodes differ.
constexpr int64_t enough_effort = 4'000'000;

/// Roles that cost no more, with as many sidecars: a sidecar and a simulation rank change places as
/// long as that lowers the cost. Gives up after a bounded number of trials, and when `effort`,
/// which it takes from, is used up: the same on every rank, as no clock would be.
std::vector<Role> better_roles(const Nodeful& node, int64_t& effort);

}  // namespace pillion::placement
