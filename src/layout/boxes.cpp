// SPDX-License-Identifier: BSD-3-Clause
// Overlaps are found through bins of about one box each; matching is greedy.
#include "layout/boxes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace pillion::layout {

namespace {

Box bounds_of(const std::vector<Box>& boxes) {
  Box out{{0, 0, 0}, {0, 0, 0}};
  bool any = false;
  for (const auto& box : boxes) {
    if (is_empty(box)) continue;
    for (size_t d = 0; d < 3; ++d) {
      out.lo[d] = any ? std::min(out.lo[d], box.lo[d]) : box.lo[d];
      out.hi[d] = any ? std::max(out.hi[d], box.hi[d]) : box.hi[d];
    }
    any = true;
  }
  return out;
}

class Bins {
 public:
  Bins(const Box& bounds, size_t boxes) : bounds_(bounds) {
    const double per_axis = std::cbrt(static_cast<double>(std::max<size_t>(boxes, 1)));
    for (int d = 0; d < 3; ++d) {
      const auto i = static_cast<size_t>(d);
      const auto wanted = static_cast<int64_t>(std::ceil(per_axis));
      count_[i] = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(bounds.extent(d), 1));
      side_[i] = (bounds.extent(d) + count_[i] - 1) / std::max<int64_t>(count_[i], 1);
      side_[i] = std::max<int64_t>(side_[i], 1);
    }
    members_.resize(static_cast<size_t>(count_[0] * count_[1] * count_[2]));
  }

  /// Calls function(bin, members) for each bin that a box within the bounds touches.
  template <class Function>
  void each_touched(const Box& box, Function&& function) {
    std::array<int64_t, 3> first{}, last{};
    for (size_t d = 0; d < 3; ++d) {
      first[d] = bin_along(d, box.lo[d]);
      last[d] = bin_along(d, box.hi[d] - 1);
    }
    for (int64_t z = first[2]; z <= last[2]; ++z)
      for (int64_t y = first[1]; y <= last[1]; ++y)
        for (int64_t x = first[0]; x <= last[0]; ++x)
          function(std::array<int64_t, 3>{x, y, z},
                   members_[static_cast<size_t>((z * count_[1] + y) * count_[0] + x)]);
  }
  /// The bin that a cell within the bounds is in.
  [[nodiscard]] std::array<int64_t, 3> bin_of(const std::array<int64_t, 3>& cell) const {
    return {bin_along(0, cell[0]), bin_along(1, cell[1]), bin_along(2, cell[2])};
  }

 private:
  [[nodiscard]] int64_t bin_along(size_t d, int64_t cell) const {
    return std::min((cell - bounds_.lo[d]) / side_[d], count_[d] - 1);
  }
  Box bounds_;
  std::array<int64_t, 3> count_{}, side_{};
  std::vector<std::vector<size_t>> members_;
};

}  // namespace

std::vector<Overlap> overlaps(const std::vector<Box>& a, const std::vector<Box>& b) {
  const Box bounds = bounds_of(b);
  std::vector<Overlap> out;
  if (is_empty(bounds)) return out;
  Bins bins(bounds, b.size());
  for (size_t i = 0; i < b.size(); ++i)
    if (!is_empty(b[i]))
      bins.each_touched(b[i], [&](auto, auto& members) { members.push_back(i); });
  for (size_t i = 0; i < a.size(); ++i) {
    const Box inside = common(a[i], bounds);
    if (is_empty(inside)) continue;
    const size_t begin = out.size();
    bins.each_touched(inside, [&](const auto& bin, const auto& members) {
      for (const size_t j : members) {
        const Box region = common(inside, b[j]);
        // A pair that meets in several bins is found in that of its first cell.
        if (!is_empty(region) && bins.bin_of(region.lo) == bin) out.push_back({i, j, region});
      }
    });
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(),
              [](const Overlap& x, const Overlap& y) { return x.b < y.b; });
  }
  return out;
}

std::vector<int> match(std::vector<Affinity> affinities, int ranks) {
  constexpr int no_rank = -1;
  std::vector<int> out(static_cast<size_t>(ranks), no_rank);
  std::vector<bool> is_taken(static_cast<size_t>(ranks));
  std::sort(affinities.begin(), affinities.end(), [](const Affinity& a, const Affinity& b) {
    return std::tuple(-a.cells, a.rank, a.share) < std::tuple(-b.cells, b.rank, b.share);
  });
  const auto take = [&](int share, int rank) {
    if (out[static_cast<size_t>(share)] != no_rank || is_taken[static_cast<size_t>(rank)]) return;
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
