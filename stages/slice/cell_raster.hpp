// SPDX-License-Identifier: BSD-3-Clause
// Slices of meshes whose cells have any shape: what planes cut out of cells is shared out among the
// pixels of a raster, by area.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "../common/tetrahedra.hpp"

namespace pillion::stages::slice {

/// Square pixels over a box, across an axis.
class CellRaster {
 public:
  /// At most `most` pixels along each of the two axes of the plane.
  CellRaster(int32_t axis, const Vec3& lo, const Vec3& hi, int64_t most) {
    along_ = {axis == 0 ? size_t{1} : 0, axis == 2 ? size_t{1} : 2};
    for (size_t d = 0; d < 2; ++d) {
      lo_[d] = lo[along_[d]];
      side_ = std::max(side_, (hi[along_[d]] - lo_[d]) / static_cast<double>(most));
    }
    if (!(side_ > 0)) side_ = 1;
    for (size_t d = 0; d < 2; ++d)
      // As many as are needed, but for what rounding adds.
      count_[d] = std::clamp<int64_t>(
          std::llround(std::ceil((hi[along_[d]] - lo_[d]) / side_ - 1e-9)), 1, most);
  }

  [[nodiscard]] size_t along(size_t d) const { return along_[d]; }
  [[nodiscard]] int64_t count(size_t d) const { return count_[d]; }
  [[nodiscard]] int64_t size() const { return count_[0] * count_[1]; }
  [[nodiscard]] double side() const { return side_; }
  /// The middle of a pixel.
  [[nodiscard]] double centre(size_t d, int64_t pixel) const {
    return lo_[d] + side_ * (static_cast<double>(pixel) + 0.5);
  }

  /// Calls add(pixel, area, mean value) for the pixels that a convex polygon lies in, the first of
  /// the plane's axes fastest. Values are linear between the corners.
  template <class Add>
  void share(std::span<const Valued> polygon, Add&& add) {
    whole_.clear();
    for (const auto& corner : polygon)
      whole_.push_back({(corner.place[along_[0]] - lo_[0]) / side_,
                        (corner.place[along_[1]] - lo_[1]) / side_, corner.value});
    const auto [u0, u1] = pixels_of(whole_, &Flat::u, count_[0]);
    const auto [v0, v1] = pixels_of(whole_, &Flat::v, count_[1]);
    for (int64_t v = v0; v <= v1; ++v) {
      row_ = whole_;
      if (v > v0) keep(row_, &Flat::v, static_cast<double>(v), 1);
      if (v < v1) keep(row_, &Flat::v, static_cast<double>(v + 1), -1);
      for (int64_t u = u0; u <= u1; ++u) {
        part_ = row_;
        if (u > u0) keep(part_, &Flat::u, static_cast<double>(u), 1);
        if (u < u1) keep(part_, &Flat::u, static_cast<double>(u + 1), -1);
        const auto [area, mean] = mean_over(part_);
        if (area > 0) add(static_cast<size_t>(v * count_[0] + u), area * side_ * side_, mean);
      }
    }
  }

 private:
  /// A corner in the plane, in pixels.
  struct Flat {
    double u, v, value;
  };
  using Polygon = std::vector<Flat>;

