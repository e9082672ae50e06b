// SPDX-License-Identifier: BSD-3-Clause
// Assigning roles.
#include "runtime/roles.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace pillion::runtime {

std::vector<Role> assign_roles(const std::vector<Role>& wanted, int64_t sidecars) {
  std::vector<Role> roles = wanted;
  auto left = sidecars - std::count(roles.begin(), roles.end(), Role::Sidecar);
  if (left < 0)
    base::fail(ErrorCode::Placement, "{} ranks insist on being sidecars, but there are to be {}",
               sidecars - left, sidecars);
  for (auto role = roles.rbegin(); role != roles.rend() && left > 0; ++role)
    if (*role == Role::Any) {
      *role = Role::Sidecar;
      --left;
    }
  std::replace(roles.begin(), roles.end(), Role::Any, Role::Simulation);
  const auto simulating = std::count(roles.begin(), roles.end(), Role::Simulation);
  if (left > 0)
    base::fail(ErrorCode::Placement,
               "{} sidecar ranks are wanted, but only {} of {} ranks may become one; start more "
               "ranks or ask for fewer",
               sidecars, sidecars - left, roles.size());
  if (simulating == 0)
    base::fail(
        ErrorCode::Placement,
        "{} sidecar ranks of {} ranks leave none for the simulation; start more ranks or ask "
        "for fewer under 'sidecars: {{ranks: N}}'",
        sidecars, roles.size());
  return roles;
}

}  // namespace pillion::runtime
