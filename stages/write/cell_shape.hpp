// SPDX-License-Identifier: BSD-3-Clause
// The order of samples in a cell of the bitmask's tree, taken apart into small cubes: in Z order
// of the cubes, each has one stretch of samples on each level, behind that of the cube before.
#pragma once

#include <algorithm>
#include <bit>
#include <map>
#include <pillion/idx/bitmask.hpp>
#include <vector>

#include "box.hpp"

namespace pillion::stages {

class CellShape {
 public:
  /// A cell of 2^bits samples, of which the last `left_out` levels are not wanted.
  CellShape(const idx::Bitmask& mask, int bits, int left_out) {
    constexpr int most_cube_bits = 7;
    const int wanted = std::max(bits - left_out, 0);
    cube_bits_ = std::min(wanted, most_cube_bits);
    grid_bits_ = wanted - cube_bits_;
    for (int bit = 0; bit < bits - wanted; ++bit)
      spacing_[static_cast<size_t>(mask.axis_of_bit(bit))] *= 2;
    step_ = spacing_;
    const auto in_z_order = points_of(mask, bits - wanted, cube_bits_);
    side_ = spacing_;
    corners_ = points_of(mask, bits - grid_bits_, grid_bits_);
    samples_.resize(in_z_order.size());
    for (size_t z = 0; z < in_z_order.size(); ++z)
      samples_[place_of(z, cube_bits_)] = in_z_order[z];
  }

  /// Levels that are wanted, above the cell's corner.
  [[nodiscard]] int levels() const { return cube_bits_ + grid_bits_; }
  [[nodiscard]] int cube_bits() const { return cube_bits_; }
  /// Samples of the mesh that a cube spans along the axes, and from one that is wanted to the next.
  [[nodiscard]] const idx::Point& side() const { return side_; }
  [[nodiscard]] const idx::Point& step() const { return step_; }
  /// Where cubes begin, from the corner of the cell, in Z order.
  [[nodiscard]] const std::vector<idx::Point>& corners() const { return corners_; }
  /// Samples of a cube, from its corner, in order of levels: the corner, then 2^(level - 1) each.
  [[nodiscard]] const std::vector<idx::Point>& samples() const { return samples_; }
  /// Place in the encoded cell of a cube's corner, and of its samples of one of its levels.
  [[nodiscard]] size_t place_of_corner(size_t cube) const { return place_of(cube, grid_bits_); }
  [[nodiscard]] size_t place(size_t cube, int level) const {
    return (size_t{1} << (grid_bits_ + level - 1)) + (cube << (level - 1));
  }

 private:
  /// HZ address of a Z address of so many bits.
  static size_t place_of(size_t z, int bits) {
    if (z == 0) return 0;
    const int zeros = std::countr_zero(z);
    return (size_t{1} << (bits - zeros - 1)) + (z >> (zeros + 1));
  }
  /// What some bits of Z addresses tell apart, in their order.
  std::vector<idx::Point> points_of(const idx::Bitmask& mask, int first, int count) {
    std::vector<idx::Point> out{{0, 0, 0}};
    for (int bit = first; bit < first + count; ++bit) {
      const auto axis = static_cast<size_t>(mask.axis_of_bit(bit));
      for (size_t i = 0, size = out.size(); i < size; ++i) {
        out.push_back(out[i]);
        out.back()[axis] += spacing_[axis];
      }
      spacing_[axis] *= 2;
    }
    return out;
  }

  int cube_bits_ = 0, grid_bits_ = 0;
  idx::Point spacing_{1, 1, 1};  ///< what the next bit along an axis is worth
  idx::Point side_{1, 1, 1}, step_{1, 1, 1};
  std::vector<idx::Point> corners_, samples_;
};

/// Shapes of cells of all sizes, each worked out once.
class CellShapes {
 public:
  const CellShape& of(const idx::Bitmask& mask, int bits, int left_out) {
    const auto at = known_.find(bits);
    if (at != known_.end()) return at->second;
    return known_.emplace(bits, CellShape(mask, bits, left_out)).first->second;
  }

 private:
  std::map<int, CellShape> known_;
};

/// By cube of a cell: the part of a box in which it lies whole, or `several`.
constexpr int32_t several = -1;
inline std::vector<int32_t> parts_of_cubes(const CellShape& shape, const idx::Point& cell,
                                           const std::vector<Region>& parts) {
  std::vector<int32_t> out;
  for (const auto& corner : shape.corners()) {
    const auto holds = [&](const Region& part) {
      bool in = true;
      for (size_t a = 0; a < 3; ++a)
        in = in && cell[a] + corner[a] >= part.lo[a] &&
             cell[a] + corner[a] + shape.side()[a] <= part.hi[a];
      return in;
    };
    const auto at = std::find_if(parts.begin(), parts.end(), holds);
    out.push_back(at == parts.end() ? several : static_cast<int32_t>(at - parts.begin()));
  }
  return out;
}

}  // namespace pillion::stages