  static std::pair<int64_t, int64_t> pixels_of(const Polygon& polygon, double Flat::*axis,
                                               int64_t count) {
    double lo = HUGE_VAL, hi = -HUGE_VAL;
    for (const auto& p : polygon) {
      lo = std::min(lo, p.*axis);
      hi = std::max(hi, p.*axis);
    }
    const auto pixel = [&](double x) {
      return static_cast<int64_t>(std::clamp(std::floor(x), 0.0, static_cast<double>(count - 1)));
    };
    return {pixel(lo), pixel(hi)};
  }
  /// The part where sign * (axis - at) is not negative (I. E. Sutherland, G. W. Hodgman: Reentrant
  /// polygon clipping, Commun. ACM 17, 1974).
  void keep(Polygon& polygon, double Flat::*axis, double at, double sign) {
    kept_.clear();
    for (size_t i = 0; i < polygon.size(); ++i) {
      const Flat &a = polygon[i], &b = polygon[(i + 1) % polygon.size()];
      const double da = sign * (a.*axis - at), db = sign * (b.*axis - at);
      if (da >= 0) kept_.push_back(a);
      if ((da >= 0) == (db >= 0)) continue;
      const double t = da / (da - db);
      kept_.push_back(
          {a.u + t * (b.u - a.u), a.v + t * (b.v - a.v), a.value + t * (b.value - a.value)});
    }
    std::swap(polygon, kept_);
  }
  static std::pair<double, double> mean_over(const Polygon& polygon) {
    double area = 0, sum = 0;
    for (size_t i = 2; i < polygon.size(); ++i) {
      const Flat &a = polygon[0], &b = polygon[i - 1], &c = polygon[i];
      const double of_triangle =
          std::abs((b.u - a.u) * (c.v - a.v) - (b.v - a.v) * (c.u - a.u)) / 2;
      area += of_triangle;
      sum += of_triangle * (a.value + b.value + c.value) / 3;
    }
    return {area, area > 0 ? sum / area : 0};
  }

  std::array<size_t, 2> along_{};
  std::array<double, 2> lo_{};
  std::array<int64_t, 2> count_{};
  double side_ = 0;
  Polygon whole_, row_, part_, kept_;
};

/// The box around the cells of a block that count and have `dimensions`.
inline void enclose(CellPieces& pieces, int32_t dimensions, Vec3& lo, Vec3& hi) {
  auto& cells = pieces.cells();
  for (int64_t c = 0; c < cells.count(); ++c) {
    if (!cells.is_part(c, dimensions)) continue;
    for (const auto& place : cells.places(c))
      for (size_t d = 0; d < 3; ++d) {
        lo[d] = std::min(lo[d], place[d]);
        hi[d] = std::max(hi[d], place[d]);
      }
  }
}

/// Adds what planes across `axis` cut out of a cell of three dimensions: add(pixel, area, value).
template <class Value, class Add>
void cut_cell(CellPieces& pieces, int64_t cell, size_t axis, std::span<const double> planes,
              CellRaster& raster, Value&& value, Add&& add) {
  double lo = HUGE_VAL, hi = -HUGE_VAL;
  for (const auto& place : pieces.cells().places(cell)) {
    lo = std::min(lo, place[axis]);
    hi = std::max(hi, place[axis]);
  }
  auto plane = std::lower_bound(planes.begin(), planes.end(), lo);
  if (plane == planes.end() || *plane > hi) return;
  const auto& all = pieces.tetrahedra(cell, value);
  std::array<Valued, 4> out;
  for (; plane != planes.end() && *plane <= hi; ++plane)
    for (const auto& piece : all) {
      const size_t corners = cut(
          piece.points, [&](const Vec3& place) { return place[axis] - *plane; }, out);
      raster.share(
          std::span<const Valued>(out).first(corners),
          [&](size_t pixel, double area, double mean) { add(pixel, piece.sign * area, mean); });
    }
}

/// Adds a cell of two dimensions, in triangles about the mean of its corners.
template <class Value, class Add>
void flatten_cell(CellPieces& pieces, int64_t cell, CellRaster& raster, Value&& value, Add&& add) {
  pieces.polygons(cell, value, [&](std::span<const Valued> corners) {
    const Valued middle = mean_of(corners);
    const auto turn = [&](size_t i) {
      const Vec3 a = corners[i].place - middle.place,
                 b = corners[(i + 1) % corners.size()].place - middle.place;
      return cross(a, b)[2];
    };
    double sum = 0;
    for (size_t i = 0; i < corners.size(); ++i) sum += turn(i);
    for (size_t i = 0; i < corners.size(); ++i) {
      const std::array<Valued, 3> triangle = {middle, corners[i],
                                              corners[(i + 1) % corners.size()]};
      const double sign = (turn(i) < 0) == (sum < 0) ? 1 : -1;
      raster.share(triangle,
                   [&](size_t pixel, double area, double mean) { add(pixel, sign * area, mean); });
    }
  });
}

}  // namespace pillion::stages::slice
