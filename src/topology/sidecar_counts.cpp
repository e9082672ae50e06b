// SPDX-License-Identifier: BSD-3-Clause
// Counting ranks.
#include "topology/sidecar_counts.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace pillion::topology {

namespace {

int64_t count(const std::vector<Role>& roles, Role role) {
  return std::count(roles.begin(), roles.end(), role);
}

}  // namespace

int64_t missing(const std::vector<Role>& insisted, int64_t sidecars) {
  const int64_t insist = count(insisted, Role::Sidecar);
  const int64_t either = count(insisted, Role::Any);
  if (insist > sidecars)
    base::fail(ErrorCode::Placement, "{} ranks insist on being sidecars, but there are to be {}",
               insist, sidecars);
  if (insist + either < sidecars)
    base::fail(ErrorCode::Placement,
               "{} sidecar ranks are wanted, but only {} of {} ranks may become one; start more "
               "ranks or ask for fewer",
               sidecars, insist + either, insisted.size());
  if (sidecars == static_cast<int64_t>(insisted.size()))
    base::fail(
        ErrorCode::Placement,
        "{} sidecar ranks of {} ranks leave none for the simulation; start more ranks or ask "
        "for fewer under 'sidecars: {{ranks: N}}'",
        sidecars, insisted.size());
  return sidecars - insist;
}

int64_t missing_on_node(const std::vector<Role>& insisted, int64_t per_node, int32_t node) {
  const int64_t insist = count(insisted, Role::Sidecar);
  const int64_t either = count(insisted, Role::Any);
  const size_t all = insisted.size();
  if (insist > per_node)
    base::fail(ErrorCode::Placement,
               "{} of the {} ranks on node {} insist on being sidecars, but there are to be {} on "
               "every node; start fewer there, or set 'sidecars: {{per_node: {}}}'",
               insist, all, node, per_node, insist);
  if (insist + either < per_node)
    base::fail(ErrorCode::Placement,
               "{} sidecars are wanted on every node, but only {} of the {} ranks on node {} may "
               "become one; start more ranks there or ask for fewer under 'sidecars: {{per_node: "
               "K}}'",
               per_node, insist + either, all, node);
  if (static_cast<int64_t>(all) == per_node)
    base::fail(ErrorCode::Placement,
               "{} sidecars of the {} ranks on node {} leave none for the simulation; start more "
               "ranks there or ask for fewer under 'sidecars: {{per_node: K}}'",
               per_node, all, node);
  return per_node - insist;
}

}  // namespace pillion::topology
