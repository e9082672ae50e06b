// SPDX-License-Identifier: BSD-3-Clause
// Roles by the library's own rules (src/placement), boxes by arithmetic.
#include "pattern.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "placement/hand_over.hpp"
#include "placement/spread.hpp"

namespace study {

namespace placement = pillion::placement;
using placement::Seat;
using placement::Spread;

namespace {

std::vector<Seat> seats_of(const Machine& machine, const std::vector<int>& cores) {
  std::vector<Seat> seats;
  for (const int core : cores) seats.push_back(machine.seat(core));
  return seats;
}

std::vector<Seat> seats_of_node(const Machine& machine) {
  std::vector<Seat> seats;
  for (int core = 0; core < machine.kind().cores; ++core) seats.push_back(machine.seat(core));
  return seats;
}

/// All nodes alike.
Roles dealt(const Machine& machine, const std::vector<bool>& analyses) {
  Roles roles;
  for (int core = 0; core < machine.nodes() * machine.kind().cores; ++core)
    (analyses[static_cast<size_t>(core % machine.kind().cores)] ? roles.analysis : roles.simulation)
        .push_back(core);
  roles.server = placement::hand_over_on_nodes(seats_of(machine, roles.simulation),
                                               seats_of(machine, roles.analysis));
  return roles;
}

Roles behind(const Machine& machine, int per_node) {
  Roles roles;
  const int all = machine.nodes() * machine.kind().cores, count = per_node * machine.nodes();
  for (int core = 0; core < all; ++core)
    (core < all - count ? roles.simulation : roles.analysis).push_back(core);
  for (int r = 0; r < all - count; ++r)
    roles.server.push_back(static_cast<int>(int64_t{r} * count / (all - count)));
  return roles;
}

Spread spread_named(const std::string& name) {
  for (const Spread spread : placement::all_spreads())
    if (name == placement::name_of(spread)) return spread;
  std::fprintf(stderr, "mapping: no mapping is called '%s'\n", name.c_str());
  std::exit(2);
}

}  // namespace

Roles roles_of(const Machine& machine, const std::string& mapping, int per_node) {
  if (mapping == "default") return behind(machine, per_node);
  return dealt(machine,
               placement::spread_over(seats_of_node(machine), per_node, spread_named(mapping)));
}

double cost_of(const Machine& machine, const Roles& roles) {
  return placement::cost_of(seats_of(machine, roles.simulation), seats_of(machine, roles.analysis),
                            roles.server);
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
