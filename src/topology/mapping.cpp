// SPDX-License-Identifier: BSD-3-Clause
// The rules are one: parts of the machine, in order, get sidecars in proportion to their spots. For
// contiguous there is one part, for striped each sidecar has its own.
#include "topology/mapping.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "topology/hand_over.hpp"

namespace pillion::topology {

namespace {

using Indices = std::vector<int>;

/// The part of `of` parts, with `seen` of `all` before it, that is its share: shares differ from
/// what is just by less than one, and add up.
int64_t share(int64_t seen, int64_t here, int64_t all, int64_t count) {
  return (seen + here) * count / all - seen * count / all;
}

/// The spots of each part, in order.
template <class Part>
std::map<Part, Indices> parts_of(const std::vector<Location>& locations,
                                 Part (*part)(const Location&)) {
  std::map<Part, Indices> parts;
  for (const int index : in_order(locations))
    parts[part(locations[static_cast<size_t>(index)])].push_back(index);
  return parts;
}

Intake domain_of(const Location& location) {
  return {.node = location.node, .part = location.numa};
}
Intake column_of(const Location& location) {
  return {.node = location.node, .part = location.column};
}

void take_last(const Indices& locations, int64_t count, std::vector<bool>& out) {
  for (auto location = locations.end() - count; location != locations.end(); ++location)
    out[static_cast<size_t>(*location)] = true;
}

void take_stripes(const Indices& locations, int64_t count, std::vector<bool>& out) {
  const auto all = static_cast<int64_t>(locations.size());
  for (int64_t i = 0; i < count; ++i)
    out[static_cast<size_t>(locations[static_cast<size_t>((i + 1) * all / count - 1)])] = true;
}

/// Those in the middle of a column: first the middle row, then the nearest to it.
void take_middle(const std::vector<Location>& locations, Indices column, int64_t count,
                 std::vector<bool>& out) {
  int32_t first = locations[static_cast<size_t>(column.front())].row, last = first;
  for (const int index : column) {
    first = std::min(first, locations[static_cast<size_t>(index)].row);
    last = std::max(last, locations[static_cast<size_t>(index)].row);
  }
  const auto off = [&](int index) {
    return std::abs(2 * locations[static_cast<size_t>(index)].row - (first + last + 1) / 2 * 2);
  };
  std::stable_sort(column.begin(), column.end(), [&](int a, int b) { return off(a) < off(b); });
  for (int64_t i = 0; i < count; ++i)
    out[static_cast<size_t>(column[static_cast<size_t>(i)])] = true;
}

/// How many of `count` each part gets: what is just, cut off, and one more where most was cut off;
/// parts with equal remainders take turns.
std::vector<int64_t> just_shares(const std::vector<int64_t>& sizes, int64_t count) {
  const int64_t all = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  std::vector<int64_t> shares;
  std::map<int64_t, std::vector<size_t>, std::greater<>> cut_off;
  for (size_t part = 0; part < sizes.size(); ++part) {
    shares.push_back(sizes[part] * count / all);
    cut_off[sizes[part] * count % all].push_back(part);
  }
  int64_t left = count - std::accumulate(shares.begin(), shares.end(), int64_t{0});
  for (const auto& [rest, parts] : cut_off) {
    const auto equal = static_cast<int64_t>(parts.size());
    const int64_t here = std::min(left, equal);
    for (int64_t turn = 0; turn < equal; ++turn)
      shares[parts[static_cast<size_t>(turn)]] += share(turn, 1, equal, here);
    left -= here;
  }
  return shares;
}

struct Domain {
  Indices locations{};   ///< among which to choose, in order
  int64_t all = 0;       ///< spots, settled ones too
  int64_t sidecars = 0;  ///< that are settled
  int64_t share = 0;     ///< of all sidecars
  [[nodiscard]] int64_t most() const { return sidecars + static_cast<int64_t>(locations.size()); }
};

/// Shares become such as domains can have. What that leaves over goes where there are fewest for
/// the spots, one at a time, and what it takes too much comes from where there are most.
void keep_possible(std::vector<Domain*>& domains) {
  int64_t left = 0;
  for (auto* domain : domains) {
    const int64_t kept = std::clamp(domain->share, domain->sidecars, domain->most());
    left += std::exchange(domain->share, kept) - kept;
  }
  const auto has_fewer = [](const Domain* a, const Domain* b) {
    return a->share * b->all < b->share * a->all;
  };
  for (; left != 0; left -= left > 0 ? 1 : -1) {
    Domain* next = nullptr;
    for (auto* domain : domains) {
      const int64_t bound = left > 0 ? domain->most() : domain->sidecars;
      if (domain->share == bound) continue;
      const bool is_first = next == nullptr;
      if (is_first || (left > 0 ? has_fewer(domain, next) : has_fewer(next, domain))) next = domain;
    }
    next->share += left > 0 ? 1 : -1;
  }
}

void take_by_domain(const std::vector<Location>& locations, int64_t count,
                    const FixedRanks& settled, std::vector<bool>& out) {
  std::map<Intake, Domain> domains;
  for (const int index : in_order(locations))
    domains[domain_of(locations[static_cast<size_t>(index)])].locations.push_back(index);
  for (auto& [part, domain] : domains) domain.all = domain.most();
  for (const Location& location : settled.simulation) ++domains[domain_of(location)].all;
  for (const Location& location : settled.sidecars) {
    auto& domain = domains[domain_of(location)];
    ++domain.all;
    ++domain.sidecars;
  }
  std::vector<int64_t> sizes;
  std::vector<Domain*> list;
  for (auto& [part, domain] : domains) {
    sizes.push_back(domain.all);
    list.push_back(&domain);
  }
  const auto shares = just_shares(sizes, count + static_cast<int64_t>(settled.sidecars.size()));
  for (size_t i = 0; i < list.size(); ++i) list[i]->share = shares[i];
  keep_possible(list);
  for (const auto& [part, domain] : domains)
    take_last(domain.locations, domain.share - domain.sidecars, out);
}

/// With fewer sidecars than columns the middle one of some neighbours has theirs: shares are
/// rounded, not cut off.
void take_by_column(const std::vector<Location>& locations, int64_t count, std::vector<bool>& out) {
  const auto all = static_cast<int64_t>(locations.size());
  const auto up_to = [&](int64_t seen) { return (2 * seen * count + all) / (2 * all); };
  int64_t seen = 0;
  for (const auto& [column, here] : parts_of<Intake>(locations, column_of)) {
    const auto size = static_cast<int64_t>(here.size());
    take_middle(locations, here, up_to(seen + size) - up_to(seen), out);
    seen += size;
  }
}

/// Where there is no mesh the cores of a node make one that is as square as can be, row by row.
std::vector<Location> on_meshes(std::vector<Location> locations) {
  std::map<int32_t, Indices> nodes;
  for (const int index : in_order(locations))
    if (!locations[static_cast<size_t>(index)].on_mesh())
      nodes[locations[static_cast<size_t>(index)].node].push_back(index);
  for (const auto& [node, here] : nodes) {
    const auto size = static_cast<int32_t>(here.size());
    int32_t rows = 1;
    for (int32_t r = 1; r * r <= size; ++r)
      if (size % r == 0) rows = r;
    for (int32_t i = 0; i < size; ++i) {
      auto& location = locations[static_cast<size_t>(here[static_cast<size_t>(i)])];
      location.column = i % (size / rows);
      location.row = i / (size / rows);
    }
  }
  return locations;
}

}  // namespace

std::vector<bool> choose_sidecars(const std::vector<Location>& locations, int64_t count,
                                  Mapping mapping, const FixedRanks& settled) {
  std::vector<bool> out(locations.size());
  if (count == 0) return out;
  switch (mapping) {
    case Mapping::Auto:
    case Mapping::Contiguous: take_last(in_order(locations), count, out); break;
    case Mapping::Striped: take_stripes(in_order(locations), count, out); break;
    case Mapping::Numa: take_by_domain(locations, count, settled, out); break;
    case Mapping::Folded: take_by_column(on_meshes(locations), count, out); break;
  }
  return out;
}

double cost_of(const std::vector<Location>& simulation, const std::vector<Location>& sidecars,
               const std::vector<int>& server) {
  std::map<Intake, double> into;
  for (const auto* side : {&simulation, &sidecars})
    for (const Location& location : *side) into.try_emplace(intake_of(location));
  double levels = 0;
  for (size_t i = 0; i < simulation.size(); ++i) {
    const Location& to = sidecars[static_cast<size_t>(server[i])];
    levels += static_cast<double>(distance(simulation[i], to));
    ++into[intake_of(to)];
  }
  double squares = 0;
  for (const auto& [intake, taken] : into) squares += taken * taken;
  const double mean = static_cast<double>(simulation.size()) / static_cast<double>(into.size());
  return levels + squares / mean;
}

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

/// Whether hardly any two ranks are equivalent: on a mesh, and where ranks share cores.
bool all_differ(const std::vector<Location>& locations) {
  std::set<int32_t> cores;
  return std::any_of(locations.begin(), locations.end(), [&](const Location& location) {
    return location.on_mesh() || (location.core != unknown && !cores.insert(location.core).second);
  });
}

/// What a trial takes: a look at each pair of a simulation rank and a sidecar; where no two ranks
/// are equivalent, paths through such pairs for every rank.
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
