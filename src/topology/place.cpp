// SPDX-License-Identifier: BSD-3-Clause
// Counting ranks.
#include "topology/place.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "topology/hand_over.hpp"
#include "topology/mapping.hpp"

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
    base::fail(ErrorCode::Placement, "{} ranks insist on being sidecars, but {} are configured",
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
               "{} of the {} ranks on node {} insist on being sidecars, but {} are configured for "
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

namespace {

using Indices = std::vector<int>;

std::map<int32_t, Indices> by_node(const std::vector<Location>& locations) {
  std::map<int32_t, Indices> nodes;
  for (const int i : in_order(locations))
    nodes[locations[static_cast<size_t>(i)].node].push_back(i);
  return nodes;
}

template <class T>
std::vector<T> chosen(const std::vector<T>& all, const Indices& indices) {
  std::vector<T> out;
  for (const int i : indices) out.push_back(all[static_cast<size_t>(i)]);
  return out;
}

/// Makes `count` of the ranks that may be either sidecars, and the others simulate.
void settle(const Indices& ranks, int64_t count, const std::vector<Location>& locations,
            Mapping mapping, std::vector<Role>& roles) {
  Indices either;
  FixedRanks settled;
  for (const int r : ranks) {
    const Role role = roles[static_cast<size_t>(r)];
    if (role == Role::Any) either.push_back(r);
    else
      (role == Role::Sidecar ? settled.sidecars : settled.simulation)
          .push_back(locations[static_cast<size_t>(r)]);
  }
  const auto picked = choose_sidecars(chosen(locations, either), count, mapping, settled);
  for (size_t i = 0; i < either.size(); ++i)
    roles[static_cast<size_t>(either[i])] = picked[i] ? Role::Sidecar : Role::Simulation;
}

std::vector<Role> roles_by(const std::vector<Role>& insisted,
                           const std::vector<Location>& locations, const MappingRequest& request,
                           Mapping mapping) {
  std::vector<Role> roles = insisted;
  if (request.per_node == 0) {
    Indices all(roles.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
    settle(all, missing(insisted, request.ranks), locations, mapping, roles);
    return roles;
  }
  for (const auto& [node, ranks] : by_node(locations))
    settle(ranks, missing_on_node(chosen(insisted, ranks), request.per_node, node), locations,
           mapping, roles);
  return roles;
}

/// Equal nodes are improved once. Ranks are in the order of their spots, so that nodes are equal
/// however ranks are numbered there.
std::vector<Role> bettered(const std::vector<Role>& insisted,
                           const std::vector<Location>& locations, std::vector<Role> roles) {
  std::vector<std::pair<NodeRanks, std::vector<Role>>> known;
  int64_t effort = enough_effort;
  for (const auto& [node, ranks] : by_node(locations)) {
    NodeRanks here{chosen(locations, ranks), chosen(insisted, ranks), chosen(roles, ranks)};
    for (Location& location : here.locations) location.node = 0;
    auto found = std::find_if(known.begin(), known.end(),
                              [&](const auto& entry) { return entry.first == here; });
    if (found == known.end()) {
      auto better = improve_roles(here, effort);
      found = known.insert(known.end(), {std::move(here), std::move(better)});
    }
    for (size_t i = 0; i < ranks.size(); ++i)
      roles[static_cast<size_t>(ranks[i])] = found->second[i];
  }
  return roles;
}

}  // namespace

Placement serve(std::vector<Role> roles, const std::vector<Location>& locations,
                bool stay_on_node) {
  Indices simulating, sidecars;
  for (size_t r = 0; r < roles.size(); ++r)
    (roles[r] == Role::Sidecar ? sidecars : simulating).push_back(static_cast<int>(r));
  Placement out;
  out.server.assign(roles.size(), -1);
  out.roles = std::move(roles);
  if (sidecars.empty()) return out;
  const auto from = chosen(locations, simulating);
  const auto to = chosen(locations, sidecars);
  const auto server = stay_on_node ? hand_over_on_nodes(from, to) : hand_over_anywhere(from, to);
  for (size_t i = 0; i < simulating.size(); ++i)
    out.server[static_cast<size_t>(simulating[i])] = sidecars[static_cast<size_t>(server[i])];
  out.cost = cost_of(from, to, server);
  return out;
}

Placement place(const std::vector<Role>& insisted, const std::vector<Location>& locations,
                const MappingRequest& request) {
  const auto by = [&](Mapping mapping) {
    auto placement =
        serve(roles_by(insisted, locations, request, mapping), locations, request.stay_on_node);
    placement.mapping = mapping;
    return placement;
  };
  if (request.mapping != Mapping::Auto) return by(request.mapping);
  Placement best = by(Mapping::Contiguous);
  if (request.ranks + request.per_node == 0) return best;
  for (const auto mapping : {Mapping::Striped, Mapping::Numa, Mapping::Folded}) {
    auto other = by(mapping);
    if (other.cost < best.cost) best = std::move(other);
  }
  auto other = serve(bettered(insisted, locations, best.roles), locations, request.stay_on_node);
  other.mapping = Mapping::Auto;
  return other.cost < best.cost ? other : best;
}

}  // namespace pillion::topology
