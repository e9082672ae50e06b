// SPDX-License-Identifier: BSD-3-Clause
// Who does what in a molecular-dynamics run with ranks for analysis beside it: roles of cores,
// boxes of atoms, and how much goes to whom. Plain numbers; mapping.cpp makes it happen.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "machine.hpp"

namespace study {

/// Atoms as in the Lennard-Jones benchmark of LAMMPS: reduced density 0.8442, cutoff 2.5 and skin
/// 0.3.
struct Atoms {
  double all = 0;
  double density = 0.8442, reach = 2.8;
};

constexpr double bytes_handed_over = 64;  ///< of an atom: position, velocity, number, type, image
constexpr double bytes_of_halo = 48;      ///< of a ghost atom: its position there, its force back
constexpr double bytes_of_ghost = 24;     ///< of a ghost atom of the analysis: its position

/// Roles: which core each rank of the simulation and of the analysis sits on, in the order of
/// cores, and the analysis rank that each simulation rank hands over to.
struct Roles {
  std::vector<int> simulation, analysis, server;
  double cost = 0;  ///< as the library's rule says: hand-overs times levels
};

/// One of `default`, `contiguous`, `striped`, `numa`, `folded`, `auto`; `per_node` cores of each
/// node analyse. By default the last nodes do, and take in blocks of ranks.
Roles roles_of(const Machine& machine, const std::string& mapping, int per_node);

/// The grid of so many ranks with the smallest surface in a cube; x varies fastest.
using Grid = std::array<int, 3>;
Grid grid_of(int ranks);
int neighbour(const Grid& grid, int rank, int dimension, int side);

/// Ghost atoms behind one face, with the edges that were filled before, as LAMMPS does it.
std::array<double, 3> ghosts_of(const Atoms& atoms, const Grid& grid);

/// Bytes that each analysis rank sends to each other one: the atoms along the faces where boxes
/// of its clients touch those of others.
std::vector<std::map<int, double>> ghosts_of_analysis(const Atoms& atoms, const Grid& grid,
                                                      const Roles& roles);

}  // namespace study
