// SPDX-License-Identifier: BSD-3-Clause
// Medians of values that lie on many peers: exact, whatever peer has which, by narrowing down where
// among all doubles they are. No values move.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <pillion/stage.hpp>
#include <span>
#include <vector>

namespace pillion::stages {

namespace detail {

/// Doubles in their order, as integers.
inline int64_t rank_of(double value) {
  const auto bits = std::bit_cast<int64_t>(value);
  return bits >= 0 ? bits : std::numeric_limits<int64_t>::min() - bits;
}
inline double of_rank(int64_t rank) {
  return std::bit_cast<double>(rank >= 0 ? rank : std::numeric_limits<int64_t>::min() - rank);
}

/// Where a median is known to be: in (below, to], as ranks.
struct Bracket {
  int64_t below, to;
  [[nodiscard]] int64_t probe(int64_t i, int64_t probes) const {
    const auto width = static_cast<uint64_t>(to) - static_cast<uint64_t>(below);
    const uint64_t part = width / static_cast<uint64_t>(probes + 1);
    const uint64_t rest = width % static_cast<uint64_t>(probes + 1);
    const auto n = static_cast<uint64_t>(i + 1);
    return static_cast<int64_t>(static_cast<uint64_t>(below) + part * n +
                                rest * n / static_cast<uint64_t>(probes + 1));
  }
};

}  // namespace detail

/// The lower median of each set of values over all peers, NaN if there are none; sets are sorted
/// here and hold no NaN. [peers]
inline std::vector<double> medians(const stage::Step& step,
                                   std::vector<std::vector<double>>& sets) {
  constexpr int64_t probes = 15;
  constexpr double infinite = std::numeric_limits<double>::infinity();
  std::vector<int64_t> counts;
  for (auto& set : sets) {
    std::sort(set.begin(), set.end());
    counts.push_back(static_cast<int64_t>(set.size()));
  }
  step.sum(std::span(counts));
  std::vector<detail::Bracket> brackets(
      sets.size(), {detail::rank_of(-infinite) - 1, detail::rank_of(infinite)});
  const auto is_open = [](const auto& b) {
    return static_cast<uint64_t>(b.to) - static_cast<uint64_t>(b.below) > 1;
  };
  while (std::any_of(brackets.begin(), brackets.end(), is_open)) {
    std::vector<int64_t> up_to;
    for (size_t s = 0; s < sets.size(); ++s)
      for (int64_t i = 0; i < probes; ++i) {
        const double probe = detail::of_rank(brackets[s].probe(i, probes));
        up_to.push_back(std::upper_bound(sets[s].begin(), sets[s].end(), probe) - sets[s].begin());
      }
    step.sum(std::span(up_to));
    for (size_t s = 0; s < sets.size(); ++s) {
      auto narrow = brackets[s];
      for (int64_t i = probes; i-- > 0;) {
        const int64_t at = brackets[s].probe(i, probes);
        const bool enough = 2 * up_to[s * probes + static_cast<size_t>(i)] >= counts[s];
        if (enough) narrow.to = std::min(narrow.to, at);
        else narrow.below = std::max(narrow.below, at);
      }
      brackets[s] = narrow;
    }
  }
  std::vector<double> out;
  for (size_t s = 0; s < sets.size(); ++s)
    out.push_back(counts[s] > 0 ? detail::of_rank(brackets[s].to)
                                : std::numeric_limits<double>::quiet_NaN());
  return out;
}

}  // namespace pillion::stages
