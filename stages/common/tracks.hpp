// SPDX-License-Identifier: BSD-3-Clause
// Particles followed through time: their positions and velocities in order of ids, how they are
// saved and restored, the origins of time that displacements count from, and centres of mass that
// species have in common.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lags.hpp"
#include "particles.hpp"
#include "sums.hpp"

namespace pillion::stages {

// A track is the vectors of one species at one time, sorted by key; a key is a particle or, for
// molecules, a molecule that stands for its centre of mass. Tracks of different times are compared
// key by key: at once if their keys are the same, by a merge if particles came or went.

enum class Per { particle, molecule };

struct Track {
  std::shared_ptr<const std::vector<int64_t>> keys;
  std::shared_ptr<const Vectors> vectors;
};

/// One track for each species, and perhaps one of all their particles.
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

inline Growing particles_of(const Particles& p, uint64_t bits) {
  Growing out;
  for (int64_t i = 0; i < p.size(); ++i)
    if ((p.member[i] & bits) != 0)
      out.add(p.key[i], p.vector[0][i], p.vector[1][i], p.vector[2][i]);
  return out;
}

/// Centres of mass of each molecule's particles that belong to any of the species. Molecule 0 is
/// none.
inline Growing molecules_of(const Particles& p, uint64_t bits) {
  Growing out;
  for (int64_t i = 0; i < p.size();) {
    const int64_t molecule = p.key[i];
    Weighted sum{};
    for (; i < p.size() && p.key[i] == molecule; ++i) {
      if ((p.member[i] & bits) == 0) continue;
      sum[0] += p.mass[i];
      for (int axis = 0; axis < 3; ++axis) sum[axis + 1] += p.mass[i] * p.vector[axis][i];
    }
    const auto [x, y, z] = centre(sum);
    if (molecule != 0 && sum[0] > 0) out.add(molecule, x, y, z);
  }
  return out;
}

}  // namespace detail

/// The tracks of particles as they are now, `with_all` of them in one more. Keys that are those of
/// `previous` are shared with it.
inline Snapshot snapshot_of(const Particles& particles, size_t species, Per per,
                            const Snapshot& previous, bool with_all = false) {
  Snapshot out;
  for (size_t s = 0; s < species + (with_all ? 1 : 0); ++s) {
    const uint64_t bits = s < species ? uint64_t{1} << s : ~uint64_t{0};
    auto found = per == Per::particle ? detail::particles_of(particles, bits)
                                      : detail::molecules_of(particles, bits);
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

// Time origins: the publications that later ones are compared with. Either the first one alone, or
// a new one every N publications; the latest few are kept. Sampling is done on the particles that
// this rank owns; adding up over ranks is the caller's.

/// Where the frame of reference is: subtracted from the vectors of a species.
using Centre = std::array<double, 3>;

struct Origin {
  int64_t step = 0;
  double time = 0;
  Snapshot tracks;
};

struct OriginSchedule {
  bool only_first = false;
  int64_t every = 1;  ///< publications
  int64_t keep = 1;
};

class Origins {
 public:
  explicit Origins(OriginSchedule schedule) : schedule_(schedule) {}

  /// Whether publication number `publication` (from 0) becomes an origin.
  [[nodiscard]] bool due(int64_t publication) const {
    return schedule_.only_first ? kept_.empty() : publication % schedule_.every == 0;
  }
  /// Keeps an origin; the oldest goes if they are too many.
  void add(Origin origin) {
    kept_.push_back(std::move(origin));
    if (!schedule_.only_first && static_cast<int64_t>(kept_.size()) > schedule_.keep)
      kept_.pop_front();
  }
  void clear() { kept_.clear(); }
  [[nodiscard]] const std::deque<Origin>& kept() const { return kept_; }
  [[nodiscard]] std::deque<Origin>& kept() { return kept_; }

 private:
  OriginSchedule schedule_;
  std::deque<Origin> kept_;
};

/// Adds up one species' terms of now and then, which have the same keys.
using Kernel = Moment (*)(const Vectors& now, const Vectors& then, const Centre& centre_now,
                          const Centre& centre_then);

/// Compares the track now with that of an origin. Equal keys are made one, so that the next
/// comparison is a comparison of pointers.
inline Moment sample(Kernel kernel, const Track& now, Track& then, const Centre& centre_now,
                     const Centre& centre_then) {
  if (now.keys != then.keys && *now.keys == *then.keys) then.keys = now.keys;
  if (now.keys == then.keys) return kernel(*now.vectors, *then.vectors, centre_now, centre_then);
  const auto [a, b] = matched(now, then);
  return kernel(a, b, centre_now, centre_then);
}

// Centres of mass, now and at another time, of the particles that are there at both. Where others
// have left or come, or a publication is coarse, the centre of all that is there is that of another
// set, which may lie far away although nothing moved; only a set compared with itself tells a
// drift.

/// Sum of masses, of mass times vector now, and of mass times vector then.
using WeightedTwice = std::array<double, 7>;

/// Over the particles whose membership `chosen` accepts and whose key the track has too.
template <class Chosen>
WeightedTwice weigh_common(const Particles& now, const Track& then, Chosen&& chosen) {
  std::vector<std::pair<int64_t, int64_t>> common;
  const auto& keys = *then.keys;
  const auto size = static_cast<int64_t>(keys.size());
  for (int64_t i = 0, j = 0; i < now.size(); ++i) {
    if (!chosen(now.member[i])) continue;
    while (j < size && keys[j] < now.key[i]) ++j;
    if (j < size && keys[j] == now.key[i]) common.emplace_back(i, j);
  }
  const auto count = static_cast<int64_t>(common.size());
  WeightedTwice sum{sum_of(count, [&](int64_t n) { return now.mass[common[n].first]; })};
  for (int axis = 0; axis < 3; ++axis) {
    const auto &a = now.vector[axis], &b = (*then.vectors)[axis];
    const auto weighted = [&](const auto& values, int64_t particle, int64_t place) {
      return now.mass[particle] * values[place];
    };
    sum[axis + 1] =
        sum_of(count, [&](int64_t n) { return weighted(a, common[n].first, common[n].first); });
    sum[axis + 4] =
        sum_of(count, [&](int64_t n) { return weighted(b, common[n].first, common[n].second); });
  }
  return sum;
}

/// One for each species.
inline std::vector<WeightedTwice> weigh_common(const Particles& now,
                                               std::span<const Track> species) {
  std::vector<WeightedTwice> out;
  for (size_t s = 0; s < species.size(); ++s)
    out.push_back(weigh_common(now, species[s],
                               [bit = uint64_t{1} << s](uint64_t m) { return (m & bit) != 0; }));
  return out;
}

/// Of all particles of any species, given their track.
inline WeightedTwice weigh_all(const Particles& now, const Track& all) {
  return weigh_common(now, all, [](uint64_t member) { return member != 0; });
}

/// The centres now and then; zero if there is no mass.
inline std::pair<Centre, Centre> centres(const WeightedTwice& sum) {
  return {centre({sum[0], sum[1], sum[2], sum[3]}), centre({sum[0], sum[4], sum[5], sum[6]})};
}

}  // namespace pillion::stages
