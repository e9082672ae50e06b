// SPDX-License-Identifier: BSD-3-Clause
// The boxes of a part of the region lie at the end of one list, cut to that part. A part is halved
// by appending the boxes of one half, which are taken away again before the other half is looked
// at.
#include "layout/coverage.hpp"

#include <algorithm>
#include <array>

namespace pillion::layout {

namespace {

struct Cut {
  size_t axis = 0;
  int64_t at = 0;
  size_t low = 0, high = 0;  ///< boxes on each side; one that is cut counts twice
};

class Search {
 public:
  Search(const std::vector<Box>& boxes, const Box& region) {
    items_.reserve(2 * boxes.size());
    for (size_t n = 0; n < boxes.size(); ++n) {
      const Box inside = common(boxes[n], region);
      if (!is_empty(inside)) items_.push_back({inside, n});
    }
  }
  void look(const Box& region, size_t begin);
  [[nodiscard]] CoverageFault take() {
    if (found_.overlap) found_.hole.reset();
    return found_;
  }

 private:
  struct Item {
    Box box;  ///< within the part
    size_t number;
  };
  static constexpr size_t few = 8, most_sampled = 33;

  [[nodiscard]] int64_t cells(size_t begin, size_t end) const {
    int64_t sum = 0;
    for (size_t n = begin; n < end; ++n) sum += items_[n].box.volume();
    return sum;
  }
  void compare_all(size_t begin, size_t end);
  [[nodiscard]] std::optional<Cut> best_cut(const Box& region, size_t begin, size_t end) const;
  [[nodiscard]] std::optional<int64_t> middle_face(const Box& region, size_t axis, size_t begin,
                                                   size_t end) const;

  std::vector<Item> items_;
  CoverageFault found_;
};

void Search::compare_all(size_t begin, size_t end) {
  for (size_t a = begin; a < end; ++a)
    for (size_t b = a + 1; b < end; ++b)
      if (!is_empty(common(items_[a].box, items_[b].box))) {
        found_.overlap = std::minmax(items_[a].number, items_[b].number);
        return;
      }
}

/// The median of the faces of some of the boxes that lie within the region.
std::optional<int64_t> Search::middle_face(const Box& region, size_t axis, size_t begin,
                                           size_t end) const {
  std::array<int64_t, 2 * most_sampled> faces{};
  size_t count = 0;
  const size_t step = std::max<size_t>((end - begin + most_sampled - 1) / most_sampled, 1);
  for (size_t n = begin; n < end; n += step)
    for (const int64_t face : {items_[n].box.lo[axis], items_[n].box.hi[axis]})
      if (face > region.lo[axis] && face < region.hi[axis]) faces[count++] = face;
  if (count == 0) return {};
  const auto middle = faces.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(faces.begin(), middle, faces.begin() + static_cast<std::ptrdiff_t>(count));
  return *middle;
}

/// The cut that divides fewest boxes, and these most evenly.
std::optional<Cut> Search::best_cut(const Box& region, size_t begin, size_t end) const {
  std::array<Cut, 3> cuts;
  size_t count = 0;
  for (size_t axis = 0; axis < 3; ++axis)
    if (const auto at = middle_face(region, axis, begin, end)) cuts[count++] = {axis, *at};
  if (count == 0) return {};
  for (size_t c = 0; c < count; ++c)
    for (size_t n = begin; n < end; ++n) {
      cuts[c].low += items_[n].box.lo[cuts[c].axis] < cuts[c].at ? 1 : 0;
      cuts[c].high += items_[n].box.hi[cuts[c].axis] > cuts[c].at ? 1 : 0;
    }
  const auto cost = [](const Cut& c) { return c.low + c.high + std::max(c.low, c.high); };
  return *std::min_element(cuts.begin(), cuts.begin() + static_cast<std::ptrdiff_t>(count),
                           [&](const Cut& a, const Cut& b) { return cost(a) < cost(b); });
}

void Search::look(const Box& region, size_t begin) {
  const size_t end = items_.size();
  const int64_t covered = cells(begin, end), expected = region.volume();
  if (end - begin <= few) compare_all(begin, end);
  if (found_.overlap) return;
  // A few boxes that are apart: they leave a hole unless they have all the cells.
  if (end - begin <= few && (covered == expected || found_.hole)) return;
  if (begin == end) {
    if (!found_.hole) found_.hole = region;
    return;
  }
  const auto cut = best_cut(region, begin, end);
  // Without a face within the part the first box covers all of it, so it overlaps the second.
  if (!cut) return compare_all(begin, begin + 2);
  const auto look_into = [&](bool is_low) {
    Box half = region;
    (is_low ? half.hi : half.lo)[cut->axis] = cut->at;
    for (size_t n = begin; n < end; ++n) {
      const Item item{common(items_[n].box, half), items_[n].number};
      if (!is_empty(item.box)) items_.push_back(item);
    }
    look(half, end);
    items_.resize(end);
  };
  for (const bool is_low : {true, false})
    if (!found_.overlap) look_into(is_low);
}

}  // namespace

CoverageFault find_coverage_fault(const std::vector<Box>& boxes, const Box& region) {
  if (is_empty(region)) return {};
  Search search(boxes, region);
  search.look(region, 0);
  return search.take();
}

}  // namespace pillion::layout
