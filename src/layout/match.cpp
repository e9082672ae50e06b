// SPDX-License-Identifier: BSD-3-Clause
// The greedy matching; ranks that have nothing take what is left.
#include "layout/match.hpp"

#include <algorithm>
#include <tuple>

namespace pillion::layout {

std::vector<int> match(std::vector<Affinity> affinities, int ranks) {
  constexpr int nobody = -1;
  std::vector<int> out(static_cast<size_t>(ranks), nobody);
  std::vector<bool> is_taken(static_cast<size_t>(ranks));
  std::sort(affinities.begin(), affinities.end(), [](const Affinity& a, const Affinity& b) {
    return std::tuple(-a.cells, a.rank, a.share) < std::tuple(-b.cells, b.rank, b.share);
  });
  const auto take = [&](int share, int rank) {
    if (out[static_cast<size_t>(share)] != nobody || is_taken[static_cast<size_t>(rank)]) return;
    out[static_cast<size_t>(share)] = rank;
    is_taken[static_cast<size_t>(rank)] = true;
  };
  for (const auto& affinity : affinities) take(affinity.share, affinity.rank);
  for (int share = 0; share < ranks; ++share) take(share, share);
  int free = 0;
  for (int share = 0; share < ranks; ++share) {
    while (free < ranks && is_taken[static_cast<size_t>(free)]) ++free;
    if (free < ranks) take(share, free);
  }
  return out;
}

}  // namespace pillion::layout
