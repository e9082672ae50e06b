// SPDX-License-Identifier: BSD-3-Clause
// The 14 neighbours of a cell in the Freudenthal triangulation, ±{0,1}³ without 0, and what a cell
// is, given which of them are higher. Higher neighbours that are neighbours of each other are
// connected already above the cell, so of every connected set of them one stands for all: with no
// set the cell is a maximum, with one it is regular, with more it may join components.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "grid.hpp"

namespace pillion::stages {

constexpr int neighbours = 14;
constexpr int before = 7;  ///< so many of them come earlier in memory

/// Steps to the neighbours in ascending order of their places in memory.
constexpr std::array<std::array<int, 3>, neighbours> steps = {{{-1, -1, -1},
                                                               {0, -1, -1},
                                                               {-1, 0, -1},
                                                               {0, 0, -1},
                                                               {-1, -1, 0},
                                                               {0, -1, 0},
                                                               {-1, 0, 0},
                                                               {1, 0, 0},
                                                               {0, 1, 0},
                                                               {1, 1, 0},
                                                               {0, 0, 1},
                                                               {1, 0, 1},
                                                               {0, 1, 1},
                                                               {1, 1, 1}}};

/// Sets of neighbours: bit i is the neighbour at steps[i].
using Neighbours = uint32_t;

constexpr bool are_neighbours(const std::array<int, 3>& a, const std::array<int, 3>& b) {
  bool up = true, down = true;
  for (size_t d = 0; d < 3; ++d) {
    const int step = b[d] - a[d];
    up = up && (step == 0 || step == 1);
    down = down && (step == 0 || step == -1);
  }
  return up || down;
}

/// Of each neighbour, those of the others that it is a neighbour of.
constexpr std::array<Neighbours, neighbours> beside = [] {
  std::array<Neighbours, neighbours> out{};
  for (size_t a = 0; a < neighbours; ++a)
    for (size_t b = 0; b < neighbours; ++b)
      if (a != b && are_neighbours(steps[a], steps[b])) out[a] |= Neighbours{1} << b;
  return out;
}();

/// One of a set that is not empty: the nearest in memory that a sweep has seen before, if any.
constexpr int one_of(Neighbours set) {
  const Neighbours seen = set & ((Neighbours{1} << before) - 1);
  return seen != 0 ? std::bit_width(seen) - 1 : std::countr_zero(set);
}

/// One of every connected set of `higher` neighbours, rather one that is `preferred`.
constexpr Neighbours representatives(Neighbours higher, Neighbours preferred) {
  Neighbours out = 0;
  while (higher != 0) {
    Neighbours set = Neighbours{1} << std::countr_zero(higher), reached = set;
    while (reached != 0) {
      const Neighbours more = beside[static_cast<size_t>(std::countr_zero(reached))] & higher;
      reached = (reached & (reached - 1)) | (more & ~set);
      set |= more;
    }
    out |= Neighbours{1} << one_of((set & preferred) != 0 ? set & preferred : set);
    higher &= ~set;
  }
  return out;
}

/// The same for all sets, where none is preferred.
inline const std::vector<uint16_t>& representatives_of_all() {
  static const std::vector<uint16_t> table = [] {
    std::vector<uint16_t> out(size_t{1} << neighbours);
    for (Neighbours set = 0; set < out.size(); ++set)
      out[set] = static_cast<uint16_t>(representatives(set, set));
    return out;
  }();
  return table;
}

}  // namespace pillion::stages
