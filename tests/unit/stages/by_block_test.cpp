// SPDX-License-Identifier: BSD-3-Clause
// What is kept of blocks goes when they do.
#include "common/by_block.hpp"

#include <doctest/doctest.h>

#include <memory>

using pillion::stages::ByBlock;

TEST_CASE("a block that is there at each step keeps what belongs to it") {
  ByBlock<int> kept;
  kept.at(3, 7) = 1;
  CHECK(kept.at(3, 7) == 1);
  kept.at(10, 7) += 1;
  CHECK(kept.at(10, 8) == 0);
  CHECK(kept.at(11, 7) == 2);
}

TEST_CASE("blocks that are others at each step do not pile up") {
  ByBlock<std::shared_ptr<int>> kept;
  const auto value = std::make_shared<int>(0);
  for (int64_t step = 0; step < 100; ++step) {
    for (int64_t block = 0; block < 4; ++block) kept.at(step, 4 * step + block) = value;
    // Those of the step before may be asked for again at this one.
    CHECK(kept.size() == (step == 0 ? 4 : 8));
    CHECK(value.use_count() == (step == 0 ? 5 : 9));
  }
}

TEST_CASE("a block that comes back begins anew") {
  ByBlock<int> kept;
  kept.at(0, 1) = 5;
  kept.at(0, 2) = 6;
  CHECK(kept.at(1, 2) == 6);
  CHECK(kept.at(2, 1) == 0);
  CHECK(kept.size() == 2);
}
