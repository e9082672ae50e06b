// SPDX-License-Identifier: BSD-3-Clause
// Which cells of a uniform mesh a slice is made of, and which pixel each of them belongs to. Plain
// numbers: nothing here knows of blocks or peers. A coarse mesh has cells of `step` cells a side.
#pragma once

#include <pillion/stage.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

namespace pillion::stages {

/// Half-open range of cells along an axis.
struct Span {
  int64_t lo = 0, hi = 0;
};

/// The cells with centres in [at - thickness/2, at + thickness/2), or the one that `at` is in if
/// there are none. Lengths are from the mesh's lower end; what is outside counts as its last cell.
inline Span planes_of(double at, double thickness, double length, int64_t cells) {
  const double width = length / static_cast<double>(cells);
  const auto cell = [&](double x) {
    return static_cast<int64_t>(std::clamp(x, 0.0, static_cast<double>(cells)));
  };
  const Span span = {cell(std::ceil((at - thickness / 2) / width - 0.5)),
                     cell(std::ceil((at + thickness / 2) / width - 0.5))};
  if (span.lo < span.hi) return span;
  const int64_t one = std::min(cell(std::floor(at / width)), cells - 1);
  return {one, one + 1};
}

/// The coarse cells that stand for cells of a span: those whose first cell is in it, or the one
/// that its first cell is in.
inline Span coarse(const Span& span, int64_t step) {
  const Span out = {(span.lo + step - 1) / step, (span.hi + step - 1) / step};
  return out.lo < out.hi ? out : Span{span.lo / step, span.lo / step + 1};
}

/// Pixels along one axis, each of so many coarse cells.
class Pixels {
 public:
  Pixels(int64_t cells, double origin, double length, int64_t step, int64_t side)
      : cells_(cells), origin_(origin), length_(length), step_(step), side_(side) {}

  /// As many cells as a pixel must have for there to be at most so many pixels.
  static int64_t side_for(int64_t cells, int64_t step, int64_t most) {
    return (divided(cells, step) + most - 1) / most;
  }
  [[nodiscard]] int64_t count() const { return divided(divided(cells_, step_), side_); }
  /// Of a coarse cell.
  [[nodiscard]] int64_t pixel_of(int64_t cell) const { return cell / side_; }
  /// The pixel's lower edge.
  [[nodiscard]] double lower(int64_t pixel) const {
    const int64_t cell = std::min(pixel * side_ * step_, cells_);
    return origin_ + length_ * (static_cast<double>(cell) / static_cast<double>(cells_));
  }
  [[nodiscard]] double centre(int64_t pixel) const { return (lower(pixel) + lower(pixel + 1)) / 2; }

 private:
  static int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

  int64_t cells_;
  double origin_, length_;
  int64_t step_, side_;
};

/// A slice of a mesh and its pixels.
struct Plane {
  int32_t axis;                    ///< across the plane
  Span planes;                     ///< along it
  std::array<int32_t, 2> along{};  ///< the plane's own axes
  std::array<Pixels, 2> pixels;

  [[nodiscard]] int64_t size() const { return pixels[0].count() * pixels[1].count(); }
  /// Of a cell, the first of `along` fastest.
  [[nodiscard]] size_t pixel_of(const std::array<int64_t, 3>& cell) const {
    return static_cast<size_t>(pixels[1].pixel_of(cell[along[1]]) * pixels[0].count() +
                               pixels[0].pixel_of(cell[along[0]]));
  }
  /// The cells of a block that belong to it; none if hi <= lo along an axis.
  [[nodiscard]] std::pair<std::array<int64_t, 3>, std::array<int64_t, 3>> part_of(
      std::array<int64_t, 3> lo, std::array<int64_t, 3> hi) const {
    lo[axis] = std::max(lo[axis], planes.lo);
    hi[axis] = std::min(hi[axis], planes.hi);
    return {lo, hi};
  }
};

}  // namespace pillion::stages
