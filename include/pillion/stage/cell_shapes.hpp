// SPDX-License-Identifier: BSD-3-Clause
// Cells of unstructured meshes by themselves: the shapes that VTK numbers, their faces, and their
// volume, area or length with the centroid. Plain numbers: nothing here knows of blocks or fields.
//
// Everything is an integral over the surface of the cell. By the divergence theorem the volume is
// the integral of x.n / 3 over the faces, and that of x is the integral of x (x.n) / 4, with x from
// any fixed point.
//
// A face of straight edges is integrated in triangles about the mean of its points. Two cells with
// a common face then leave no gap, also if the face is warped. On four points this is exact for the
// bilinear face, so a hexahedron has the volume of its trilinear map (J. Grandy: Efficient
// computation of volume of hexahedral cells, UCRL-ID-128886, 1997, "tetrakis hexahedron").
//
// A face of curved edges is integrated over its quadratic map, at Gauss points. The volume is exact
// for the isoparametric cell, whose faces these maps are.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pillion::stage {

/// A place or a direction.
struct Vec3 {
  double x[3]{};
  [[nodiscard]] double operator[](size_t d) const { return x[d]; }
  [[nodiscard]] double& operator[](size_t d) { return x[d]; }
};

inline Vec3 operator+(const Vec3& a, const Vec3& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}
inline Vec3 operator-(const Vec3& a, const Vec3& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
inline Vec3 operator*(double f, const Vec3& a) { return {f * a[0], f * a[1], f * a[2]}; }
inline double dot(const Vec3& a, const Vec3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
inline double length_of(const Vec3& a) { return std::sqrt(dot(a, a)); }
inline Vec3 mean_of(std::span<const Vec3> points) {
  Vec3 sum{};
  for (const auto& p : points) sum = sum + p;
  return points.empty() ? sum : 1 / static_cast<double>(points.size()) * sum;
}

/// A face, or a cell of two dimensions. Its corners come in order, then the points at the middle of
/// its edges, that between the first two corners first, then the one at its centre.
struct FaceShape {
  uint8_t corners;
  uint8_t count;  ///< of points; more than corners if edges are curved
  std::array<uint8_t, 9> points;
};

/// What VTK calls the type of a cell.
struct CellShape {
  uint8_t type;
  const char* name;
  int32_t dimensions;
  int32_t points;                      ///< 0 if cells have any number
  bool either_way = false;             ///< its points have been numbered in both senses
  std::span<const FaceShape> faces{};  ///< their normals point out of the cell
};

constexpr uint8_t polyhedron_type = 42;

namespace detail {

// Faces as VTK 9.7 has them: vtkTetra::GetFaceArray() and its like.

template <class... Points>
constexpr FaceShape face(int corners, Points... points) {
  return {static_cast<uint8_t>(corners),
          static_cast<uint8_t>(sizeof...(points)),
          {static_cast<uint8_t>(points)...}};
}

inline constexpr FaceShape triangle[] = {face(3, 0, 1, 2)};
inline constexpr FaceShape pixel[] = {face(4, 0, 1, 3, 2)};
inline constexpr FaceShape quad[] = {face(4, 0, 1, 2, 3)};
inline constexpr FaceShape tetra[] = {face(3, 0, 1, 3), face(3, 1, 2, 3), face(3, 2, 0, 3),
                                      face(3, 0, 2, 1)};
inline constexpr FaceShape voxel[] = {face(4, 0, 4, 6, 2), face(4, 1, 3, 7, 5),
                                      face(4, 0, 1, 5, 4), face(4, 2, 6, 7, 3),
                                      face(4, 0, 2, 3, 1), face(4, 4, 5, 7, 6)};
inline constexpr FaceShape hexahedron[] = {face(4, 0, 4, 7, 3), face(4, 1, 2, 6, 5),
                                           face(4, 0, 1, 5, 4), face(4, 3, 7, 6, 2),
                                           face(4, 0, 3, 2, 1), face(4, 4, 5, 6, 7)};
inline constexpr FaceShape wedge[] = {face(3, 0, 2, 1), face(3, 3, 4, 5), face(4, 0, 1, 4, 3),
                                      face(4, 1, 2, 5, 4), face(4, 2, 0, 3, 5)};
inline constexpr FaceShape pyramid[] = {face(4, 0, 3, 2, 1), face(3, 0, 1, 4), face(3, 1, 2, 4),
                                        face(3, 2, 3, 4), face(3, 3, 0, 4)};
inline constexpr FaceShape pentagonal_prism[] = {
    face(5, 0, 4, 3, 2, 1), face(5, 5, 6, 7, 8, 9), face(4, 0, 1, 6, 5), face(4, 1, 2, 7, 6),
    face(4, 2, 3, 8, 7),    face(4, 3, 4, 9, 8),    face(4, 4, 0, 5, 9)};
inline constexpr FaceShape hexagonal_prism[] = {
    face(6, 0, 5, 4, 3, 2, 1), face(6, 6, 7, 8, 9, 10, 11), face(4, 0, 1, 7, 6),
    face(4, 1, 2, 8, 7),       face(4, 2, 3, 9, 8),         face(4, 3, 4, 10, 9),
    face(4, 4, 5, 11, 10),     face(4, 5, 0, 6, 11)};
inline constexpr FaceShape quadratic_triangle[] = {face(3, 0, 1, 2, 3, 4, 5)};
inline constexpr FaceShape biquadratic_triangle[] = {face(3, 0, 1, 2, 3, 4, 5, 6)};
inline constexpr FaceShape quadratic_quad[] = {face(4, 0, 1, 2, 3, 4, 5, 6, 7)};
inline constexpr FaceShape biquadratic_quad[] = {face(4, 0, 1, 2, 3, 4, 5, 6, 7, 8)};
inline constexpr FaceShape quadratic_linear_quad[] = {face(4, 0, 1, 2, 3, 4, 5)};
inline constexpr FaceShape quadratic_tetra[] = {
    face(3, 0, 1, 3, 4, 8, 7), face(3, 1, 2, 3, 5, 9, 8), face(3, 2, 0, 3, 6, 7, 9),
    face(3, 0, 2, 1, 6, 5, 4)};
inline constexpr FaceShape quadratic_hexahedron[] = {
    face(4, 0, 4, 7, 3, 16, 15, 19, 11), face(4, 1, 2, 6, 5, 9, 18, 13, 17),
    face(4, 0, 1, 5, 4, 8, 17, 12, 16),  face(4, 3, 7, 6, 2, 19, 14, 18, 10),
    face(4, 0, 3, 2, 1, 11, 10, 9, 8),   face(4, 4, 5, 6, 7, 12, 13, 14, 15)};
inline constexpr FaceShape biquadratic_hexahedron[] = {
    face(4, 0, 4, 7, 3, 16, 15, 19, 11, 20), face(4, 1, 2, 6, 5, 9, 18, 13, 17, 21),
    face(4, 0, 1, 5, 4, 8, 17, 12, 16, 22),  face(4, 3, 7, 6, 2, 19, 14, 18, 10, 23),
    face(4, 0, 3, 2, 1, 11, 10, 9, 8),       face(4, 4, 5, 6, 7, 12, 13, 14, 15)};
inline constexpr FaceShape triquadratic_hexahedron[] = {
    face(4, 0, 4, 7, 3, 16, 15, 19, 11, 20), face(4, 1, 2, 6, 5, 9, 18, 13, 17, 21),
    face(4, 0, 1, 5, 4, 8, 17, 12, 16, 22),  face(4, 3, 7, 6, 2, 19, 14, 18, 10, 23),
    face(4, 0, 3, 2, 1, 11, 10, 9, 8, 24),   face(4, 4, 5, 6, 7, 12, 13, 14, 15, 25)};
inline constexpr FaceShape quadratic_wedge[] = {
    face(3, 0, 2, 1, 8, 7, 6), face(3, 3, 4, 5, 9, 10, 11), face(4, 0, 1, 4, 3, 6, 13, 9, 12),
    face(4, 1, 2, 5, 4, 7, 14, 10, 13), face(4, 2, 0, 3, 5, 8, 12, 11, 14)};
inline constexpr FaceShape quadratic_linear_wedge[] = {
    face(3, 0, 2, 1, 8, 7, 6), face(3, 3, 4, 5, 9, 10, 11), face(4, 0, 1, 4, 3, 6, 9),
    face(4, 1, 2, 5, 4, 7, 10), face(4, 2, 0, 3, 5, 8, 11)};
inline constexpr FaceShape biquadratic_wedge[] = {
    face(3, 0, 2, 1, 8, 7, 6), face(3, 3, 4, 5, 9, 10, 11), face(4, 0, 1, 4, 3, 6, 13, 9, 12, 15),
    face(4, 1, 2, 5, 4, 7, 14, 10, 13, 16), face(4, 2, 0, 3, 5, 8, 12, 11, 14, 17)};
inline constexpr FaceShape quadratic_pyramid[] = {
    face(4, 0, 3, 2, 1, 8, 7, 6, 5), face(3, 0, 1, 4, 5, 10, 9), face(3, 1, 2, 4, 6, 11, 10),
    face(3, 2, 3, 4, 7, 12, 11), face(3, 3, 0, 4, 8, 9, 12)};

inline constexpr CellShape shapes[] = {
    {0, "empty cell", 0, 0},
    {1, "vertex", 0, 1},
    {2, "poly-vertex", 0, 0},
    {3, "line", 1, 2},
    {4, "poly-line", 1, 0},
    {5, "triangle", 2, 3, true, triangle},
    {6, "triangle strip", 2, 0},
    {7, "polygon", 2, 0},
    {8, "pixel", 2, 4, true, pixel},
    {9, "quadrilateral", 2, 4, true, quad},
    {10, "tetrahedron", 3, 4, false, tetra},
    {11, "voxel", 3, 8, false, voxel},
    {12, "hexahedron", 3, 8, false, hexahedron},
    // The normal of points 0, 1, 2 points inward in VTK 9.7, and pointed outward in versions
    // before.
    {13, "wedge", 3, 6, true, wedge},
    {14, "pyramid", 3, 5, false, pyramid},
    {15, "pentagonal prism", 3, 10, false, pentagonal_prism},
    {16, "hexagonal prism", 3, 12, false, hexagonal_prism},
    {21, "quadratic edge", 1, 3},
    {22, "quadratic triangle", 2, 6, true, quadratic_triangle},
    {23, "quadratic quadrilateral", 2, 8, true, quadratic_quad},
    {24, "quadratic tetrahedron", 3, 10, false, quadratic_tetra},
    {25, "quadratic hexahedron", 3, 20, false, quadratic_hexahedron},
    {26, "quadratic wedge", 3, 15, true, quadratic_wedge},
    {27, "quadratic pyramid", 3, 13, false, quadratic_pyramid},
    {28, "biquadratic quadrilateral", 2, 9, true, biquadratic_quad},
    {29, "triquadratic hexahedron", 3, 27, false, triquadratic_hexahedron},
    {30, "quadratic linear quadrilateral", 2, 6, true, quadratic_linear_quad},
    {31, "quadratic linear wedge", 3, 12, true, quadratic_linear_wedge},
    {32, "biquadratic quadratic wedge", 3, 18, true, biquadratic_wedge},
    {33, "biquadratic quadratic hexahedron", 3, 24, false, biquadratic_hexahedron},
    {34, "biquadratic triangle", 2, 7, true, biquadratic_triangle},
    {polyhedron_type, "polyhedron", 3, 0, true},
};

}  // namespace detail

/// Null if this version does not know the volume of such cells.
inline const CellShape* shape_of(uint8_t type) {
  static const auto by_type = [] {
    std::array<const CellShape*, 256> out{};
    for (const auto& shape : detail::shapes) out[shape.type] = &shape;
    return out;
  }();
  return by_type[type];
}

/// Volume, area or length of a cell, or its number of points if it has no dimensions, and the mean
/// place in it.
struct CellMeasure {
  double size = 0;
  Vec3 centroid{};
};

namespace detail {

/// Points and weights of Gauss-Legendre quadrature on [-1, 1], exact for polynomials of degree 7.
inline constexpr std::array<double, 4> gauss_points = {-0.8611363115940526, -0.3399810435848563,
                                                       0.3399810435848563, 0.8611363115940526};
inline constexpr std::array<double, 4> gauss_weights = {0.3478548451374538, 0.6521451548625461,
                                                        0.6521451548625461, 0.3478548451374538};

/// A place of a curved face, and how it changes along two parameters.
struct SurfacePoint {
  Vec3 at{}, along_u{}, along_v{};
  double weight = 0;
  void add(const Vec3& point, double n, double du, double dv) {
    at = at + n * point;
    along_u = along_u + du * point;
    along_v = along_v + dv * point;
  }
};

/// On three corners and what lies between them; O. C. Zienkiewicz, R. L. Taylor: The Finite Element
/// Method, "quadratic triangle". The square of Gauss points is folded onto the triangle.
template <class Use>
void integrate_triangle(std::span<const Vec3> p, Use&& use) {
  const bool has_centre = p.size() == 7;
  for (size_t a = 0; a < 4; ++a)
    for (size_t b = 0; b < 4; ++b) {
      const double l1 = (1 + gauss_points[a]) / 2, l2 = (1 + gauss_points[b]) / 2 * (1 - l1);
      const std::array<double, 3> l = {1 - l1 - l2, l1, l2};
      constexpr std::array<std::array<double, 2>, 3> slope = {{{-1, -1}, {1, 0}, {0, 1}}};
      SurfacePoint out;
      out.weight = gauss_weights[a] * gauss_weights[b] / 4 * (1 - l1);
      for (size_t c = 0; c < 3; ++c) {
        const size_t d = (c + 1) % 3;
        out.add(p[c], l[c] * (2 * l[c] - 1), (4 * l[c] - 1) * slope[c][0],
                (4 * l[c] - 1) * slope[c][1]);
        out.add(p[3 + c], 4 * l[c] * l[d], 4 * (l[c] * slope[d][0] + l[d] * slope[c][0]),
                4 * (l[c] * slope[d][1] + l[d] * slope[c][1]));
      }
      if (has_centre) {
        // A bubble for the centre, and for the other points what keeps them apart from it.
        const Vec3 bubble = 27.0 * p[6] + 3.0 * (p[0] + p[1] + p[2]) - 12.0 * (p[3] + p[4] + p[5]);
        const double du = l[2] * (l[0] - l[1]), dv = l[1] * (l[0] - l[2]);
        out.add(bubble, l[0] * l[1] * l[2], du, dv);
      }
      use(out);
    }
}

/// On a square of nine points, by products of quadratic polynomials.
template <class Use>
void integrate_square(const std::array<Vec3, 9>& p, Use&& use) {
  // Points 0 to 8 by the corners' order, as columns and rows of -1, 0, 1.
  constexpr std::array<std::array<size_t, 2>, 9> places = {
      {{0, 0}, {2, 0}, {2, 2}, {0, 2}, {1, 0}, {2, 1}, {1, 2}, {0, 1}, {1, 1}}};
  const auto value = [](double x) { return Vec3{x * (x - 1) / 2, 1 - x * x, x * (x + 1) / 2}; };
  const auto slope = [](double x) { return Vec3{x - 0.5, -2 * x, x + 0.5}; };
  for (size_t a = 0; a < 4; ++a)
    for (size_t b = 0; b < 4; ++b) {
      const Vec3 nu = value(gauss_points[a]), nv = value(gauss_points[b]);
      const Vec3 du = slope(gauss_points[a]), dv = slope(gauss_points[b]);
      SurfacePoint out;
      out.weight = gauss_weights[a] * gauss_weights[b];
      for (size_t n = 0; n < 9; ++n) {
        const auto [i, j] = places[n];
        out.add(p[n], nu[i] * nv[j], du[i] * nv[j], nu[i] * dv[j]);
      }
      use(out);
    }
}

/// All nine points of a curved face with four corners. Where there is no point in the middle of an
/// edge, it is straight; without a centre the map is that of eight points ("serendipity").
inline std::array<Vec3, 9> square_of(std::span<const Vec3> p) {
  std::array<Vec3, 9> out{};
  std::copy_n(p.begin(), std::min<size_t>(p.size(), 9), out.begin());
  if (p.size() == 6) {
    out[6] = p[5];
    out[5] = 0.5 * (p[1] + p[2]);
    out[7] = 0.5 * (p[3] + p[0]);
  }
  if (p.size() < 9)
    out[8] = 0.5 * (out[4] + out[5] + out[6] + out[7]) - 0.25 * (out[0] + out[1] + out[2] + out[3]);
  return out;
}

/// Calls use(const SurfacePoint&) at the Gauss points of a face with curved edges.
template <class Use>
void integrate_curved(size_t corners, std::span<const Vec3> points, Use&& use) {
  if (corners == 3) integrate_triangle(points, use);
  else integrate_square(square_of(points), use);
}

/// Calls use(a, b, c) for triangles of a face with straight edges, about the mean of its points.
template <class Use>
void triangles_of(std::span<const Vec3> p, Use&& use) {
  if (p.size() == 3) return use(p[0], p[1], p[2]);
  const Vec3 centre = mean_of(p);
  for (size_t i = 0; i < p.size(); ++i) use(centre, p[i], p[(i + 1) % p.size()]);
}

/// Sums of what the faces of a cell contribute to its volume. Places are from a point near the
/// cell, so that digits are not lost where the mesh is far from its origin.
class VolumeSum {
 public:
  explicit VolumeSum(const Vec3& origin) : origin_(origin) {}

  void add_straight(std::span<const Vec3> points, double sign = 1) {
    triangles_of(points, [&](const Vec3& p, const Vec3& q, const Vec3& r) {
      const Vec3 a = p - origin_, b = q - origin_, c = r - origin_;
      const double volume = sign * dot(a, cross(b, c)) / 6;  // of a tetrahedron
      volume_ += volume;
      moment_ = moment_ + volume / 4 * (a + b + c);
    });
  }
  void add_curved(size_t corners, std::span<const Vec3> points) {
    integrate_curved(corners, points, [&](const SurfacePoint& s) {
      const Vec3 x = s.at - origin_;
      const double flux = s.weight * dot(x, cross(s.along_u, s.along_v));
      volume_ += flux / 3;
      moment_ = moment_ + flux / 4 * x;
    });
  }
  [[nodiscard]] CellMeasure result() const {
    if (volume_ == 0) return {0, origin_};
    return {volume_, origin_ + 1 / volume_ * moment_};
  }

 private:
  Vec3 origin_;
  double volume_ = 0;
  Vec3 moment_{};
};

/// Sums of pieces of lines and surfaces.
struct PieceSum {
  double size = 0;
  Vec3 moment{};
  void add(double piece, const Vec3& centre) {
    size += piece;
    moment = moment + piece * centre;
  }
  [[nodiscard]] CellMeasure result(const Vec3& otherwise) const {
    if (size == 0) return {0, otherwise};
    return {size, 1 / size * moment};
  }
};

/// Triangles that are turned against the rest count against it, so a polygon need not be convex.
inline CellMeasure area_of_polygon(std::span<const Vec3> points) {
  Vec3 normal{};
  triangles_of(points, [&](const Vec3& a, const Vec3& b, const Vec3& c) {
    normal = normal + cross(b - a, c - a);
  });
  PieceSum sum;
  triangles_of(points, [&](const Vec3& a, const Vec3& b, const Vec3& c) {
    const Vec3 own = cross(b - a, c - a);
    sum.add(std::copysign(length_of(own) / 2, dot(own, normal)), 1.0 / 3 * (a + b + c));
  });
  return sum.result(mean_of(points));
}

inline CellMeasure area_of_curved(size_t corners, std::span<const Vec3> points) {
  PieceSum sum;
  integrate_curved(corners, points, [&](const SurfacePoint& s) {
    sum.add(s.weight * length_of(cross(s.along_u, s.along_v)), s.at);
  });
  return sum.result(mean_of(points));
}

inline CellMeasure area_of_strip(std::span<const Vec3> p) {
  PieceSum sum;
  for (size_t i = 2; i < p.size(); ++i)
    sum.add(length_of(cross(p[i - 1] - p[i - 2], p[i] - p[i - 2])) / 2,
            1.0 / 3 * (p[i - 2] + p[i - 1] + p[i]));
  return sum.result(mean_of(p));
}

inline CellMeasure length_of_line(std::span<const Vec3> p) {
  PieceSum sum;
  for (size_t i = 1; i < p.size(); ++i)
    sum.add(length_of(p[i] - p[i - 1]), 0.5 * (p[i] + p[i - 1]));
  return sum.result(mean_of(p));
}

/// Two ends and the middle.
inline CellMeasure length_of_curve(std::span<const Vec3> p) {
  PieceSum sum;
  for (size_t g = 0; g < 4; ++g) {
    const double x = gauss_points[g];
    const Vec3 slope = (x - 0.5) * p[0] + (x + 0.5) * p[1] - 2 * x * p[2];
    sum.add(gauss_weights[g] * length_of(slope),
            x * (x - 1) / 2 * p[0] + x * (x + 1) / 2 * p[1] + (1 - x * x) * p[2]);
  }
  return sum.result(mean_of(p));
}

}  // namespace detail

/// Of any cell but a polyhedron, from its points in the order of its shape. A volume is negative if
/// the cell is inverted; where a shape goes `either_way`, it has no sign.
inline CellMeasure measure(const CellShape& shape, std::span<const Vec3> points) {
  const auto curved = [](const FaceShape& f) { return f.count > f.corners; };
  std::array<Vec3, 12> of_face;
  const auto gathered = [&](const FaceShape& face) {
    for (size_t i = 0; i < face.count; ++i) of_face[i] = points[face.points[i]];
    return std::span<const Vec3>(of_face).first(face.count);
  };
  if (shape.dimensions == 0) return {static_cast<double>(points.size()), mean_of(points)};
  if (shape.type == 21) return detail::length_of_curve(points);
  if (shape.dimensions == 1) return detail::length_of_line(points);
  if (shape.type == 6) return detail::area_of_strip(points);
  if (shape.type == 7) return detail::area_of_polygon(points);
  if (shape.dimensions == 2) {
    const auto& face = shape.faces[0];
    return curved(face) ? detail::area_of_curved(face.corners, gathered(face))
                        : detail::area_of_polygon(gathered(face));
  }
  detail::VolumeSum sum(points[0]);
  for (const auto& face : shape.faces) {
    if (curved(face)) sum.add_curved(face.corners, gathered(face));
    else sum.add_straight(gathered(face));
  }
  auto out = sum.result();
  if (shape.either_way) out.size = std::abs(out.size);
  return out;
}

/// A point of a cell that its type has in the middle of an edge or face, but that lies elsewhere.
/// Numbers are those of points in the cell.
struct Misplaced {
  size_t point = 0;
  std::vector<size_t> between;
  [[nodiscard]] std::string sentence() const {
    std::string out = " whose point " + std::to_string(point) + " is not between its points";
    for (size_t i = 0; i < between.size(); ++i)
      out += (i == 0 ? " " : i + 1 == between.size() ? " and " : ", ") + std::to_string(between[i]);
    return out;
  }
};

namespace detail {

/// Points in the middle of edges and faces, by the shape: each with the corners that it is between.
inline std::vector<Misplaced> find_middles(const CellShape& shape) {
  std::vector<Misplaced> out;
  const auto add = [&](size_t point, std::vector<size_t> between) {
    const auto is_it = [&](const Misplaced& one) { return one.point == point; };
    if (std::none_of(out.begin(), out.end(), is_it)) out.push_back({point, std::move(between)});
  };
  if (shape.type == 21) add(2, {0, 1});
  if (shape.type == 29) add(26, {0, 1, 2, 3, 6, 7, 4, 5});  // in the middle of all
  for (const auto& face : shape.faces) {
    const size_t n = face.corners;
    const auto& at = face.points;
    const bool is_band = face.count == 6 && n == 4;  // two of its edges are straight
    for (size_t e = 0; e < n && n + e < face.count; ++e) {
      const size_t first = is_band ? 2 * e : e;
      add(at[n + e], {at[first], at[(first + 1) % n]});
    }
    if (face.count == 2 * n + 1)
      add(at[2 * n], {at.begin(), at.begin() + static_cast<std::ptrdiff_t>(n)});
  }
  return out;
}
inline const std::vector<Misplaced>& middles_of(const CellShape& shape) {
  static const auto by_type = [] {
    std::array<std::vector<Misplaced>, 256> out;
    for (const auto& one : shapes) out[one.type] = find_middles(one);
    return out;
  }();
  return by_type[shape.type];
}

}  // namespace detail

/// The first such point, if there is one. Codes number the points of such cells in different
/// orders, and a wrong one may leave the volume above zero. A point of an edge may lie off its
/// middle, on a curve, or at a quarter of the edge. But it lies neither nearer to a corner, nor
/// three times as near to the middle of another edge.
inline std::optional<Misplaced> misplaced_point(const CellShape& shape,
                                                std::span<const Vec3> points) {
  const auto& all = detail::middles_of(shape);
  if (all.empty() || points.size() != static_cast<size_t>(shape.points)) return {};
  std::array<Vec3, 27> middles;  // no cell has more points
  for (size_t m = 0; m < all.size(); ++m) {
    for (const size_t c : all[m].between) middles[m] = middles[m] + points[c];
    middles[m] = 1 / static_cast<double>(all[m].between.size()) * middles[m];
  }
  for (size_t m = 0; m < all.size(); ++m) {
    const auto& [point, corners] = all[m];
    const double off = length_of(points[point] - middles[m]);
    const double size = length_of(points[corners[0]] - points[corners[corners.size() / 2]]);
    if (off <= 1e-9 * size) continue;  // as in most cells
    for (const size_t c : corners)
      if (off > 1.1 * length_of(points[point] - points[c])) return all[m];
    for (size_t other = 0; other < all.size(); ++other) {
      if (other == m) continue;
      const double near = length_of(points[point] - middles[other]) / off;
      if (near < 1e-4 || (near < 0.3 && off > 0.2 * size)) return all[m];
    }
  }
  return {};
}

/// Whether a cell's volume is below zero by more than flat cells come to by rounding.
inline bool is_inverted(const CellMeasure& cell, std::span<const Vec3> points) {
  if (cell.size >= 0 || points.empty()) return false;
  Vec3 lo = points[0], hi = points[0];
  for (const auto& at : points)
    for (size_t d = 0; d < 3; ++d) {
      lo[d] = std::min(lo[d], at[d]);
      hi[d] = std::max(hi[d], at[d]);
    }
  const double extent = length_of(hi - lo);
  return cell.size <= -1e-12 * extent * extent * extent;
}

// Polyhedra. Two cells may name one face, so it points out of one of them at most: its direction
// follows from the other faces. Each edge is one of two faces, which go along it in
// opposite directions if both point out.

class PolyhedronFaces {
 public:
  void clear() {
    points_.clear();
    starts_.assign(1, 0);
  }
  /// By their numbers, in order around it.
  void add(std::span<const int64_t> points) {
    points_.insert(points_.end(), points.begin(), points.end());
    starts_.push_back(points_.size());
  }
  [[nodiscard]] size_t count() const { return starts_.size() - 1; }
  [[nodiscard]] std::span<const int64_t> operator[](size_t f) const {
    return std::span(points_).subspan(starts_[f], starts_[f + 1] - starts_[f]);
  }
  /// 1 or -1 for each face, so that all of them point out, or all of them in. Empty if the faces do
  /// not close.
  [[nodiscard]] std::vector<double> signs() const {
    struct Edge {
      int64_t lo, hi;
      size_t face;
      double way;
    };
    std::vector<Edge> edges;
    for (size_t f = 0; f < count(); ++f) {
      const auto p = (*this)[f];
      for (size_t i = 0; i < p.size(); ++i) {
        const int64_t a = p[i], b = p[(i + 1) % p.size()];
        edges.push_back({std::min(a, b), std::max(a, b), f, a < b ? 1.0 : -1.0});
      }
    }
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
      return a.lo != b.lo ? a.lo < b.lo : a.hi != b.hi ? a.hi < b.hi : a.face < b.face;
    });
    std::vector<double> out(count(), 0);
    const auto same = [&](size_t e, size_t d) {
      return edges[e].lo == edges[d].lo && edges[e].hi == edges[d].hi;
    };
    for (size_t e = 0; e < edges.size(); e += 2) {
      const bool is_pair =
          e + 1 < edges.size() && same(e, e + 1) && (e + 2 >= edges.size() || !same(e, e + 2));
      if (!is_pair) return {};
    }
    if (out.empty()) return out;
    out[0] = 1;
    // From one face to its neighbours, until nothing changes.
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t e = 0; e < edges.size(); e += 2) {
        const auto &a = edges[e], &b = edges[e + 1];
        if ((out[a.face] == 0) == (out[b.face] == 0)) continue;
        const double turn = a.way == b.way ? -1 : 1;
        if (out[a.face] == 0) out[a.face] = turn * out[b.face];
        else out[b.face] = turn * out[a.face];
        changed = true;
      }
    }
    if (std::count(out.begin(), out.end(), 0.0) > 0) return {};
    return out;
  }

 private:
  std::vector<int64_t> points_;
  std::vector<size_t> starts_ = {0};
};

/// Of a polyhedron; `place(point)` is where one of its points is, `centre` their mean. Where its
/// faces do not close, each is taken to point away from the centre.
template <class Place>
CellMeasure measure(const PolyhedronFaces& faces, const Vec3& centre, Place&& place) {
  detail::VolumeSum sum(centre);
  const auto signs = faces.signs();
  std::vector<Vec3> points;
  for (size_t f = 0; f < faces.count(); ++f) {
    points.clear();
    for (const int64_t p : faces[f]) points.push_back(place(p));
    double sign = signs.empty() ? 1 : signs[f];
    if (signs.empty()) {
      detail::VolumeSum own(centre);
      own.add_straight(points);
      sign = own.result().size < 0 ? -1 : 1;
    }
    sum.add_straight(points, sign);
  }
  auto out = sum.result();
  out.size = std::abs(out.size);
  return out;
}

}  // namespace pillion::stage
