// SPDX-License-Identifier: BSD-3-Clause
// Assigning roles.
#include "runtime/roles.hpp"

#include <algorithm>
#include <map>

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

namespace {

struct Count {
  int64_t all = 0;
  int64_t sidecars = 0;  ///< ranks that insist on being one
  int64_t either = 0;
};

std::map<int, Count> count_nodes(const std::vector<Role>& wanted, const std::vector<int>& node) {
  std::map<int, Count> counts;
  for (size_t rank = 0; rank < wanted.size(); ++rank) {
    auto& count = counts[node[rank]];
    ++count.all;
    count.sidecars += wanted[rank] == Role::Sidecar ? 1 : 0;
    count.either += wanted[rank] == Role::Any ? 1 : 0;
  }
  return counts;
}

void check_node(int number, const Count& count, int64_t per_node) {
  if (count.sidecars > per_node)
    base::fail(ErrorCode::Placement,
               "{} of the {} ranks on node {} insist on being sidecars, but there are to be {} on "
               "every node; start fewer there, or set 'sidecars: {{per_node: {}}}'",
               count.sidecars, count.all, number, per_node, count.sidecars);
  if (count.sidecars + count.either < per_node)
    base::fail(ErrorCode::Placement,
               "{} sidecars are wanted on every node, but only {} of the {} ranks on node {} may "
               "become one; start more ranks there or ask for fewer under 'sidecars: {{per_node: "
               "K}}'",
               per_node, count.sidecars + count.either, count.all, number);
  if (count.all == per_node)
    base::fail(ErrorCode::Placement,
               "{} sidecars of the {} ranks on node {} leave none for the simulation; start more "
               "ranks there or ask for fewer under 'sidecars: {{per_node: K}}'",
               per_node, count.all, number);
}

}  // namespace

std::vector<Role> assign_roles_per_node(const std::vector<Role>& wanted,
                                        const std::vector<int>& node, int64_t per_node) {
  const auto counts = count_nodes(wanted, node);
  std::map<int, int64_t> left;
  for (const auto& [number, count] : counts) {
    check_node(number, count, per_node);
    left[number] = per_node - count.sidecars;
  }
  std::vector<Role> roles = wanted;
  for (size_t rank = roles.size(); rank-- > 0;)
    if (roles[rank] == Role::Any)
      roles[rank] = left[node[rank]]-- > 0 ? Role::Sidecar : Role::Simulation;
  return roles;
}

}  // namespace pillion::runtime
