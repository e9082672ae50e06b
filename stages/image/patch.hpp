// SPDX-License-Identifier: BSD-3-Clause
// What a block of a uniform mesh knows of the points between which values are interpolated, and
// planes through these points.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <pillion/stage.hpp>
#include <vector>

#include "camera.hpp"
#include "colour.hpp"

namespace pillion::stages::image {

// The points of a uniform mesh between which values are interpolated: the centres of its cells, and
// points on the mesh's faces, so that all of it is covered. Point i of an axis is the centre of
// cell i; -1 and `cells` are on the faces, and cell i of the lattice lies between points i and i+1.
// It all follows from the mesh alone, not from blocks: a place is in the same cell for every block.

struct Axis {
  double lo = 0, hi = 0;  ///< of the mesh
  double first = 0;       ///< place of point 0
  double spacing = 1;     ///< between points
  int64_t cells = 1;      ///< of the mesh, coarse ones if the publication is coarse

  [[nodiscard]] double place(int64_t point) const {
    if (point < 0) return lo;
    return point < cells ? first + static_cast<double>(point) * spacing : hi;
  }
  /// The lattice's cell that a place of the mesh is in, and how far in it from 0 to 1.
  [[nodiscard]] int64_t cell(double at, double& fraction) const {
    const double q = (at - first) / spacing;
    const auto i = std::clamp(static_cast<int64_t>(std::floor(q)), int64_t{-1}, cells - 1);
    if (i >= 0 && i < cells - 1) fraction = q - static_cast<double>(i);
    else fraction = std::clamp((at - place(i)) / (place(i + 1) - place(i)), 0.0, 1.0);
    return i;
  }
};

struct Lattice {
  std::array<Axis, 3> axes;

  [[nodiscard]] Vec lo() const { return {axes[0].lo, axes[1].lo, axes[2].lo}; }
  [[nodiscard]] Vec hi() const { return {axes[0].hi, axes[1].hi, axes[2].hi}; }
  [[nodiscard]] Vec place(const std::array<int64_t, 3>& point) const {
    return {axes[0].place(point[0]), axes[1].place(point[1]), axes[2].place(point[2])};
  }
  [[nodiscard]] bool contains(const Vec& at) const {
    for (int d = 0; d < 3; ++d)
      if (!(at[d] >= axes[d].lo && at[d] <= axes[d].hi)) return false;
    return true;
  }
};

// What a block of a uniform mesh knows of the lattice: which of its cells are this block's to draw,
// and the values at their points and those beside them. A value on a face of the mesh is that of
// the nearest cell, or, where the mesh is periodic, between those on both sides.

using Index = std::array<int64_t, 3>;

/// Cells [lo, hi) of a lattice; all of them by default.
struct Cells {
  Index lo{-1, -1, -1};
  Index hi{INT64_MAX, INT64_MAX, INT64_MAX};
};

class Patch {
 public:
  /// Of a block with at least `margin` + 1 ghost cells, of a mesh with as many axes as are given;
  /// with two axes all points along the third are the same. `margin` points are kept around the
  /// cells to draw, which are the `wanted` ones.
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

// Planes through a uniform mesh: every sample of the picture shows the value at the very place that
// it sees, interpolated between the points of the lattice.

struct Plane {
  Vec origin, normal;
  int axis = -1;  ///< across it, where it is along two axes of the mesh
};

/// The cells of a lattice that a plane goes through.
Cells cells_of(const Plane& plane, const Lattice& lattice);

void draw_slice(Canvas& canvas, const View& view, const Patch& patch,
                const std::vector<double>& values, const Plane& plane, const Paint& paint);

}  // namespace pillion::stages::image
