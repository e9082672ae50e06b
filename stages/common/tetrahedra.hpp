// SPDX-License-Identifier: BSD-3-Clause
// Cells of any shape in pieces: tetrahedra and triangles with a value at each corner, and
// what a plane cuts out of them. Pieces meet at the means of faces and cells, so that cells with a
// common face have the same pieces of it. Curved edges are taken to be straight.
#pragma once

#include <array>
#include <cstdint>
#include <pillion/stage/cell_shapes.hpp>
#include <span>
#include <type_traits>
#include <vector>

#include "cell_volumes.hpp"

namespace pillion::stages {

/// A place and a value there.
struct Valued {
  Vec3 place;
  double value = 0;
};

inline Valued mean_of(std::span<const Valued> points) {
  Valued out;
  for (const auto& p : points) {
    out.place = out.place + p.place;
    out.value += p.value;
  }
  const double share = points.empty() ? 0 : 1 / static_cast<double>(points.size());
  return {share * out.place, share * out.value};
}

/// A piece counts with a sign: where a cell is not convex, some pieces overlap and are taken away.
template <size_t corners>
struct Piece {
  std::array<Valued, corners> points;
  double sign = 1;
};
using Tetrahedron = Piece<4>;

/// The pieces of one cell after the other.
class CellPieces {
 public:
  CellPieces(const pillion_mesh& mesh, const stage::Block& block) : cells_(mesh, block) {}

  [[nodiscard]] BlockCells& cells() { return cells_; }

  /// Of a cell of three dimensions; `value(point)` is that of a point of the block. Good until the
  /// next call.
  template <class Value>
  [[nodiscard]] const std::vector<Tetrahedron>& tetrahedra(int64_t cell, Value&& value) {
    tetrahedra_.clear();
    const CellShape* shape = shape_of(cells_.type(cell));
    if (shape == nullptr || shape->dimensions != 3) return tetrahedra_;
    const auto points = cells_.points(cell);
    const auto at = [&](int64_t point) { return Valued{cells_.place(point), value(point)}; };
    if (shape->type == 10) {
      tetrahedra_.push_back({{at(points[0]), at(points[1]), at(points[2]), at(points[3])}});
      return tetrahedra_;
    }
    const auto centre = centre_of(*shape, points, at);
    if (shape->type == polyhedron_type) {
      const auto& faces = cells_.faces(cell);
      const auto signs = faces.signs();
      for (size_t f = 0; f < faces.count(); ++f) {
        gather(faces[f], at);
        add_face(centre, signs.empty() ? 1 : signs[f]);
      }
      settle(signs.empty());
      return tetrahedra_;
    }
    std::array<int64_t, 9> of_face{};
    for (const auto& face : shape->faces) {
      for (size_t i = 0; i < face.corners; ++i) of_face[i] = points[face.points[i]];
      gather(std::span<const int64_t>(of_face).first(face.corners), at);
      add_face(centre, 1);
    }
    settle(false);
    return tetrahedra_;
  }

  /// The corners of a cell of two dimensions, in order around it; strips are given by `use` one
  /// triangle at a time.
  template <class Value, class Use>
  void polygons(int64_t cell, Value&& value, Use&& use) {
    const CellShape* shape = shape_of(cells_.type(cell));
    if (shape == nullptr || shape->dimensions != 2) return;
    const auto points = cells_.points(cell);
    const auto at = [&](int64_t point) { return Valued{cells_.place(point), value(point)}; };
    if (shape->type == 6) {
      for (size_t i = 2; i < points.size(); ++i) {
        gather(points.subspan(i - 2, 3), at);
        use(std::span<const Valued>(corners_));
      }
      return;
    }
    corners_.clear();
    if (shape->faces.empty()) gather(points, at);
    else
      for (size_t i = 0; i < shape->faces[0].corners; ++i)
        corners_.push_back(at(points[shape->faces[0].points[i]]));
    use(std::span<const Valued>(corners_));
  }

