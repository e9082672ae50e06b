// SPDX-License-Identifier: BSD-3-Clause
// Against counting the boxes of each cell.
#include "layout/coverage.hpp"

#include <doctest/doctest.h>

#include "random_boxes.hpp"

using namespace pillion::layout;
using random_boxes::below;
using random_boxes::Random;

namespace {

struct Counted {
  bool has_overlap = false, has_hole = false;
};

Counted count(const std::vector<Box>& boxes, const Box& region) {
  Counted out;
  random_boxes::each_cell(region, [&](const random_boxes::Cell& cell) {
    const Box one{cell, {cell[0] + 1, cell[1] + 1, cell[2] + 1}};
    const auto n = std::count_if(boxes.begin(), boxes.end(),
                                 [&](const Box& box) { return !is_empty(common(box, one)); });
    out.has_overlap = out.has_overlap || n > 1;
    out.has_hole = out.has_hole || n == 0;
  });
  return out;
}

/// Boxes that cover a domain, and now and then some fewer, some more, or some that were moved.
std::vector<Box> some_boxes(const Box& domain, Random& random) {
  auto boxes = random_boxes::divide(domain, 1, 60, random).front();
  for (int64_t n = below(random, 3); n > 0 && !boxes.empty(); --n) {
    const auto at = static_cast<size_t>(below(random, static_cast<int64_t>(boxes.size())));
    const auto d = static_cast<size_t>(below(random, 3));
    switch (below(random, 6)) {
      case 0: boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(at)); break;
      case 1: boxes.push_back(boxes[at]); break;
      case 2: boxes[at].lo[d] -= 1; break;
      case 3: boxes[at].hi[d] -= 1; break;
      case 4: boxes.push_back({boxes[at].lo, boxes[at].lo}); break;
      default: boxes[at].lo[d] += 1, boxes[at].hi[d] += 1;
    }
  }
  std::shuffle(boxes.begin(), boxes.end(), random);
  return boxes;
}

}  // namespace

TEST_CASE("overlaps and holes are found where counting finds them") {
  Random random(31);
  int overlaps = 0, holes = 0, sound = 0;
  for (int round = 0; round < 3000; ++round) {
    const Box domain = random_boxes::domain(random, 9);
    const auto boxes = some_boxes(domain, random);
    const auto counted = count(boxes, domain);
    const auto fault = find_coverage_fault(boxes, domain);
    CHECK(fault.overlap.has_value() == counted.has_overlap);
    CHECK(fault.hole.has_value() == (counted.has_hole && !counted.has_overlap));
    if (fault.overlap) {
      const auto [a, b] = *fault.overlap;
      REQUIRE(a < b);
      CHECK(!is_empty(common(common(boxes[a], boxes[b]), domain)));
      ++overlaps;
    }
    if (fault.hole) {
      CHECK(!is_empty(*fault.hole));
      CHECK(common(*fault.hole, domain) == *fault.hole);
      for (const auto& box : boxes) CHECK(is_empty(common(box, *fault.hole)));
      ++holes;
    }
    sound += fault.any() ? 0 : 1;
  }
  CHECK(overlaps > 300);
  CHECK(holes > 300);
  CHECK(sound > 300);
}

TEST_CASE("an overlap is found although there are as many cells as there should be") {
  const Box domain{{0, 0, 0}, {64, 1, 1}};
  std::vector<Box> boxes;
  for (int64_t x = 0; x < 64; ++x) boxes.push_back({{x, 0, 0}, {x + 1, 1, 1}});
  CHECK(!find_coverage_fault(boxes, domain).any());
  boxes[7] = boxes[50];
  const auto fault = find_coverage_fault(boxes, domain);
  REQUIRE(fault.overlap);
  CHECK(*fault.overlap == std::pair(size_t{7}, size_t{50}));
  CHECK(!fault.hole);
}

TEST_CASE("a box a thousand times costs no more than a thousand boxes") {
  const Box domain{{0, 0, 0}, {10, 10, 10}};
  const std::vector<Box> boxes(1000, {{2, 3, 4}, {5, 6, 7}});
  const auto fault = find_coverage_fault(boxes, domain);
  REQUIRE(fault.overlap);
  CHECK(find_coverage_fault({}, domain).hole == domain);
  CHECK(!find_coverage_fault(boxes, {{0, 0, 0}, {0, 10, 10}}).any());
}
