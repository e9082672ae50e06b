// SPDX-License-Identifier: BSD-3-Clause
// Volumes, areas, lengths and centroids of cells of every shape, against what is known of the
// reference cells, of maps of them, and of a brute-force integral.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <numbers>
#include <pillion/stage/cell_shapes.hpp>
#include <random>
#include <vector>

using namespace pillion::stage;

namespace {

using Points = std::vector<Vec3>;

/// Corners of a cell of unit size, by VTK's type of the linear cell.
Points corners_of(int type) {
  switch (type) {
    case 3: return {{{0, 0, 0}}, {{1, 0, 0}}};
    case 5: return {{{0, 0, 0}}, {{1, 0, 0}}, {{0, 1, 0}}};
    case 8: return {{{0, 0, 0}}, {{1, 0, 0}}, {{0, 1, 0}}, {{1, 1, 0}}};
    case 9: return {{{0, 0, 0}}, {{1, 0, 0}}, {{1, 1, 0}}, {{0, 1, 0}}};
    case 10: return {{{0, 0, 0}}, {{1, 0, 0}}, {{0, 1, 0}}, {{0, 0, 1}}};
    case 13: return {{{0, 0, 0}}, {{1, 0, 0}}, {{0, 1, 0}}, {{0, 0, 1}}, {{1, 0, 1}}, {{0, 1, 1}}};
    case 14: return {{{0, 0, 0}}, {{1, 0, 0}}, {{1, 1, 0}}, {{0, 1, 0}}, {{0.5, 0.5, 1}}};
    default: break;
  }
  Points out;
  if (type == 11)
    for (int p = 0; p < 8; ++p)
      out.push_back({{double(p & 1), double(p >> 1 & 1), double(p >> 2)}});
  if (type == 12)
    for (const double z : {0.0, 1.0})
      for (const auto& p : corners_of(9)) out.push_back({{p[0], p[1], z}});
  const int sides = type == 15 ? 5 : type == 16 ? 6 : 0;
  for (int level = 0; level < (sides > 0 ? 2 : 0); ++level)
    for (int i = 0; i < sides; ++i) {
      const double angle = 2 * std::numbers::pi * i / sides;
      out.push_back({{std::cos(angle), std::sin(angle), double(level)}});
    }
  return out;
}

const std::map<int, int> linear_of = {{22, 5},  {23, 9},  {24, 10}, {25, 12}, {26, 13},
                                      {27, 14}, {28, 9},  {29, 12}, {30, 9},  {31, 13},
                                      {32, 13}, {33, 12}, {34, 5}};

/// Points of a reference cell: those on edges and faces of a quadratic one lie in their middles.
Points reference(int type) {
  if (!linear_of.contains(type)) return corners_of(type);
  const CellShape& shape = *shape_of(static_cast<uint8_t>(type));
  Points out = corners_of(linear_of.at(type));
  const Points corners = out;
  out.resize(static_cast<size_t>(shape.points), mean_of(corners));
  for (const auto& face : shape.faces) {
    Points of_face;
    for (size_t i = 0; i < face.corners; ++i) of_face.push_back(corners[face.points[i]]);
    const size_t n = face.corners;
    for (size_t i = n; i < face.count && i < 2 * n; ++i) {
      // The quadratic linear quadrilateral has points on its first and third edge alone.
      const size_t edge = face.count == 6 && n == 4 && i == 5 ? 2 : i - n;
      out[face.points[i]] = 0.5 * (of_face[edge] + of_face[(edge + 1) % n]);
    }
    if (face.count == 2 * n + 1) out[face.points[2 * n]] = mean_of(of_face);
  }
  return out;
}

CellMeasure measured(int type, const Points& points) {
  return measure(*shape_of(static_cast<uint8_t>(type)), points);
}

template <class Map>
Points mapped(Points points, Map&& map) {
  for (auto& p : points) p = map(p);
  return points;
}

struct Known {
  double size;
  Vec3 centroid;
};

const double pentagon = 2.5 * std::sin(2 * std::numbers::pi / 5);
const double hexagon = 3 * std::sin(2 * std::numbers::pi / 6);

const std::map<int, Known> known = {
    {3, {1, {{0.5, 0, 0}}}},
    {5, {0.5, {{1.0 / 3, 1.0 / 3, 0}}}},
    {8, {1, {{0.5, 0.5, 0}}}},
    {9, {1, {{0.5, 0.5, 0}}}},
    {10, {1.0 / 6, {{0.25, 0.25, 0.25}}}},
    {11, {1, {{0.5, 0.5, 0.5}}}},
    {12, {1, {{0.5, 0.5, 0.5}}}},
    {13, {0.5, {{1.0 / 3, 1.0 / 3, 0.5}}}},
    {14, {1.0 / 3, {{0.5, 0.5, 0.25}}}},
    {15, {pentagon, {{0, 0, 0.5}}}},
    {16, {hexagon, {{0, 0, 0.5}}}},
};

Known known_of(int type) { return known.at(linear_of.contains(type) ? linear_of.at(type) : type); }

std::vector<int> all_types() {
  std::vector<int> out;
  for (const auto& [type, what] : known) out.push_back(type);
  for (const auto& [type, what] : linear_of) out.push_back(type);
  return out;
}

void check_place(const Vec3& found, const Vec3& expected) {
  for (size_t d = 0; d < 3; ++d)
    CHECK(found[d] == doctest::Approx(expected[d]).epsilon(1e-12).scale(10));
}

}  // namespace

