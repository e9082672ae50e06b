// SPDX-License-Identifier: BSD-3-Clause
// Cells of any shape in pieces: tetrahedra and triangles with a value at each corner, and
// what a plane cuts out of them. Pieces meet at the means of faces and cells, so that cells with a
// common face have the same pieces of it. A cell with nodes in the middle of its edges is first
// divided into linear ones, whose edges run from node to node.
#pragma once

#include <array>
#include <cstdint>
#include <pillion/stage/cell_shapes.hpp>
#include <span>
#include <type_traits>
#include <vector>

#include "cell_volumes.hpp"
#include "quadratic_cells.hpp"

namespace pillion::stages {

/// A place and a value there.
struct Valued {
  Vec3 place;
  double value = 0;
};
inline Valued operator+(const Valued& a, const Valued& b) {
  return {a.place + b.place, a.value + b.value};
}
inline Valued operator*(double f, const Valued& a) { return {f * a.place, f * a.value}; }

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

  /// A cell's points, and the nodes that its interpolation has besides; `value(point)` is that of
  /// a point of the block. All corners of its pieces but means lie among them. Good until the next
  /// call.
  template <class Value>
  [[nodiscard]] const std::vector<Valued>& nodes(int64_t cell, Value&& value) {
    nodes_.clear();
    for (const int64_t p : cells_.points(cell)) nodes_.push_back({cells_.place(p), value(p)});
    if (const auto* quadratic = quadratic_of(cells_.type(cell))) complete(*quadratic, nodes_);
    return nodes_;
  }

  /// Of a cell of three dimensions. Good until the next call.
  template <class Value>
  [[nodiscard]] const std::vector<Tetrahedron>& tetrahedra(int64_t cell, Value&& value) {
    tetrahedra_.clear();
    const CellShape* shape = shape_of(cells_.type(cell));
    if (shape == nullptr || shape->dimensions != 3) return tetrahedra_;
    if (shape->type == polyhedron_type) {
      const auto at = [&](int64_t point) { return Valued{cells_.place(point), value(point)}; };
      gather(cells_.points(cell), at);
      const auto centre = mean_of(std::span<const Valued>(corners_));
      const auto& faces = cells_.faces(cell);
      const auto signs = faces.signs();
      for (size_t f = 0; f < faces.count(); ++f) {
        gather(faces[f], at);
        add_face(centre, signs.empty() ? 1 : signs[f]);
      }
      settle(signs.empty());
      return tetrahedra_;
    }
    (void)nodes(cell, value);
    if (const auto* quadratic = quadratic_of(shape->type)) {
      for (const auto& part : quadratic->parts) {
        part_.clear();
        for (const uint8_t n : part.nodes) part_.push_back(nodes_[n]);
        add_cell(*shape_of(part.type), part_);
      }
    } else {
      add_cell(*shape, nodes_);
    }
    settle(false);
    return tetrahedra_;
  }

  /// The corners of a cell of two dimensions, in order around it; a strip, or a cell with nodes in
  /// the middle of its edges, comes in several polygons.
  template <class Value, class Use>
  void polygons(int64_t cell, Value&& value, Use&& use) {
    const CellShape* shape = shape_of(cells_.type(cell));
    if (shape == nullptr || shape->dimensions != 2) return;
    (void)nodes(cell, value);
    const auto polygon = [&](const auto& numbers) {
      corners_.clear();
      for (const auto n : numbers) corners_.push_back(nodes_[static_cast<size_t>(n)]);
      use(std::span<const Valued>(corners_));
    };
    if (const auto* quadratic = quadratic_of(shape->type)) {
      for (const auto& part : quadratic->parts) polygon(part.nodes);
    } else if (shape->type == 6) {
      for (size_t i = 2; i < nodes_.size(); ++i) polygon(std::array{i - 2, i - 1, i});
    } else if (shape->faces.empty()) {
      use(std::span<const Valued>(nodes_));
    } else {
      const auto& face = shape->faces[0];
      polygon(std::span(face.points).first(face.corners));
    }
  }

 private:
  template <class At>
  void gather(std::span<const int64_t> points, At&& at) {
    corners_.clear();
    for (const int64_t p : points) corners_.push_back(at(p));
  }
  /// A cell with straight edges.
  void add_cell(const CellShape& shape, std::span<const Valued> points) {
    if (shape.type == 10) return add_piece(points[0], points[1], points[2], points[3], 1);
    const auto centre = mean_of(points);
    for (const auto& face : shape.faces) {
      corners_.clear();
      for (size_t i = 0; i < face.corners; ++i) corners_.push_back(points[face.points[i]]);
      add_face(centre, 1);
    }
  }
  void add_piece(const Valued& a, const Valued& b, const Valued& c, const Valued& d, double sign) {
    const double volume = dot(b.place - a.place, cross(c.place - a.place, d.place - a.place));
    tetrahedra_.push_back({{a, b, c, d}, sign * volume});
  }
  void add_face(const Valued& centre, double sign) {
    const size_t n = corners_.size();
    if (n == 3) return add_piece(centre, corners_[0], corners_[1], corners_[2], sign);
    const Valued middle = mean_of(std::span<const Valued>(corners_));
    for (size_t i = 0; i < n; ++i)
      add_piece(centre, middle, corners_[i], corners_[(i + 1) % n], sign);
  }
  /// Turns volumes into signs: those of most of the cell are positive.
  void settle(bool all_alike) {
    double sum = 0;
    for (const auto& piece : tetrahedra_) sum += piece.sign;
    for (auto& piece : tetrahedra_)
      piece.sign = all_alike || (piece.sign < 0) == (sum < 0) ? 1 : -1;
  }

  BlockCells cells_;
  std::vector<Valued> nodes_, part_, corners_;
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
