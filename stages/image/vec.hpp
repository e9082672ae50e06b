// SPDX-License-Identifier: BSD-3-Clause
// Points and directions in space.
#pragma once

#include <cmath>

namespace pillion::image {

struct Vec {
  double x = 0, y = 0, z = 0;

  double& operator[](int axis) { return axis == 0 ? x : axis == 1 ? y : z; }
  double operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
};

inline Vec operator+(const Vec& a, const Vec& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vec operator-(const Vec& a, const Vec& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vec operator*(double s, const Vec& a) { return {s * a.x, s * a.y, s * a.z}; }
inline double dot(const Vec& a, const Vec& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vec cross(const Vec& a, const Vec& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline double length(const Vec& a) { return std::sqrt(dot(a, a)); }
/// Of length 1; zero stays zero.
inline Vec unit(const Vec& a) {
  const double l = length(a);
  return l > 0 ? 1 / l * a : a;
}
/// From a (t = 0) to b (t = 1).
inline Vec between(const Vec& a, const Vec& b, double t) { return a + t * (b - a); }

}  // namespace pillion::image
