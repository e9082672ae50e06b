// SPDX-License-Identifier: BSD-3-Clause
// Cells with nodes in the middle of edges: their own interpolation. It gives the integrals that
// nodes weigh by, values at the points of a quadrature, and smaller linear cells for cuts.
//
// A cell is first completed to one of few families. A node that its type leaves out, such as the
// centre of a face with eight nodes, has the value that the interpolation of the type has there, so
// that the larger family interpolates the same function (O. C. Zienkiewicz, R. L. Taylor: The
// Finite Element Method, "serendipity" family). Pyramids, whose interpolation is rational, are
// taken as the linear cells that they are divided into.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <pillion/stage/cell_shapes.hpp>
#include <span>
#include <utility>
#include <vector>

namespace pillion::stages {

/// A node of a complete cell as a sum of nodes that the cell has.
struct NodeSum {
  struct Term {
    uint8_t node;
    double share;
  };
  std::vector<Term> terms;
};

/// A linear cell, by VTK's type, on nodes of a complete cell.
struct LinearPart {
  uint8_t type;
  std::vector<uint8_t> nodes;
};

/// A point of a quadrature: its weight in the reference cell, and the interpolation there and how
/// it changes, by node.
struct QuadraturePoint {
  double weight = 0;
  std::vector<double> shape;
  std::array<std::vector<double>, 3> slope;
};

/// What is known of a type of cell.
struct QuadraticCell {
  int32_t dimensions = 0;
  std::vector<NodeSum> added;  ///< nodes behind those of the type
  std::vector<LinearPart> parts;
  std::vector<QuadraturePoint> points;  ///< none of a pyramid
};

namespace detail {

/// Nodes and weights of Gauss-Jacobi quadrature on [0, 1] with the weight (1 - x)^power, exact for
/// polynomials up to degree 7. Roots of the polynomial by Newton's method from where those of
/// Chebyshev's lie, without the ones that are known (P. J. Davis, P. Rabinowitz: Methods of
/// Numerical Integration, 2.7).
struct GaussRule {
  static constexpr int size = 4;
  std::array<double, size> at{}, weight{};
};

inline GaussRule gauss_rule(int power) {
  constexpr int n = GaussRule::size;
  const double a = power;
  // The orthogonal polynomial of that degree at x in [-1, 1], by its recurrence, and its slope.
  const auto polynomial = [&](double x) {
    double before = 1, now = (a + (a + 2) * x) / 2;
    for (int k = 2; k <= n; ++k) {
      const double c = 2 * k + a;
      const double next =
          ((c - 1) * (c * (c - 2) * x + a * a) * now - 2 * (k + a - 1) * (k - 1) * c * before) /
          (2 * k * (k + a) * (c - 2));
      before = now;
      now = next;
    }
    const double c = 2 * n + a;
    const double slope = (n * (a - c * x) * now + 2 * (n + a) * n * before) / (c * (1 - x * x));
    return std::array{now, slope};
  };
  GaussRule out;
  std::array<double, n> roots{};
  for (size_t i = 0; i < roots.size(); ++i) {
    double x = -std::cos(3.14159265358979323846 * (static_cast<double>(i) + 0.75) / (n + 0.5));
    for (int step = 0; step < 100; ++step) {
      const auto [value, slope] = polynomial(x);
      double known = 0;
      for (size_t j = 0; j < i; ++j) known += 1 / (x - roots[j]);
      const double change = value / (slope - known * value);
      x -= change;
      if (std::abs(change) < 1e-16) break;
    }
    roots[i] = x;
  }
  double sum = 0;
  for (size_t i = 0; i < roots.size(); ++i) {
    const double slope = polynomial(roots[i])[1];
    out.at[i] = (1 + roots[i]) / 2;
    out.weight[i] = 1 / ((1 - roots[i] * roots[i]) * slope * slope);
    sum += out.weight[i];
  }
  for (double& weight : out.weight) weight /= sum * (power + 1);  // the integral of the weight
  return out;
}

/// A polynomial at a place, with its slopes.
struct Local {
  double value = 0;
  std::array<double, 3> slope{};
};
inline Local operator*(const Local& a, const Local& b) {
  Local out{a.value * b.value, {}};
  for (size_t d = 0; d < 3; ++d) out.slope[d] = a.value * b.slope[d] + a.slope[d] * b.value;
  return out;
}
inline Local operator+(const Local& a, const Local& b) {
  return {a.value + b.value,
          {a.slope[0] + b.slope[0], a.slope[1] + b.slope[1], a.slope[2] + b.slope[2]}};
}
inline Local operator*(double f, const Local& a) {
  return {f * a.value, {f * a.slope[0], f * a.slope[1], f * a.slope[2]}};
}
inline Local operator-(const Local& a, const Local& b) { return a + -1.0 * b; }
inline Local number(double value) { return {value, {}}; }

/// The quadratic polynomials of a line from 0 to 1: of its beginning, middle and end.
inline std::array<Local, 3> on_line(const Local& x) {
  return {(number(1) - 2.0 * x) * (number(1) - x), 4.0 * (x * (number(1) - x)),
          x * (2.0 * x - number(1))};
}

/// Those of a simplex: of its corners, then of its edges in the order given.
inline std::vector<Local> on_simplex(std::span<const Local> corners,
                                     std::span<const std::array<size_t, 2>> edges) {
  std::vector<Local> out;
  for (const auto& l : corners) out.push_back(l * (2.0 * l - number(1)));
  for (const auto& [a, b] : edges) out.push_back(4.0 * (corners[a] * corners[b]));
  return out;
}

inline constexpr std::array<std::array<size_t, 2>, 3> triangle_edges = {{{0, 1}, {1, 2}, {2, 0}}};
inline constexpr std::array<std::array<size_t, 2>, 6> tetrahedron_edges = {
    {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}}};

using Place = std::array<Local, 3>;

inline std::vector<Local> on_triangle(const Place& at, bool has_centre) {
  const std::array corners = {number(1) - at[0] - at[1], at[0], at[1]};
  auto out = on_simplex(corners, triangle_edges);
  if (!has_centre) return out;
  const Local bubble = corners[0] * corners[1] * corners[2];
  for (size_t i = 0; i < 6; ++i) out[i] = out[i] + (i < 3 ? 3.0 : -12.0) * bubble;
  out.push_back(27.0 * bubble);
  return out;
}

inline std::vector<Local> on_tetrahedron(const Place& at) {
  const std::array corners = {number(1) - at[0] - at[1] - at[2], at[0], at[1], at[2]};
  return on_simplex(corners, tetrahedron_edges);
}

/// Where nodes of a square and of a cube lie, as places of 0, 1 or 2 along each axis.
inline constexpr std::array<std::array<size_t, 2>, 9> square_nodes = {
    {{0, 0}, {2, 0}, {2, 2}, {0, 2}, {1, 0}, {2, 1}, {1, 2}, {0, 1}, {1, 1}}};
inline constexpr std::array<std::array<size_t, 3>, 27> cube_nodes = {
    {{0, 0, 0}, {2, 0, 0}, {2, 2, 0}, {0, 2, 0}, {0, 0, 2}, {2, 0, 2}, {2, 2, 2},
     {0, 2, 2}, {1, 0, 0}, {2, 1, 0}, {1, 2, 0}, {0, 1, 0}, {1, 0, 2}, {2, 1, 2},
     {1, 2, 2}, {0, 1, 2}, {0, 0, 1}, {2, 0, 1}, {2, 2, 1}, {0, 2, 1}, {0, 1, 1},
     {2, 1, 1}, {1, 0, 1}, {1, 2, 1}, {1, 1, 0}, {1, 1, 2}, {1, 1, 1}}};
/// Those of a prism: node of the triangle, and layer.
inline constexpr std::array<std::array<size_t, 2>, 18> prism_nodes = {{{0, 0},
                                                                       {1, 0},
                                                                       {2, 0},
                                                                       {0, 2},
                                                                       {1, 2},
                                                                       {2, 2},
                                                                       {3, 0},
                                                                       {4, 0},
                                                                       {5, 0},
                                                                       {3, 2},
                                                                       {4, 2},
                                                                       {5, 2},
                                                                       {0, 1},
                                                                       {1, 1},
                                                                       {2, 1},
                                                                       {3, 1},
                                                                       {4, 1},
                                                                       {5, 1}}};

inline std::vector<Local> on_edge(const Place& at) {
  const auto x = on_line(at[0]);
  return {x[0], x[2], x[1]};
}
/// Of six points: quadratic along one pair of edges, linear along the other.
inline std::vector<Local> on_band(const Place& at) {
  const auto x = on_line(at[0]);
  const Local below = number(1) - at[1], &above = at[1];
  return {x[0] * below, x[2] * below, x[2] * above, x[0] * above, x[1] * below, x[1] * above};
}
inline std::vector<Local> on_square(const Place& at) {
  const auto x = on_line(at[0]), y = on_line(at[1]);
  std::vector<Local> out;
  for (const auto& [i, j] : square_nodes) out.push_back(x[i] * y[j]);
  return out;
}
inline std::vector<Local> on_cube(const Place& at) {
  const auto x = on_line(at[0]), y = on_line(at[1]), z = on_line(at[2]);
  std::vector<Local> out;
  for (const auto& [i, j, k] : cube_nodes) out.push_back(x[i] * y[j] * z[k]);
  return out;
}
inline std::vector<Local> on_prism(const Place& at) {
  const auto flat = on_triangle(at, false);
  const auto z = on_line(at[2]);
  std::vector<Local> out;
  for (const auto& [i, k] : prism_nodes) out.push_back(flat[i] * z[k]);
  return out;
}

/// Points of a product of rules; `fold` is the number of axes of a simplex, whose second and
/// third lengths shrink along those before.
template <class Shape>
std::vector<QuadraturePoint> quadrature(int32_t dimensions, int fold, Shape&& shape) {
  std::vector<QuadraturePoint> out;
  const auto power = [&](int axis) { return axis < fold ? fold - 1 - axis : 0; };
  const std::array rules = {gauss_rule(power(0)), gauss_rule(power(1)), gauss_rule(power(2))};
  const size_t n = GaussRule::size, rows = dimensions > 1 ? n : 1, layers = dimensions > 2 ? n : 1;
  for (size_t a = 0; a < n; ++a)
    for (size_t b = 0; b < rows; ++b)
      for (size_t c = 0; c < layers; ++c) {
        std::array<double, 3> x = {rules[0].at[a], dimensions > 1 ? rules[1].at[b] : 0,
                                   dimensions > 2 ? rules[2].at[c] : 0};
        QuadraturePoint point;
        point.weight = rules[0].weight[a] * (dimensions > 1 ? rules[1].weight[b] : 1) *
                       (dimensions > 2 ? rules[2].weight[c] : 1);
        if (fold >= 2) x[1] *= 1 - x[0];
        if (fold == 3) x[2] *= (1 - x[0]) * (1 - rules[1].at[b]);
        Place at;
        for (size_t d = 0; d < 3; ++d) {
          at[d] = number(x[d]);
          at[d].slope[d] = 1;
        }
        for (const auto& node : shape(at)) {
          point.shape.push_back(node.value);
          for (size_t d = 0; d < 3; ++d) point.slope[d].push_back(node.slope[d]);
        }
        out.push_back(std::move(point));
      }
  return out;
}

inline NodeSum mean_of_two(uint8_t a, uint8_t b) { return {{{a, 0.5}, {b, 0.5}}}; }
/// The centre of a face with four corners and the middles of its edges.
inline NodeSum centre_of_eight(std::array<uint8_t, 4> corners, std::array<uint8_t, 4> middles) {
  NodeSum out;
  for (const uint8_t m : middles) out.terms.push_back({m, 0.5});
  for (const uint8_t c : corners) out.terms.push_back({c, -0.25});
  return out;
}

inline std::vector<LinearPart> triangles(bool has_centre) {
  if (!has_centre) return {{5, {0, 3, 5}}, {5, {3, 1, 4}}, {5, {5, 4, 2}}, {5, {3, 4, 5}}};
  return {{5, {0, 3, 6}}, {5, {3, 1, 6}}, {5, {1, 4, 6}},
          {5, {4, 2, 6}}, {5, {2, 5, 6}}, {5, {5, 0, 6}}};
}
inline std::vector<LinearPart> squares() {
  return {{9, {0, 4, 8, 7}}, {9, {4, 1, 5, 8}}, {9, {8, 5, 2, 6}}, {9, {7, 8, 6, 3}}};
}
/// Four at the corners, and the octahedron between them about its centre.
inline std::vector<LinearPart> tetrahedra() {
  std::vector<LinearPart> out = {
      {10, {0, 4, 6, 7}}, {10, {4, 1, 5, 8}}, {10, {6, 5, 2, 9}}, {10, {7, 8, 9, 3}}};
  const std::array<std::array<uint8_t, 3>, 8> faces = {
      {{4, 5, 6}, {4, 8, 5}, {5, 9, 6}, {4, 6, 7}, {7, 9, 8}, {4, 7, 8}, {5, 8, 9}, {6, 9, 7}}};
  for (const auto& [a, b, c] : faces) out.push_back({10, {a, b, c, 10}});
  return out;
}
inline std::vector<LinearPart> cubes() {
  std::array<std::array<std::array<uint8_t, 3>, 3>, 3> node{};
  for (size_t n = 0; n < cube_nodes.size(); ++n) {
    const auto& [i, j, k] = cube_nodes[n];
    node[i][j][k] = static_cast<uint8_t>(n);
  }
  std::vector<LinearPart> out;
  for (size_t k = 0; k < 2; ++k)
    for (size_t j = 0; j < 2; ++j)
      for (size_t i = 0; i < 2; ++i)
        out.push_back({12,
                       {node[i][j][k], node[i + 1][j][k], node[i + 1][j + 1][k], node[i][j + 1][k],
                        node[i][j][k + 1], node[i + 1][j][k + 1], node[i + 1][j + 1][k + 1],
                        node[i][j + 1][k + 1]}});
  return out;
}
inline std::vector<LinearPart> prisms() {
  std::array<std::array<uint8_t, 3>, 6> node{};
  for (size_t n = 0; n < prism_nodes.size(); ++n)
    node[prism_nodes[n][0]][prism_nodes[n][1]] = static_cast<uint8_t>(n);
  std::vector<LinearPart> out;
  for (const auto& flat : triangles(false))
    for (size_t k = 0; k < 2; ++k) {
      LinearPart part{13, {}};
      for (const size_t layer : {k, k + 1})
        for (const uint8_t n : flat.nodes) part.nodes.push_back(node[n][layer]);
      out.push_back(std::move(part));
    }
  return out;
}
/// Node 13 is the centre of the base.
inline std::vector<LinearPart> pyramids() {
  return {{14, {0, 5, 13, 8, 9}},  {14, {5, 1, 6, 13, 10}},  {14, {13, 6, 2, 7, 11}},
          {14, {8, 13, 7, 3, 12}}, {14, {9, 10, 11, 12, 4}}, {14, {9, 12, 11, 10, 13}},
          {10, {5, 10, 9, 13}},    {10, {6, 11, 10, 13}},    {10, {7, 12, 11, 13}},
          {10, {8, 9, 12, 13}}};
}

inline NodeSum centre_of_tetrahedron() {
  NodeSum out;
  for (uint8_t n = 0; n < 10; ++n) out.terms.push_back({n, n < 4 ? -0.125 : 0.25});
  return out;
}

/// Nodes that a hexahedron of 20 or 24 lacks.
inline std::vector<NodeSum> added_to_cube(int32_t nodes) {
  std::vector<NodeSum> out;
  if (nodes == 20)
    out = {centre_of_eight({0, 4, 7, 3}, {16, 15, 19, 11}),
           centre_of_eight({1, 2, 6, 5}, {9, 18, 13, 17}),
           centre_of_eight({0, 1, 5, 4}, {8, 17, 12, 16}),
           centre_of_eight({3, 7, 6, 2}, {19, 14, 18, 10})};
  if (nodes < 27) {
    out.push_back(centre_of_eight({0, 3, 2, 1}, {11, 10, 9, 8}));
    out.push_back(centre_of_eight({4, 5, 6, 7}, {12, 13, 14, 15}));
  }
  NodeSum centre;
  if (nodes == 20) {
    for (uint8_t n = 0; n < 20; ++n) centre.terms.push_back({n, n < 8 ? -0.25 : 0.25});
    out.push_back(centre);
  }
  if (nodes == 24) out.push_back(centre_of_eight({16, 17, 18, 19}, {20, 21, 22, 23}));
  return out;
}
inline std::vector<NodeSum> added_to_prism(int32_t nodes) {
  if (nodes == 15)
    return {centre_of_eight({0, 1, 4, 3}, {6, 13, 9, 12}),
            centre_of_eight({1, 2, 5, 4}, {7, 14, 10, 13}),
            centre_of_eight({2, 0, 3, 5}, {8, 12, 11, 14})};
  if (nodes == 12)
    return {mean_of_two(0, 3), mean_of_two(1, 4),  mean_of_two(2, 5),
            mean_of_two(6, 9), mean_of_two(7, 10), mean_of_two(8, 11)};
  return {};
}

/// One for each part: its middle, which of a pyramid is a quarter of the way to the apex.
inline std::vector<QuadraturePoint> middles_of(const std::vector<LinearPart>& parts, size_t nodes) {
  std::vector<QuadraturePoint> out;
  for (const auto& part : parts) {
    QuadraturePoint point;
    point.shape.assign(nodes, 0);
    for (const uint8_t n : part.nodes) point.shape[n] = part.type == 14 ? 0.1875 : 0.25;
    if (part.type == 14) point.shape[part.nodes[4]] = 0.25;
    out.push_back(std::move(point));
  }
  return out;
}

inline QuadraticCell describe(const stage::CellShape& shape) {
  const auto nodes = static_cast<int32_t>(shape.points);
  switch (shape.type) {
    case 21: return {1, {}, {{3, {0, 2}}, {3, {2, 1}}}, quadrature(1, 0, on_edge)};
    case 22:
    case 34: {
      const bool has_centre = nodes == 7;
      return {2, {}, triangles(has_centre), quadrature(2, 2, [=](const Place& at) {
                return on_triangle(at, has_centre);
              })};
    }
    case 23:
      return {
          2, {centre_of_eight({0, 1, 2, 3}, {4, 5, 6, 7})}, squares(), quadrature(2, 0, on_square)};
    case 28: return {2, {}, squares(), quadrature(2, 0, on_square)};
    case 30: return {2, {}, {{9, {0, 4, 5, 3}}, {9, {4, 1, 2, 5}}}, quadrature(2, 0, on_band)};
    case 24: return {3, {centre_of_tetrahedron()}, tetrahedra(), quadrature(3, 3, on_tetrahedron)};
    case 25:
    case 29:
    case 33: return {3, added_to_cube(nodes), cubes(), quadrature(3, 0, on_cube)};
    case 26:
    case 31:
    case 32: return {3, added_to_prism(nodes), prisms(), quadrature(3, 2, on_prism)};
    case 27:
      return {
          3, {centre_of_eight({0, 1, 2, 3}, {5, 6, 7, 8})}, pyramids(), middles_of(pyramids(), 14)};
    default: return {};
  }
}

}  // namespace detail