 private:
  template <class At>
  void gather(std::span<const int64_t> points, At&& at) {
    corners_.clear();
    for (const int64_t p : points) corners_.push_back(at(p));
  }
  /// Of its corners alone: each is on some face.
  template <class At>
  Valued centre_of(const CellShape& shape, std::span<const int64_t> points, At&& at) {
    size_t corners = points.size();
    if (!shape.faces.empty()) {
      corners = 0;
      for (const auto& face : shape.faces)
        for (size_t i = 0; i < face.corners; ++i)
          corners = std::max<size_t>(corners, face.points[i] + size_t{1});
    }
    gather(points.first(corners), at);
    return mean_of(std::span<const Valued>(corners_));
  }
  void add_face(const Valued& centre, double sign) {
    const auto add = [&](const Valued& a, const Valued& b, const Valued& c) {
      const double volume =
          dot(a.place - centre.place, cross(b.place - centre.place, c.place - centre.place));
      tetrahedra_.push_back({{centre, a, b, c}, sign * volume});
    };
    const size_t n = corners_.size();
    if (n == 3) return add(corners_[0], corners_[1], corners_[2]);
    const Valued middle = mean_of(std::span<const Valued>(corners_));
    for (size_t i = 0; i < n; ++i) add(middle, corners_[i], corners_[(i + 1) % n]);
  }
  /// Turns volumes into signs: those of most of the cell are positive.
  void settle(bool all_alike) {
    double sum = 0;
    for (const auto& piece : tetrahedra_) sum += piece.sign;
    for (auto& piece : tetrahedra_)
      piece.sign = all_alike || (piece.sign < 0) == (sum < 0) ? 1 : -1;
  }

  BlockCells cells_;
  std::vector<Valued> corners_;
  std::vector<Tetrahedron> tetrahedra_;
};

/// What a surface cuts out of a tetrahedron whose corners have these heights above it: 0, 3 or 4
/// corners in order. A face in the surface belongs to the tetrahedron below it.
inline size_t cut(const std::array<Valued, 4>& points, const std::array<double, 4>& heights,
                  std::array<Valued, 4>& out) {
  std::array<size_t, 4> above{}, below{};
  size_t a = 0, b = 0;
  for (size_t i = 0; i < 4; ++i) {
    if (heights[i] >= 0) above[a++] = i;
    else below[b++] = i;
  }
  if (a == 0 || b == 0) return 0;
  const auto between = [&](size_t i, size_t j) {
    const double t = heights[i] / (heights[i] - heights[j]);
    return Valued{points[i].place + t * (points[j].place - points[i].place),
                  points[i].value + t * (points[j].value - points[i].value)};
  };
  if (a == 2) {
    out = {between(above[0], below[0]), between(above[0], below[1]), between(above[1], below[1]),
           between(above[1], below[0])};
    return 4;
  }
  for (size_t i = 0; i < 3; ++i)
    out[i] = a == 1 ? between(above[0], below[i]) : between(above[i], below[0]);
  return 3;
}

/// The same for a plane; `height(place)` is that above it.
template <class Height>
requires std::is_invocable_v<Height, const Vec3&> size_t cut(const std::array<Valued, 4>& points,
                                                             Height&& height,
                                                             std::array<Valued, 4>& out) {
  const std::array<double, 4> heights = {height(points[0].place), height(points[1].place),
                                         height(points[2].place), height(points[3].place)};
  return cut(points, heights, out);
}

/// How a number that is linear in a tetrahedron changes in space; 0 if it is flat.
inline Vec3 gradient_of(const std::array<Valued, 4>& points) {
  const Vec3 a = points[1].place - points[0].place, b = points[2].place - points[0].place,
             c = points[3].place - points[0].place;
  const double volume = dot(a, cross(b, c));
  if (volume == 0) return {};
  const auto rise = [&](size_t i) { return (points[i].value - points[0].value) / volume; };
  return rise(1) * cross(b, c) + rise(2) * cross(c, a) + rise(3) * cross(a, b);
}

}  // namespace pillion::stages
