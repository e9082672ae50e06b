// SPDX-License-Identifier: BSD-3-Clause
// The mesh that halos are sought on, the piece of it that one rank has, and the order of its cells.
// A cell is known by its global index, first axis fastest, and one cell is higher than another if
// its value is greater or, of equal values, its index. Across the faces of a periodic mesh a cell
// is seen as an image of itself; images are counted in whole meshes along each axis.
#pragma once

#include <array>
#include <cstdint>

namespace pillion::stages {

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

}  // namespace pillion::stages
