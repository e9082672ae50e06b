// SPDX-License-Identifier: BSD-3-Clause
// Cells with nodes in the middle of edges: integrals against known rules and against the formulas
// of volumes, which go another way; smaller cells that fill them; nodes in a wrong order.
#include "common/quadratic_cells.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "common/tetrahedra.hpp"

using namespace pillion;
using namespace pillion::stages;

namespace {

constexpr uint8_t all_types[] = {21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34};

/// Places of the nodes of a reference cell: its corners, with the others at the means of the edges
/// and faces that the shape lists.
std::vector<Vec3> reference(uint8_t type) {
  const auto& shape = *stage::shape_of(type);
  const std::vector<Vec3> boxes = {{{0, 0, 0}}, {{1, 0, 0}}, {{1, 1, 0}}, {{0, 1, 0}},
                                   {{0, 0, 1}}, {{1, 0, 1}}, {{1, 1, 1}}, {{0, 1, 1}}};
  std::vector<Vec3> out(static_cast<size_t>(shape.points));
  size_t corners = 0;
  for (const auto& face : shape.faces)
    for (size_t i = 0; i < face.corners; ++i)
      corners = std::max<size_t>(corners, face.points[i] + size_t{1});
  if (type == 21) return {{{0, 0, 0}}, {{1, 0, 0}}, {{0.5, 0, 0}}};
  std::vector<Vec3> at = boxes;
  if (corners == 3) at = {boxes[0], boxes[1], boxes[3]};
  if (corners == 4 && shape.dimensions == 3) at = {boxes[0], boxes[1], boxes[3], boxes[4]};
  if (corners == 6) at = {boxes[0], boxes[1], boxes[3], boxes[4], boxes[5], boxes[7]};
  if (corners == 5) at = {boxes[0], boxes[1], boxes[2], boxes[3], {{0.5, 0.5, 1}}};
  for (size_t c = 0; c < corners; ++c) out[c] = at[c];
  Vec3 middle{};
  for (size_t c = 0; c < corners; ++c) middle = middle + 1 / static_cast<double>(corners) * at[c];
  for (size_t p = corners; p < out.size(); ++p) out[p] = middle;  // the centre of the last type
  for (const auto& face : shape.faces) {
    const size_t n = face.corners;
    const bool is_band = face.count == 6 && n == 4;
    for (size_t e = 0; n + e < face.count; ++e) {
      const size_t first = is_band ? 2 * e : e;
      out[face.points[n + e]] =
          e < n ? 0.5 * (at[face.points[first]] + at[face.points[(first + 1) % n]]) : Vec3{};
      if (e < n) continue;
      for (size_t i = 0; i < n; ++i)
        out[face.points[n + e]] =
            out[face.points[n + e]] + 1 / static_cast<double>(n) * at[face.points[i]];
    }
  }
  return out;
}

std::vector<Vec3> bent(std::vector<Vec3> places, int32_t dimensions) {
  for (auto& p : places) {
    const Vec3 at = p;
    p[0] = at[0] + 0.1 * at[1] * at[1] + 0.05 * at[2] * at[0];
    p[1] = at[1] - 0.08 * at[0] * at[0] + 0.03 * at[2];
    p[2] = dimensions == 3 ? at[2] + 0.06 * at[0] * at[1] : 0;
  }
  return places;
}

std::vector<double> integrals(uint8_t type, std::vector<Vec3> places) {
  const auto& cell = *quadratic_of(type);
  const size_t nodes = places.size();
  const double size = stage::measure(*stage::shape_of(type), places).size;
  complete(cell, places);
  std::vector<double> weights;
  weigh_points(cell, places, size, weights);
  return node_integrals(cell, nodes, weights);
}

}  // namespace

TEST_CASE("nodes of straight cells weigh what their interpolation integrates to") {
  const auto check = [](uint8_t type, std::vector<std::pair<size_t, double>> runs) {
    CAPTURE(type);
    const auto found = integrals(type, reference(type));
    const double sum = std::accumulate(found.begin(), found.end(), 0.0);
    size_t at = 0;
    for (const auto& [count, share] : runs)
      for (size_t i = 0; i < count; ++i, ++at)
        CHECK(found[at] / sum == doctest::Approx(share).epsilon(1e-12).scale(1));
    CHECK(at == found.size());
  };
  check(21, {{2, 1.0 / 6}, {1, 2.0 / 3}});  // Simpson's rule
  check(22, {{3, 0}, {3, 1.0 / 3}});
  check(34, {{3, 1.0 / 20}, {3, 2.0 / 15}, {1, 9.0 / 20}});
  check(23, {{4, -1.0 / 12}, {4, 1.0 / 3}});
  check(28, {{4, 1.0 / 36}, {4, 1.0 / 9}, {1, 4.0 / 9}});
  check(30, {{4, 1.0 / 12}, {2, 1.0 / 3}});
  check(24, {{4, -1.0 / 20}, {6, 1.0 / 5}});
  check(25, {{8, -1.0 / 8}, {12, 1.0 / 6}});
  check(29, {{8, 1.0 / 216}, {12, 1.0 / 54}, {6, 2.0 / 27}, {1, 8.0 / 27}});
}

