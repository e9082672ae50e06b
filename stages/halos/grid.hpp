// SPDX-License-Identifier: BSD-3-Clause
// The cells of a uniform mesh as a graph. Each cell has the 14 neighbours of the Freudenthal
// triangulation, ±{0,1}³ without 0. Higher neighbours that are neighbours of each other are
// connected already above the cell, so of every connected set of them one stands for all: with no
// set the cell is a maximum, with one it is regular, with more it may join components.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace pillion::stages::halos {

using Cell = std::array<int64_t, 3>;

/// Whole meshes along the three axes, in one integer so that adding images is one addition. Good
/// for half a million along each.
using Image = int64_t;
constexpr int image_bits = 20;

constexpr Image image_of(const Cell& meshes) {
  return meshes[0] + (meshes[1] + meshes[2] * (Image{1} << image_bits)) * (Image{1} << image_bits);
}

constexpr Cell meshes_of(Image image) {
  constexpr Image range = Image{1} << image_bits;
  Cell out{};
  for (auto& meshes : out) {
    meshes = ((image + range / 2) & (range - 1)) - range / 2;
    image = (image - meshes) >> image_bits;
  }
  return out;
}

struct Grid {
  Cell cells{1, 1, 1};
  std::array<bool, 3> periodic{};

  [[nodiscard]] int64_t count() const { return cells[0] * cells[1] * cells[2]; }
  /// How many meshes a place is away from the cells' own; 0 along axes that are not periodic.
  [[nodiscard]] Cell meshes_to(const Cell& at) const {
    Cell out{};
    for (size_t d = 0; d < 3; ++d)
      out[d] = at[d] >= 0 ? at[d] / cells[d] : -((cells[d] - 1 - at[d]) / cells[d]);
    return out;
  }
  [[nodiscard]] int64_t id(const Cell& at) const {
    const Cell away = meshes_to(at);
    return at[0] - away[0] * cells[0] +
           cells[0] * (at[1] - away[1] * cells[1] + cells[1] * (at[2] - away[2] * cells[2]));
  }
  [[nodiscard]] Cell cell(int64_t id) const {
    return {id % cells[0], id / cells[0] % cells[1], id / cells[0] / cells[1]};
  }
};

/// What a rank has: its own cells, and around them one layer of others', but not beyond the mesh
/// where it is not periodic.
struct Piece {
  Cell lo{}, hi{};              ///< all
  Cell inner_lo{}, inner_hi{};  ///< its own

  [[nodiscard]] int64_t size() const { return (hi[0] - lo[0]) * (hi[1] - lo[1]) * (hi[2] - lo[2]); }
  [[nodiscard]] Cell strides() const {
    return {1, hi[0] - lo[0], (hi[0] - lo[0]) * (hi[1] - lo[1])};
  }
  [[nodiscard]] int64_t offset(const Cell& at) const {
    const Cell s = strides();
    return (at[0] - lo[0]) + (at[1] - lo[1]) * s[1] + (at[2] - lo[2]) * s[2];
  }
  [[nodiscard]] bool holds(const Cell& at) const { return within(at, lo, hi); }
  [[nodiscard]] bool owns(const Cell& at) const { return within(at, inner_lo, inner_hi); }

 private:
  static bool within(const Cell& at, const Cell& lo, const Cell& hi) {
    for (size_t d = 0; d < 3; ++d)
      if (at[d] < lo[d] || at[d] >= hi[d]) return false;
    return true;
  }
};

/// A cell in the order that everything here obeys.
struct Vertex {
  double value = 0;
  int64_t id = -1;
};

inline bool operator<(const Vertex& a, const Vertex& b) {
  return a.value < b.value || (a.value == b.value && a.id < b.id);
}

constexpr int neighbours = 14;
constexpr int before = 7;  ///< the number of them that come earlier in memory

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

}  // namespace pillion::stages::halos
