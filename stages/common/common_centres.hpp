// SPDX-License-Identifier: BSD-3-Clause
// Centres of mass, now and at another time, of the particles that are there at both. Of a coarse
// publication the centre of all that is there is that of another set, which may lie far from the
// whole one's although nothing moved; only a set compared with itself tells a drift.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "origins.hpp"
#include "particles.hpp"
#include "sums.hpp"
#include "tracks.hpp"

namespace pillion::stages {

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

/// One for each species; or, `together`, for all particles of any species, each taken once.
inline std::vector<WeightedTwice> weigh_common(const Particles& now, const Snapshot& then,
                                               bool together) {
  std::vector<WeightedTwice> out;
  WeightedTwice all{};
  for (size_t s = 0; s < then.size(); ++s) {
    const uint64_t bit = uint64_t{1} << s;
    const uint64_t looked_at = together ? bit | (bit - 1) : bit;
    out.push_back(weigh_common(now, then[s], [=](uint64_t m) { return (m & looked_at) == bit; }));
    for (size_t i = 0; i < all.size(); ++i) all[i] += out.back()[i];
  }
  if (together) out.assign(then.size(), all);
  return out;
}

/// The centres now and then; zero if there is no mass.
inline std::pair<Centre, Centre> centres(const WeightedTwice& sum) {
  return {centre({sum[0], sum[1], sum[2], sum[3]}), centre({sum[0], sum[4], sum[5], sum[6]})};
}

}  // namespace pillion::stages