TEST_CASE("integrals of coordinates give the centroid that faces give") {
  for (const uint8_t type : all_types) {
    if (type == 27) continue;  // pyramids are taken as linear ones
    CAPTURE(type);
    const auto& shape = *stage::shape_of(type);
    const auto places = bent(reference(type), shape.dimensions);
    const auto wanted = stage::measure(shape, places);
    const auto found = integrals(type, places);
    Vec3 centroid{};
    for (size_t n = 0; n < places.size(); ++n)
      centroid = centroid + found[n] / wanted.size * places[n];
    for (size_t d = 0; d < 3; ++d)
      CHECK(centroid[d] == doctest::Approx(wanted.centroid[d]).epsilon(1e-12).scale(1));
  }
  const auto straight = reference(27);
  const auto found = integrals(27, straight);
  double height = 0;
  for (size_t n = 0; n < straight.size(); ++n) height += found[n] * straight[n][2];
  CHECK(height * 3 == doctest::Approx(0.25));  // of a third of a cube
}

TEST_CASE("smaller cells fill a cell, and their nodes are where its interpolation has them") {
  for (const uint8_t type : all_types) {
    CAPTURE(type);
    const auto& cell = *quadratic_of(type);
    const auto& shape = *stage::shape_of(type);
    // A quadratic function of places is what all types have in common, but for the band.
    const auto f = [&](const Vec3& p) {
      return 1 + 2 * p[0] - p[1] + 3 * p[2] +
             (type == 30 || type == 31 ? p[0] * p[0] : p[0] * p[1] - 2 * p[1] * p[1] + p[2] * p[0]);
    };
    auto places = reference(type);
    std::vector<double> values;
    for (const auto& p : places) values.push_back(f(p));
    complete(cell, places);
    complete(cell, values);
    if (type != 27)
      for (size_t n = 0; n < places.size(); ++n)
        CHECK(values[n] == doctest::Approx(f(places[n])).epsilon(1e-12).scale(1));
    double volume = 0;
    for (const auto& part : cell.parts) {
      std::vector<Vec3> corners;
      for (const uint8_t n : part.nodes) corners.push_back(places[n]);
      const double size = stage::measure(*stage::shape_of(part.type), corners).size;
      CHECK(std::abs(size) > 0);
      volume += std::abs(size);
    }
    CHECK(volume == doctest::Approx(stage::measure(shape, reference(type)).size).epsilon(1e-12));
  }
}

TEST_CASE("a plane through a quadratic cell shows what is in the middle of its edges") {
  // One tetrahedron whose corners have 0 and whose other nodes have 1.
  const auto at = reference(24);
  std::vector<double> places;
  for (const auto& p : at) places.insert(places.end(), {p[0], p[1], p[2]});
  std::vector<uint8_t> types = {24};
  std::vector<int64_t> offsets = {0, 10}, points(10);
  std::iota(points.begin(), points.end(), 0);
  pillion_mesh mesh{};
  mesh.kind = PILLION_UNSTRUCTURED;
  mesh.axes = 3;
  pillion_connectivity cells{};
  cells.types = types.data();
  cells.offsets = offsets.data();
  cells.points = points.data();
  pillion_array coordinates{};
  coordinates.data = places.data();
  coordinates.type = PILLION_FLOAT64;
  coordinates.components = 3;
  coordinates.strides[0] = 24;
  coordinates.strides[3] = 8;
  pillion_block raw{};
  raw.cells = {1, 1};
  raw.points.owned = raw.points.total = 10;
  raw.connectivity = &cells;
  raw.coordinates = &coordinates;
  CellPieces pieces(mesh, stage::Block(&raw));
  double volume = 0, most = 0;
  for (const auto& piece : pieces.tetrahedra(0, [](int64_t p) { return p < 4 ? 0.0 : 1.0; })) {
    const auto& p = piece.points;
    volume += piece.sign / 6 *
              std::abs(dot(p[1].place - p[0].place,
                           cross(p[2].place - p[0].place, p[3].place - p[0].place)));
    for (const auto& corner : p) most = std::max(most, corner.value);
  }
  CHECK(volume == doctest::Approx(1.0 / 6));
  CHECK(most == 1.5);  // in the middle, by its interpolation
}

TEST_CASE("nodes in a wrong order are found, and those at a quarter of an edge are not") {
  for (const uint8_t type : all_types) {
    CAPTURE(type);
    const auto& shape = *stage::shape_of(type);
    const auto places = bent(reference(type), shape.dimensions);
    CHECK_FALSE(stage::misplaced_point(shape, places));
    size_t corners = type == 21 ? 2 : 0;
    for (const auto& face : shape.faces)
      for (size_t i = 0; i < face.corners; ++i)
        corners = std::max<size_t>(corners, face.points[i] + size_t{1});
    // Any two nodes that change places, in cells that are flat, too.
    for (const double height : {1.0, 0.01})
      for (size_t a = corners; a < places.size(); ++a)
        for (size_t b = a + 1; b < places.size(); ++b) {
          auto wrong = height == 1 ? places : reference(type);
          for (auto& p : wrong) p[2] *= height;
          CHECK_FALSE(stage::misplaced_point(shape, wrong));
          std::swap(wrong[a], wrong[b]);
          CHECK(stage::misplaced_point(shape, wrong));
        }
    if (type == 21 || type == 30 || type == 31) continue;
    auto quarter = places;
    const auto& face = shape.faces[0];
    const auto &end = places[face.points[0]], &other = places[face.points[1]];
    quarter[face.points[face.corners]] = 0.75 * end + 0.25 * other;
    CHECK_FALSE(stage::misplaced_point(shape, quarter));
  }
  const auto found = stage::misplaced_point(*stage::shape_of(24), [] {
    auto places = reference(24);
    std::swap(places[4], places[9]);
    return places;
  }());
  REQUIRE(found);
  CHECK(found->sentence() == " whose point 4 is not between its points 0 and 1");
}
