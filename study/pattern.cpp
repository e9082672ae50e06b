// SPDX-License-Identifier: BSD-3-Clause
// Roles by the library's own rules (src/topology), boxes by arithmetic.
#include "pattern.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "model/sidecars.hpp"
#include "topology/place.hpp"

namespace study {

namespace topology = pillion::topology;
using pillion::model::Mapping;
using topology::Location;
using topology::Role;

namespace {

std::vector<Location> spots_of(const Machine& machine) {
  std::vector<Location> locations;
  for (int core = 0; core < machine.nodes() * machine.kind().cores; ++core)
    locations.push_back(machine.location(core));
  return locations;
}

Mapping spread_named(const std::string& name) {
  for (const Mapping mapping : pillion::model::all_mappings)
    if (name == pillion::model::name_of(mapping)) return mapping;
  std::fprintf(stderr, "mapping: no mapping is called '%s'\n", name.c_str());
  std::exit(2);
}

/// As launchers do: simulation ranks first, in the order of cores.
topology::Placement behind(const Machine& machine, int per_node) {
  const auto locations = spots_of(machine);
  std::vector<Role> roles(locations.size(), Role::Simulation);
  const auto count = static_cast<std::ptrdiff_t>(per_node) * machine.nodes();
  std::fill(roles.end() - count, roles.end(), Role::Sidecar);
  auto out = topology::serve(roles, locations, false);
  const auto simulating = static_cast<int64_t>(locations.size()) - count;
  for (int64_t r = 0; r < simulating; ++r)
    out.server[static_cast<size_t>(r)] = static_cast<int>(simulating + r * count / simulating);
  return out;
}

}  // namespace

Roles roles_of(const Machine& machine, const std::string& mapping, int per_node) {
  const auto locations = spots_of(machine);
  const auto placed =
      mapping == "default"
          ? behind(machine, per_node)
          : topology::place(
                std::vector<Role>(locations.size(), Role::Any), locations,
                {.per_node = per_node, .mapping = spread_named(mapping), .stay_on_node = true});
  Roles roles;
  roles.cost = placed.cost;
  std::vector<int> number(locations.size());
  for (size_t core = 0; core < locations.size(); ++core) {
    auto& side = placed.roles[core] == Role::Sidecar ? roles.analysis : roles.simulation;
    number[core] = static_cast<int>(side.size());
    side.push_back(static_cast<int>(core));
  }
  for (const int core : roles.simulation)
    roles.server.push_back(number[static_cast<size_t>(placed.server[static_cast<size_t>(core)])]);
  return roles;
}

Grid grid_of(int ranks) {
  Grid best{ranks, 1, 1};
  double least = std::numeric_limits<double>::max();
  for (int x = 1; x <= ranks; ++x)
    for (int y = 1; ranks % x == 0 && y <= ranks / x; ++y) {
      if (ranks / x % y != 0) continue;
      const int z = ranks / x / y;
      const double surface = 1.0 / x / y + 1.0 / y / z + 1.0 / x / z;
      if (surface < least) {
        least = surface;
        best = {x, y, z};
      }
    }
  return best;
}

int neighbour(const Grid& grid, int rank, int dimension, int side) {
  Grid at{rank % grid[0], rank / grid[0] % grid[1], rank / grid[0] / grid[1]};
  const auto d = static_cast<size_t>(dimension);
  at[d] = (at[d] + side + grid[d]) % grid[d];
  return (at[2] * grid[1] + at[1]) * grid[0] + at[0];
}

std::array<double, 3> ghosts_of(const Atoms& atoms, const Grid& grid) {
  const double edge = std::cbrt(atoms.all / atoms.density);
  const double x = edge / grid[0], y = edge / grid[1], z = edge / grid[2];
  const double layer = atoms.reach * atoms.density, wide = 2 * atoms.reach;
  return {layer * y * z, layer * (x + wide) * z, layer * (x + wide) * (y + wide)};
}

std::vector<std::map<int, double>> ghosts_of_analysis(const Atoms& atoms, const Grid& grid,
                                                      const Roles& roles) {
  std::vector<std::map<int, double>> out(roles.analysis.size());
  const auto ghosts = ghosts_of(atoms, grid);
  for (size_t r = 0; r < roles.simulation.size(); ++r)
    for (int d = 0; d < 3; ++d)
      for (const int side : {-1, 1}) {
        const int other = neighbour(grid, static_cast<int>(r), d, side);
        const int from = roles.server[r], to = roles.server[static_cast<size_t>(other)];
        if (from != to)
          out[static_cast<size_t>(from)][to] += ghosts[static_cast<size_t>(d)] * bytes_of_ghost;
      }
  return out;
}

}  // namespace study
