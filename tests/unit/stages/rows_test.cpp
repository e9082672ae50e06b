// SPDX-License-Identifier: BSD-3-Clause
// Rows of a table over the run, some of which failed publications have begun.
#include "common/rows.hpp"

#include <doctest/doctest.h>

using namespace pillion;
using namespace pillion::stages;

namespace {

void add(Rows& rows, int64_t step, bool fails) {
  rows.add("step", "", step);
  rows.add("a", "m", 0.5 * static_cast<double>(step));
  if (fails) return;
  rows.add("b", "", step + 1);
  rows.end_row();
}

}  // namespace

TEST_CASE("a row that was begun is dropped when the next one begins") {
  Rows rows;
  add(rows, 7, true);  // the first one
  CHECK(rows.empty());
  for (int64_t step = 0; step < 6; ++step) add(rows, step, step == 2 || step == 3);
  const auto steps = rows.integers("step");
  CHECK(std::vector<int64_t>(steps.begin(), steps.end()) == std::vector<int64_t>{0, 1, 4, 5});
  const auto b = rows.integers("b");
  CHECK(std::vector<int64_t>(b.begin(), b.end()) == std::vector<int64_t>{1, 2, 5, 6});
  CHECK(rows.columns() == 3);
}

TEST_CASE("a column that the first row lacks is an error still") {
  Rows rows;
  add(rows, 0, false);
  rows.add("step", "", int64_t{1});
  CHECK_THROWS_AS(rows.add("c", "", int64_t{1}), Error);
}
