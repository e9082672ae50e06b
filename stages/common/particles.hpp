// SPDX-License-Identifier: BSD-3-Clause
// Particles as time correlations see them: sorted by key, each with one vector (a position or a
// velocity), a mass where it is needed, and the species it belongs to. Also what can be said of
// them without asking other ranks: whether they make sense, and sums weighted by mass.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "domain.hpp"
#include "species.hpp"
#include "sums.hpp"

namespace pillion::stages {

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

/// Sum of masses, and of mass times vector.
using Weighted = std::array<double, 4>;

/// Over the particles that belong to any of the species in `members`.
inline Weighted weigh(const Particles& p, uint64_t members) {
  const auto mass = [&](int64_t i) { return (p.member[i] & members) != 0 ? p.mass[i] : 0.0; };
  Weighted sum{};
  sum[0] = sum_of(p.size(), mass);
  for (int axis = 0; axis < 3; ++axis)
    sum[axis + 1] = sum_of(p.size(), [&](int64_t i) { return mass(i) * p.vector[axis][i]; });
  return sum;
}

/// The centre of mass, or its velocity; zero if there is no mass.
inline std::array<double, 3> centre(const Weighted& sum) {
  if (sum[0] == 0) return {};
  return {sum[1] / sum[0], sum[2] / sum[0], sum[3] / sum[0]};
}

}  // namespace pillion::stages
