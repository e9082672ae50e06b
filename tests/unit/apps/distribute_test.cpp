// SPDX-License-Identifier: BSD-3-Clause
#include "replay/distribute.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace replay;

namespace {

/// How often each value is in some rank's part.
std::vector<int> covered(const std::vector<int64_t>& extents, int ranks) {
  int64_t all = 1;
  for (const int64_t extent : extents) all *= extent;
  std::vector<int> times(static_cast<size_t>(all));
  for (int r = 0; r < ranks; ++r)
    for (const Run& run : runs_of(extents, part_of(extents, r, ranks)))
      for (int64_t i = 0; i < run.count; ++i) ++times.at(static_cast<size_t>(run.begin + i));
  return times;
}

}  // namespace

TEST_CASE("all parts together are the array, whatever the ranks") {
  for (const auto& extents : std::vector<std::vector<int64_t>>{
           {1}, {7}, {3, 4}, {1, 1, 5}, {5, 1, 1}, {4, 3, 2}, {2, 2, 2, 3}, {6, 6, 6}})
    for (int ranks = 1; ranks <= 40; ++ranks) {
      const auto times = covered(extents, ranks);
      CHECK(std::all_of(times.begin(), times.end(), [](int n) { return n == 1; }));
    }
}

TEST_CASE("slabs are as even as planes allow, and contiguous") {
  for (int ranks = 1; ranks <= 10; ++ranks)
    for (int r = 0; r < ranks; ++r) {
      const Part part = part_of({10, 4, 3}, r, ranks);
      CHECK(part.count() >= 12 * (10 / ranks));
      CHECK(part.count() <= 12 * ((10 + ranks - 1) / ranks));
      CHECK(runs_of({10, 4, 3}, part).size() == 1);
    }
}

TEST_CASE("ranks that outnumber planes share them") {
  CHECK(part_of({2, 4, 8}, 0, 4) == Part{{0, 0, 0}, {1, 2, 8}});
  CHECK(part_of({2, 4, 8}, 3, 4) == Part{{1, 2, 0}, {2, 4, 8}});
  CHECK(part_of({2, 2, 8}, 5, 8) == Part{{1, 0, 4}, {2, 1, 8}});
  for (int r = 0; r < 12; ++r) CHECK(part_of({3, 4, 8}, r, 12).count() == 8);
}

TEST_CASE("of nothing every part is empty") {
  for (int r = 0; r < 3; ++r)
    for (const auto& extents : std::vector<std::vector<int64_t>>{{0}, {0, 3}, {5, 0}}) {
      CHECK(part_of(extents, r, 3).count() == 0);
      CHECK(runs_of(extents, part_of(extents, r, 3)).empty());
    }
}

TEST_CASE("runs follow each other as the values of the part do") {
  const std::vector<int64_t> extents{3, 4, 5};
  const auto check = [&](const Part& part) {
    std::vector<int64_t> expected, found;
    for (int64_t i = part.lo[0]; i < part.hi[0]; ++i)
      for (int64_t j = part.lo[1]; j < part.hi[1]; ++j)
        for (int64_t k = part.lo[2]; k < part.hi[2]; ++k) expected.push_back((i * 4 + j) * 5 + k);
    const auto runs = runs_of(extents, part);
    for (const Run& run : runs)
      for (int64_t n = 0; n < run.count; ++n) found.push_back(run.begin + n);
    CHECK(found == expected);
    return runs.size();
  };
  CHECK(check({{0, 0, 0}, {3, 4, 5}}) == 1);
  CHECK(check({{1, 0, 0}, {2, 4, 5}}) == 1);
  CHECK(check({{0, 1, 0}, {3, 3, 5}}) == 3);
  CHECK(check({{1, 1, 2}, {3, 3, 4}}) == 4);
  CHECK(check({{2, 3, 4}, {3, 4, 5}}) == 1);
}
