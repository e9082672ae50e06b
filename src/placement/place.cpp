// SPDX-License-Identifier: BSD-3-Clause
// Rules are tried as they are; the best of them is then bettered node by node.
#include "placement/place.hpp"

#include <algorithm>
#include <map>

#include "placement/better.hpp"
#include "placement/counts.hpp"
#include "placement/hand_over.hpp"

namespace pillion::placement {

namespace {

using Indices = std::vector<int>;

std::map<int32_t, Indices> by_node(const std::vector<Spot>& spots) {
  std::map<int32_t, Indices> nodes;
  for (const int i : in_order(spots)) nodes[spots[static_cast<size_t>(i)].node].push_back(i);
  return nodes;
}

template <class T>
std::vector<T> chosen(const std::vector<T>& all, const Indices& indices) {
  std::vector<T> out;
  for (const int i : indices) out.push_back(all[static_cast<size_t>(i)]);
  return out;
}

/// Makes `count` of the ranks that may be either sidecars, and the others simulate.
void settle(const Indices& ranks, int64_t count, const std::vector<Spot>& spots, Spread spread,
            std::vector<Role>& roles) {
  Indices either;
  Settled settled;
  for (const int r : ranks) {
    const Role role = roles[static_cast<size_t>(r)];
    if (role == Role::Any) either.push_back(r);
    else
      (role == Role::Sidecar ? settled.sidecars : settled.simulation)
          .push_back(spots[static_cast<size_t>(r)]);
  }
  const auto picked = spread_over(chosen(spots, either), count, spread, settled);
  for (size_t i = 0; i < either.size(); ++i)
    roles[static_cast<size_t>(either[i])] = picked[i] ? Role::Sidecar : Role::Simulation;
}

std::vector<Role> roles_by(const std::vector<Role>& insisted, const std::vector<Spot>& spots,
                           const Wish& wish, Spread spread) {
  std::vector<Role> roles = insisted;
  if (wish.per_node == 0) {
    Indices all(roles.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
    settle(all, missing(insisted, wish.ranks), spots, spread, roles);
    return roles;
  }
  for (const auto& [node, ranks] : by_node(spots))
    settle(ranks, missing_on_node(chosen(insisted, ranks), wish.per_node, node), spots, spread,
           roles);
  return roles;
}

/// Nodes that are alike are bettered once. Ranks are in the order of their spots, so that nodes are
/// alike however ranks are numbered there.
std::vector<Role> bettered(const std::vector<Role>& insisted, const std::vector<Spot>& spots,
                           std::vector<Role> roles) {
  std::vector<std::pair<Nodeful, std::vector<Role>>> known;
  int64_t effort = enough_effort;
  for (const auto& [node, ranks] : by_node(spots)) {
    Nodeful here{chosen(spots, ranks), chosen(insisted, ranks), chosen(roles, ranks)};
    for (Spot& spot : here.spots) spot.node = 0;
    auto found = std::find_if(known.begin(), known.end(),
                              [&](const auto& entry) { return entry.first == here; });
    if (found == known.end()) {
      auto better = better_roles(here, effort);
      found = known.insert(known.end(), {std::move(here), std::move(better)});
    }
    for (size_t i = 0; i < ranks.size(); ++i)
      roles[static_cast<size_t>(ranks[i])] = found->second[i];
  }
  return roles;
}

}  // namespace

Placement serve(std::vector<Role> roles, const std::vector<Spot>& spots, bool stay_on_node) {
  Indices simulating, sidecars;
  for (size_t r = 0; r < roles.size(); ++r)
    (roles[r] == Role::Sidecar ? sidecars : simulating).push_back(static_cast<int>(r));
  Placement out;
  out.server.assign(roles.size(), -1);
  out.roles = std::move(roles);
  if (sidecars.empty()) return out;
  const auto from = chosen(spots, simulating);
  const auto to = chosen(spots, sidecars);
  const auto server = stay_on_node ? hand_over_on_nodes(from, to) : hand_over_anywhere(from, to);
  for (size_t i = 0; i < simulating.size(); ++i)
    out.server[static_cast<size_t>(simulating[i])] = sidecars[static_cast<size_t>(server[i])];
  out.cost = cost_of(from, to, server);
  return out;
}

Placement place(const std::vector<Role>& insisted, const std::vector<Spot>& spots,
                const Wish& wish) {
  const auto by = [&](Spread spread) {
    auto placement = serve(roles_by(insisted, spots, wish, spread), spots, wish.stay_on_node);
    placement.spread = spread;
    return placement;
  };
  if (wish.spread != Spread::Auto) return by(wish.spread);
  Placement best = by(Spread::Contiguous);
  if (wish.ranks + wish.per_node == 0) return best;
  for (const auto spread : {Spread::Striped, Spread::Numa, Spread::Folded}) {
    auto other = by(spread);
    if (other.cost < best.cost) best = std::move(other);
  }
  auto other = serve(bettered(insisted, spots, best.roles), spots, wish.stay_on_node);
  other.spread = Spread::Auto;
  return other.cost < best.cost ? other : best;
}

}  // namespace pillion::placement