TEST_CASE("reference cells, and affine images of them far from the origin") {
  const std::array<Vec3, 3> rows = {{{{1.2, 0.3, -0.2}}, {{-0.4, 0.9, 0.1}}, {{0.3, 0.2, 1.1}}}};
  const Vec3 offset{{100, -50, 25}};
  const auto map = [&](const Vec3& p) {
    return offset + Vec3{{dot(rows[0], p), dot(rows[1], p), dot(rows[2], p)}};
  };
  const double stretch = dot(rows[0], cross(rows[1], rows[2]));
  const Vec3 ex = map({{1, 0, 0}}) - offset, ey = map({{0, 1, 0}}) - offset;
  for (const int type : all_types()) {
    CAPTURE(type);
    const auto points = reference(type);
    const auto what = known_of(type);
    const auto plain = measured(type, points);
    CHECK(plain.size == doctest::Approx(what.size).epsilon(1e-14));
    check_place(plain.centroid, what.centroid);
    const int dimensions = shape_of(static_cast<uint8_t>(type))->dimensions;
    const double factor = dimensions == 3   ? stretch
                          : dimensions == 2 ? length_of(cross(ex, ey))
                                            : length_of(ex);
    const auto moved = measured(type, mapped(points, map));
    CHECK(moved.size == doctest::Approx(what.size * factor).epsilon(1e-12));
    check_place(moved.centroid, map(what.centroid));
  }
}

TEST_CASE(
    "a cell that is turned inside out has a negative volume, except where both ways are used") {
  for (const int type : all_types()) {
    CAPTURE(type);
    const auto turned = mapped(reference(type), [](const Vec3& p) {
      return Vec3{{-p[0], p[1], p[2]}};
    });
    const bool either = shape_of(static_cast<uint8_t>(type))->either_way ||
                        shape_of(static_cast<uint8_t>(type))->dimensions < 3;
    CHECK(measured(type, turned).size ==
          doctest::Approx((either ? 1 : -1) * known_of(type).size).epsilon(1e-14));
  }
}

TEST_CASE("a warped hexahedron has the volume of its trilinear map") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> shift(-0.2, 0.2);
  auto points = reference(12);
  for (auto& p : points) p = p + Vec3{{shift(random), shift(random), shift(random)}};
  // Two Gauss points along each axis integrate the determinant exactly, and its product with x.
  double volume = 0;
  Vec3 moment{};
  const double g = std::sqrt(0.6);
  const std::array<double, 3> at = {(1 - g) / 2, 0.5, (1 + g) / 2},
                              weight = {5.0 / 18, 8.0 / 18, 5.0 / 18};
  for (size_t i = 0; i < 27; ++i) {
    const Vec3 u{{at[i % 3], at[i / 3 % 3], at[i / 9]}};
    Vec3 x{}, d[3]{};
    const auto corners = reference(12);
    for (size_t c = 0; c < 8; ++c) {
      const auto part = [&](size_t a, bool slope) {
        const bool high = corners[c][a] > 0.5;
        return slope ? (high ? 1.0 : -1.0) : high ? u[a] : 1 - u[a];
      };
      x = x + part(0, false) * part(1, false) * part(2, false) * points[c];
      for (size_t a = 0; a < 3; ++a)
        d[a] = d[a] + part(0, a == 0) * part(1, a == 1) * part(2, a == 2) * points[c];
    }
    const double v =
        weight[i % 3] * weight[i / 3 % 3] * weight[i / 9] * dot(d[0], cross(d[1], d[2]));
    volume += v;
    moment = moment + v * x;
  }
  const auto found = measured(12, points);
  CHECK(found.size == doctest::Approx(volume).epsilon(1e-13));
  // The first moment of a bilinear face is that of its triangles up to second order in the warp.
  for (size_t a = 0; a < 3; ++a)
    CHECK(found.centroid[a] == doctest::Approx(moment[a] / volume).epsilon(0.01));
}

TEST_CASE("curved cells have the volume of their quadratic map") {
  const double a = 0.3, b = 0.4;
  const auto map = [&](const Vec3& p) {
    return Vec3{{p[0] + a * p[1] * p[1], p[1] + b * p[2] * p[0], p[2]}};
  };
  // The determinant is 1 - 2ab yz, whose integral follows from that of yz over the reference cell.
  const std::map<int, double> second = {
      {12, 1.0 / 4}, {10, 1.0 / 120}, {13, 1.0 / 12}, {14, 1.0 / 24}};
  for (const int type : {24, 25, 26, 27, 29, 31, 32, 33}) {
    CAPTURE(type);
    const double expected = known_of(type).size - 2 * a * b * second.at(linear_of.at(type));
    CHECK(measured(type, mapped(reference(type), map)).size ==
          doctest::Approx(expected).epsilon(1e-13));
  }
}

