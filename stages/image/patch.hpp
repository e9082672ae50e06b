// SPDX-License-Identifier: BSD-3-Clause
// What a block of a uniform mesh knows of the lattice: which of its cells are this block's to draw,
// and the values at their points and those beside them. A value on a face of the mesh is that of
// the nearest cell, or, where the mesh is periodic, between those on both sides.
#pragma once

#include <array>
#include <cstdint>
#include <pillion/stage.hpp>
#include <vector>

#include "lattice.hpp"

namespace pillion::image {

using Index = std::array<int64_t, 3>;

/// Cells [lo, hi) of a lattice; all of them by default.
struct Cells {
  Index lo{-1, -1, -1};
  Index hi{INT64_MAX, INT64_MAX, INT64_MAX};
};

class Patch {
 public:
  /// Of a block with at least `margin` + 1 ghost cells, of a mesh with as many axes as are given;
  /// of one with two axes all points along the third are alike. `margin` points are kept around
  /// the cells to draw, which are those that are `wanted`.
  Patch(const stage::Block& block, const Lattice& lattice, int32_t axes, int64_t margin,
        const Cells& wanted = {});

  [[nodiscard]] const Lattice& lattice() const { return *lattice_; }
  /// The cells to draw: [lo, hi) of the lattice, none if any hi <= lo.
  [[nodiscard]] const Index& lo() const { return lo_; }
  [[nodiscard]] const Index& hi() const { return hi_; }
  [[nodiscard]] bool owns(const Index& cell) const {
    for (size_t d = 0; d < 3; ++d)
      if (cell[d] < lo_[d] || cell[d] >= hi_[d]) return false;
    return true;
  }
  [[nodiscard]] bool empty() const { return empty_along(0) || empty_along(1) || empty_along(2); }
  /// Of the box of space that they take up.
  [[nodiscard]] Vec lower() const { return lattice_->place(lo_); }
  [[nodiscard]] Vec upper() const { return lattice_->place(hi_); }

  /// One component of an array of the block, or the magnitude, at all points.
  [[nodiscard]] std::vector<double> values(const stage::Array& array, int32_t component) const;
  /// Where the value at a point is among them.
  [[nodiscard]] size_t at(const Index& point) const {
    return static_cast<size_t>(((point[2] - from_[2]) * size_[1] + point[1] - from_[1]) * size_[0] +
                               point[0] - from_[0]);
  }
  [[nodiscard]] int64_t stride(int axis) const {
    return axis == 0 ? 1 : axis == 1 ? size_[0] : size_[0] * size_[1];
  }

  /// At a place in a cell of the patch, linear along each axis.
  [[nodiscard]] double interpolated(const std::vector<double>& values, const Index& cell,
                                    const Vec& fraction) const;
  /// By differences of neighbours, at a point. Needs a margin.
  [[nodiscard]] Vec gradient(const std::vector<double>& values, const Index& point) const;

 private:
  struct Tap {
    int64_t a, b;  ///< of the cells that are read
    double weight;
  };
  [[nodiscard]] bool empty_along(int axis) const { return lo_[axis] >= hi_[axis]; }
  [[nodiscard]] std::vector<Tap> taps(const stage::Block& block, int axis) const;

  void read_only_what_is_needed(int axis);

  const Lattice* lattice_;
  Index lo_{}, hi_{}, from_{}, size_{};
  Index block_size_{}, first_read_{}, read_size_{};  ///< in cells of the block
  std::array<std::vector<Tap>, 3> taps_;
};

}  // namespace pillion::image
