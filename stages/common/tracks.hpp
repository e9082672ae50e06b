// SPDX-License-Identifier: BSD-3-Clause
// A track is the vectors of one species at one time, sorted by key; a key is a particle or, for
// molecules, a molecule that stands for its centre of mass. Tracks of different times are compared
// key by key: at once if their keys are the same, by a merge if particles came or went.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "particles.hpp"

namespace pillion::stages {

enum class Per { particle, molecule };

struct Track {
  std::shared_ptr<const std::vector<int64_t>> keys;
  std::shared_ptr<const Vectors> vectors;
};

/// One track for each species.
using Snapshot = std::vector<Track>;

namespace detail {

struct Growing {
  std::vector<int64_t> keys;
  Vectors vectors;

  void add(int64_t key, double x, double y, double z) {
    keys.push_back(key);
    vectors[0].push_back(x);
    vectors[1].push_back(y);
    vectors[2].push_back(z);
  }
};

inline Growing particles_of(const Particles& p, uint64_t bit) {
  Growing out;
  for (int64_t i = 0; i < p.size(); ++i)
    if ((p.member[i] & bit) != 0) out.add(p.key[i], p.vector[0][i], p.vector[1][i], p.vector[2][i]);
  return out;
}

/// Centres of mass of each molecule's particles that belong to the species. Molecule 0 is none.
inline Growing molecules_of(const Particles& p, uint64_t bit) {
  Growing out;
  for (int64_t i = 0; i < p.size();) {
    const int64_t molecule = p.key[i];
    Weighted sum{};
    for (; i < p.size() && p.key[i] == molecule; ++i) {
      if ((p.member[i] & bit) == 0) continue;
      sum[0] += p.mass[i];
      for (int axis = 0; axis < 3; ++axis) sum[axis + 1] += p.mass[i] * p.vector[axis][i];
    }
    const auto [x, y, z] = centre(sum);
    if (molecule != 0 && sum[0] > 0) out.add(molecule, x, y, z);
  }
  return out;
}

}  // namespace detail

/// The tracks of particles as they are now. Keys that are those of `previous` are shared with it.
inline Snapshot snapshot_of(const Particles& particles, size_t species, Per per,
                            const Snapshot& previous) {
  Snapshot out;
  for (size_t s = 0; s < species; ++s) {
    const uint64_t bit = uint64_t{1} << s;
    auto found = per == Per::particle ? detail::particles_of(particles, bit)
                                      : detail::molecules_of(particles, bit);
    const bool same = s < previous.size() && *previous[s].keys == found.keys;
    out.push_back({same ? previous[s].keys
                        : std::make_shared<const std::vector<int64_t>>(std::move(found.keys)),
                   std::make_shared<const Vectors>(std::move(found.vectors))});
  }
  return out;
}

/// The vectors of the keys that both tracks have, in the same order.
inline std::pair<Vectors, Vectors> matched(const Track& a, const Track& b) {
  std::pair<Vectors, Vectors> out;
  const auto &ka = *a.keys, &kb = *b.keys;
  for (size_t i = 0, j = 0; i < ka.size() && j < kb.size();) {
    if (ka[i] < kb[j]) ++i;
    else if (kb[j] < ka[i]) ++j;
    else {
      for (int axis = 0; axis < 3; ++axis) {
        out.first[axis].push_back((*a.vectors)[axis][i]);
        out.second[axis].push_back((*b.vectors)[axis][j]);
      }
      ++i, ++j;
    }
  }
  return out;
}

}  // namespace pillion::stages
