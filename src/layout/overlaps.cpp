// SPDX-License-Identifier: BSD-3-Clause
// Boxes of one list are put into the bins of a coarse grid, about as many as there are boxes; those
// of the other look into the bins that they touch.
#include "layout/overlaps.hpp"

#include <array>
#include <cmath>

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

  /// Calls deed(bin, members) for each bin that a box within the bounds touches.
  template <class Deed>
  void each_touched(const Box& box, Deed&& deed) {
    std::array<int64_t, 3> first{}, last{};
    for (size_t d = 0; d < 3; ++d) {
      first[d] = bin_along(d, box.lo[d]);
      last[d] = bin_along(d, box.hi[d] - 1);
    }
    for (int64_t z = first[2]; z <= last[2]; ++z)
      for (int64_t y = first[1]; y <= last[1]; ++y)
        for (int64_t x = first[0]; x <= last[0]; ++x)
          deed(std::array<int64_t, 3>{x, y, z},
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

}  // namespace pillion::layout
