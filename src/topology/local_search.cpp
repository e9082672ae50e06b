// SPDX-License-Identifier: BSD-3-Clause
// Steepest descent. Ranks that share all but the core are alike, so that one of them is tried; on a
// mesh sidecars move to the places next to theirs.
#include "topology/local_search.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <tuple>

#include "topology/hand_over.hpp"
#include "topology/mapping.hpp"

namespace pillion::topology {

namespace {

constexpr int most_trials = 2000;

double cost_of_node(const std::vector<Location>& locations, const std::vector<Role>& roles) {
  std::vector<Location> simulation, sidecars;
  for (size_t i = 0; i < locations.size(); ++i)
    (roles[i] == Role::Sidecar ? sidecars : simulation).push_back(locations[i]);
  return cost_of(simulation, sidecars, hand_over_on_nodes(simulation, sidecars));
}

auto kind(const Location& location) {
  return std::tuple(location.package, location.numa, location.cache, location.column, location.row);
}

bool worth_a_trial(const Location& from, const Location& to) {
  if (from.on_mesh() && to.on_mesh()) return distance(from, to) == 1;
  return kind(from) != kind(to);
}

/// Pairs of a sidecar and a rank that might be one in its stead, one for each pair of kinds.
std::vector<std::pair<size_t, size_t>> exchanges(const NodeRanks& node,
                                                 const std::vector<Role>& roles) {
  using Kind = decltype(kind(Location{}));
  std::set<std::pair<Kind, Kind>> seen;
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t from = 0; from < roles.size(); ++from) {
    if (roles[from] != Role::Sidecar || node.insisted[from] != Role::Any) continue;
    for (size_t to = 0; to < roles.size(); ++to)
      if (roles[to] == Role::Simulation && node.insisted[to] == Role::Any &&
          worth_a_trial(node.locations[from], node.locations[to]) &&
          seen.insert({kind(node.locations[from]), kind(node.locations[to])}).second)
        pairs.emplace_back(from, to);
  }
  return pairs;
}

/// Whether hardly any two ranks are alike: on a mesh, and where ranks share cores.
bool all_differ(const std::vector<Location>& locations) {
  std::set<int32_t> cores;
  return std::any_of(locations.begin(), locations.end(), [&](const Location& location) {
    return location.on_mesh() || (location.core != unknown && !cores.insert(location.core).second);
  });
}

/// What a trial takes: a look at each pair of a simulation rank and a sidecar; where no two ranks
/// are alike, paths through such pairs for every rank.
int64_t effort_of_trial(const NodeRanks& node, int64_t sidecars) {
  const auto simulation = static_cast<int64_t>(node.roles.size()) - sidecars;
  return simulation * sidecars * (all_differ(node.locations) ? 1 + simulation / 8 : 1);
}

}  // namespace

std::vector<Role> improve_roles(const NodeRanks& node, int64_t& effort) {
  std::vector<Role> best = node.roles;
  const auto sidecars = std::count(best.begin(), best.end(), Role::Sidecar);
  if (sidecars == 0 || sidecars == static_cast<int64_t>(best.size())) return best;
  const int64_t each = effort_of_trial(node, sidecars);
  const int64_t allowed = std::min<int64_t>(most_trials, effort / each);
  if (allowed == 0) return best;
  double least = cost_of_node(node.locations, best);
  int64_t trials = 0;
  for (bool found = true; found && trials < allowed;) {
    found = false;
    const std::vector<Role> base = best;
    for (const auto& [from, to] : exchanges(node, base)) {
      if (trials == allowed) break;
      ++trials;
      std::vector<Role> roles = base;
      std::swap(roles[from], roles[to]);
      const double cost = cost_of_node(node.locations, roles);
      if (cost >= least) continue;
      least = cost;
      best = std::move(roles);
      found = true;
    }
  }
  effort -= trials * each;
  return best;
}

}  // namespace pillion::topology
