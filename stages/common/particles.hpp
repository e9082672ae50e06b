// SPDX-License-Identifier: BSD-3-Clause
// Particles of a block: the domain that they live in, their positions there, and which of them a
// stage selects.
#pragma once

#include <pillion/types.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <pillion/stage.hpp>
#include <vector>

#include "species.hpp"
#include "sums.hpp"

namespace pillion::stages {

// Geometry of the parallelepiped that particles live in: its volume, its widths, and where a
// particle would be had it never been wrapped back into it. The arrangement of edges and tilts is
// that of pillion_domain.

/// One array per axis.
using Vectors = std::array<std::vector<double>, 3>;

inline std::array<double, 3> lengths(const pillion_domain& d) {
  return {d.hi[0] - d.lo[0], d.hi[1] - d.lo[1], d.hi[2] - d.lo[2]};
}

/// 2 or 3. In two, the third direction does not count anywhere below.
inline int dimensions(const pillion_domain& d) { return d.dimensions == 2 ? 2 : 3; }

/// In two dimensions the area.
inline double volume(const pillion_domain& d) {
  const auto [x, y, z] = lengths(d);
  return dimensions(d) == 2 ? x * y : x * y * z;
}

/// Distances between opposite faces; in two dimensions the third is infinite.
inline std::array<double, 3> widths(const pillion_domain& d) {
  const auto [x, y, z] = lengths(d);
  const auto [xy, xz, yz] = std::array{d.tilt[0], d.tilt[1], d.tilt[2]};
  if (dimensions(d) == 2)
    return {x * y / std::hypot(y, xy), y, std::numeric_limits<double>::infinity()};
  const double area_yz = std::hypot(y * z, xy * z, xy * yz - y * xz);
  const double area_xz = x * std::hypot(z, yz);
  return {x * y * z / area_yz, x * y * z / area_xz, z};
}

/// The largest distance at which every particle has at most one image of every other; infinite if
/// nothing is periodic.
inline double nearest_image_range(const pillion_domain& d) {
  double range = std::numeric_limits<double>::infinity();
  const auto width = widths(d);
  for (int axis = 0; axis < dimensions(d); ++axis)
    if (d.periodic[axis]) range = std::min(range, width[axis] / 2);
  return range;
}

/// Adds to each position the period vectors that its image flags count.
inline void unwrap(Vectors& position, const Vectors& image, const pillion_domain& d) {
  const auto [lx, ly, lz] = lengths(d);
  const auto [xy, xz, yz] = std::array{d.tilt[0], d.tilt[1], d.tilt[2]};
  for (size_t i = 0; i < position[0].size(); ++i) {
    const double ix = image[0][i], iy = image[1][i];
    const double iz = dimensions(d) == 2 ? 0 : image[2][i];
    position[0][i] += ix * lx + iy * xy + iz * xz;
    position[1][i] += iy * ly + iz * yz;
    position[2][i] += iz * lz;
  }
}

// Copying the fields of particles out of a block, whatever their element types, into the types that
// kernels work with.

/// One component of the first `count` particles.
template <class T>
std::vector<T> read_component(const stage::Array& array, int64_t count, int32_t component) {
  std::vector<T> out(static_cast<size_t>(count));
  const auto& raw = array;
  array.visit([&](const auto* data) {
    for (int64_t i = 0; i < count; ++i)
      out[i] = static_cast<T>(data[i * raw.strides[0] + component * raw.strides[3]]);
  });
  return out;
}

inline Vectors read_vectors(const stage::Array& array, int64_t count) {
  return {read_component<double>(array, count, 0), read_component<double>(array, count, 1),
          read_component<double>(array, count, 2)};
}

// Particles as time correlations see them: sorted by key, each with one vector (a position or a
// velocity), a mass where it is needed, and the species it belongs to. Also what is known of them
// without asking other ranks: whether they make sense, and sums weighted by mass.

struct Particles {
  std::vector<int64_t> key;
  std::vector<uint64_t> member;  ///< bits of Selection::membership
  Vectors vector;
  std::vector<double> mass;  ///< empty if nothing needs it

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(key.size()); }
};

/// Neighbours with the same key, when sorted.
inline int64_t duplicates(const std::vector<int64_t>& key) {
  int64_t count = 0;
  for (size_t i = 1; i < key.size(); ++i) count += key[i] == key[i - 1] ? 1 : 0;
  return count;
}

/// Masses that cannot weigh anything.
inline int64_t not_positive(const std::vector<double>& mass) {
  int64_t count = 0;
  for (const double m : mass) count += m > 0 ? 0 : 1;
  return count;
}

/// Vectors with a component that is not finite.
inline int64_t not_finite(const Vectors& vectors) {
  int64_t count = 0;
  for (size_t i = 0; i < vectors[0].size(); ++i)
    count +=
        std::isfinite(vectors[0][i]) && std::isfinite(vectors[1][i]) && std::isfinite(vectors[2][i])
            ? 0
            : 1;
  return count;
}

/// Sum of masses, and of mass times vector.
using Weighted = std::array<double, 4>;

/// The centre of mass, or its velocity; zero if there is no mass.
inline std::array<double, 3> centre(const Weighted& sum) {
  if (sum[0] == 0) return {};
  return {sum[1] / sum[0], sum[2] / sum[0], sum[3] / sum[0]};
}

}  // namespace pillion::stages
