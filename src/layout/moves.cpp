// SPDX-License-Identifier: BSD-3-Clause
// For each box and each periodic image of it, the boxes that it reaches.
#include "layout/moves.hpp"

#include <algorithm>

#include "layout/overlaps.hpp"

namespace pillion::layout {
namespace {

Box shifted(Box box, const Index3& shift) {
  for (size_t d = 0; d < 3; ++d) box.lo[d] += shift[d], box.hi[d] += shift[d];
  return box;
}

/// How often the domain must be repeated on each side for its ghost cells.
Index3 images_of(const Wanted& wanted) {
  Index3 images{0, 0, 0};
  const Box& domain = wanted.tiling.domain();
  for (int d = 0; d < 3; ++d) {
    const auto i = static_cast<size_t>(d);
    const int64_t extent = domain.extent(d);
    if (wanted.periodic[i] && extent > 0) images[i] = (wanted.ghosts[i] + extent - 1) / extent;
  }
  return images;
}

struct Bound {
  int rank;
  Move move;
};

void add_moves(int32_t from, const Box& box, const Index3& shift, const Wanted& wanted,
               std::vector<Bound>& out) {
  const Box image = shifted(box, shift);
  wanted.tiling.each_near(image, wanted.ghosts, [&](const Place& place) {
    if (is_empty(place.box)) return;
    const Box region = common(image, wanted.grown(place.box));
    if (!is_empty(region)) out.push_back({place.rank, {from, place.number, region, shift}});
  });
}

}  // namespace

Box Wanted::grown(const Box& box) const {
  Box out = box;
  if (is_empty(box)) return out;
  const Box& domain = tiling.domain();
  for (size_t d = 0; d < 3; ++d) {
    out.lo[d] -= ghosts[d];
    out.hi[d] += ghosts[d];
    if (periodic[d]) continue;
    out.lo[d] = std::max(out.lo[d], domain.lo[d]);
    out.hi[d] = std::min(out.hi[d], domain.hi[d]);
  }
  return out;
}

std::vector<Moves> plan_moves(const std::vector<Box>& here, const Wanted& wanted) {
  const Index3 images = images_of(wanted);
  const Box& domain = wanted.tiling.domain();
  std::vector<Bound> all;
  for (size_t b = 0; b < here.size(); ++b) {
    if (is_empty(here[b])) continue;
    for (int64_t z = -images[2]; z <= images[2]; ++z)
      for (int64_t y = -images[1]; y <= images[1]; ++y)
        for (int64_t x = -images[0]; x <= images[0]; ++x)
          add_moves(static_cast<int32_t>(b), here[b],
                    {x * domain.extent(0), y * domain.extent(1), z * domain.extent(2)}, wanted,
                    all);
  }
  // By box of the receiver, so that it writes one after the other.
  std::stable_sort(all.begin(), all.end(), [](const Bound& a, const Bound& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.move.to < b.move.to;
  });
  std::vector<Moves> out;
  for (auto& [rank, move] : all) {
    if (out.empty() || out.back().rank != rank) out.push_back({rank, {}, 0});
    out.back().cells += move.region.volume();
    out.back().moves.push_back(move);
  }
  return out;
}

}  // namespace pillion::layout