TEST_CASE("areas of curved cells of two dimensions, and lengths of curves") {
  const auto bent = [](const Vec3& p) {  // of determinant 1 - 2xy/5
    return Vec3{{p[0] + 0.2 * p[1] * p[1], p[1] + p[0] * p[0], 0}};
  };
  for (const int type : {22, 34}) {
    CAPTURE(type);  // the integral of xy over the triangle is 1/24
    CHECK(measured(type, mapped(reference(type), bent)).size ==
          doctest::Approx(0.5 - 0.8 / 24).epsilon(1e-13));
  }
  for (const int type : {23, 28}) {
    CAPTURE(type);
    CHECK(measured(type, mapped(reference(type), bent)).size ==
          doctest::Approx(1 - 0.8 / 4).epsilon(1e-13));
  }
  // The parabola y = x^2 from -1 to 1.
  const Points curve = {{{-1, 1, 0}}, {{1, 1, 0}}, {{0, 0, 0}}};
  CHECK(measured(21, curve).size ==
        doctest::Approx(std::sqrt(5.0) + std::asinh(2.0) / 2).epsilon(5e-3));
  CHECK(measured(4, {{{0, 0, 0}}, {{3, 0, 0}}, {{3, 4, 0}}}).size == 7);
}

TEST_CASE("polygons need not be convex, strips are triangles, vertices are points") {
  // A square of side 2 without the square of side 1 at its upper right, in a plane x = z.
  const Points corner = {{{0, 0, 0}}, {{2, 0, 2}}, {{2, 1, 2}},
                         {{1, 1, 1}}, {{1, 2, 1}}, {{0, 2, 0}}};
  const auto found = measured(7, corner);
  CHECK(found.size == doctest::Approx(3 * std::sqrt(2.0)).epsilon(1e-14));
  check_place(found.centroid, {{2.5 / 3, 2.5 / 3, 2.5 / 3}});
  const auto strip = measured(6, {{{0, 0, 1}}, {{0, 1, 1}}, {{1, 0, 1}}, {{1, 1, 1}}, {{2, 0, 1}}});
  CHECK(strip.size == doctest::Approx(1.5).epsilon(1e-14));
  check_place(strip.centroid, {{7.0 / 9, 4.0 / 9, 1}});
  CHECK(measured(1, {{{3, 4, 5}}}).size == 1);
  CHECK(measured(2, {{{3, 4, 5}}, {{5, 4, 5}}}).size == 2);
  CHECK(shape_of(72) == nullptr);  // a Lagrange hexahedron
}

namespace {

CellMeasure polyhedron(const Points& points, const std::vector<std::vector<int64_t>>& faces) {
  PolyhedronFaces all;
  all.clear();
  for (const auto& face : faces) all.add(face);
  return measure(all, mean_of(points), [&](int64_t p) { return points[static_cast<size_t>(p)]; });
}

/// An L of height 1: a prism on the polygon above, which its mean does not see all of.
Points bracket() {
  Points out;
  for (const double z : {0.0, 1.0})
    for (const auto& [x, y] : {std::pair{0., 0.}, {4., 0.}, {4., 1.}, {1., 1.}, {1., 4.}, {0., 4.}})
      out.push_back({{x, y, z}});
  return out;
}

}  // namespace

TEST_CASE("polyhedra, whichever way their faces point") {
  std::vector<std::vector<int64_t>> faces = {{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}};
  for (int64_t i = 0; i < 6; ++i) faces.push_back({i, (i + 1) % 6, 6 + (i + 1) % 6, 6 + i});
  const auto points = bracket();
  for (unsigned turned = 0; turned < 256; ++turned) {
    auto some = faces;
    for (size_t f = 0; f < some.size(); ++f)
      if ((turned >> f & 1) != 0) std::reverse(some[f].begin(), some[f].end());
    const auto found = polyhedron(points, some);
    CHECK(found.size == doctest::Approx(7).epsilon(1e-14));
    check_place(found.centroid, {{(4 * 2 + 3 * 0.5) / 7, (4 * 0.5 + 3 * 2.5) / 7, 0.5}});
  }
}

TEST_CASE("a polyhedron whose faces do not match along an edge") {
  // A unit cube with a point on an edge that one of the two faces does not have.
  auto points = reference(12);
  points.push_back({{0.5, 0, 0}});
  std::vector<std::vector<int64_t>> faces = {{0, 4, 7, 3}, {1, 2, 6, 5}, {0, 8, 1, 5, 4},
                                             {3, 7, 6, 2}, {0, 3, 2, 1}, {4, 5, 6, 7}};
  CHECK(polyhedron(points, faces).size == doctest::Approx(1).epsilon(1e-14));
  std::reverse(faces[1].begin(), faces[1].end());
  CHECK(polyhedron(points, faces).size == doctest::Approx(1).epsilon(1e-14));
}