/// Null of cells with straight edges, and of types that are not known.
inline const QuadraticCell* quadratic_of(uint8_t type) {
  static const auto known = [] {
    std::array<QuadraticCell, 256> out;
    for (const auto& shape : stage::detail::shapes) out[shape.type] = detail::describe(shape);
    return out;
  }();
  return known[type].dimensions > 0 ? &known[type] : nullptr;
}

/// Adds the nodes that a cell lacks behind its own: places, values, or both.
template <class T>
void complete(const QuadraticCell& cell, std::vector<T>& nodes) {
  for (const auto& sum : cell.added) {
    T out{};
    for (const auto& [node, share] : sum.terms) out = out + share * nodes[node];
    nodes.push_back(out);
  }
}

/// What the points of a cell's quadrature weigh, in all its `size`, which is known. `places` are
/// those of complete nodes.
inline void weigh_points(const QuadraticCell& cell, std::span<const stage::Vec3> places,
                         double size, std::vector<double>& out) {
  using stage::Vec3;
  out.clear();
  double sum = 0;
  for (size_t q = 0; q < cell.points.size(); ++q) {
    const auto& point = cell.points[q];
    std::array<Vec3, 3> along{};
    if (point.slope[0].empty()) {
      std::vector<Vec3> of_part;
      for (const uint8_t n : cell.parts[q].nodes) of_part.push_back(places[n]);
      out.push_back(std::abs(stage::measure(*stage::shape_of(cell.parts[q].type), of_part).size));
      sum += out.back();
      continue;
    }
    for (size_t n = 0; n < point.shape.size(); ++n)
      for (size_t d = 0; d < static_cast<size_t>(cell.dimensions); ++d)
        along[d] = along[d] + point.slope[d][n] * places[n];
    const Vec3 normal = cross(along[0], along[1]);
    const double stretch = cell.dimensions == 3   ? dot(normal, along[2])
                           : cell.dimensions == 2 ? length_of(normal)
                                                  : length_of(along[0]);
    out.push_back(point.weight * stretch);
    sum += out.back();
  }
  for (double& weight : out) weight = sum != 0 ? weight * (size / sum) : 0;
}

/// The integrals of the interpolation of each of a cell's own nodes, from what its points weigh.
inline std::vector<double> node_integrals(const QuadraticCell& cell, size_t nodes,
                                          std::span<const double> weights) {
  std::vector<double> all(nodes + cell.added.size());
  for (size_t q = 0; q < cell.points.size(); ++q)
    for (size_t n = 0; n < cell.points[q].shape.size(); ++n)
      all[n] += weights[q] * cell.points[q].shape[n];
  for (size_t a = 0; a < cell.added.size(); ++a)
    for (const auto& [node, share] : cell.added[a].terms) all[node] += share * all[nodes + a];
  all.resize(nodes);
  return all;
}

}  // namespace pillion::stages
