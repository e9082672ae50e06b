// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/consensus.hpp"

#include <doctest/doctest.h>

using namespace pillion;
using namespace pillion::runtime;

TEST_CASE("only the policy skip skips, and only if some rank was full") {
  CHECK(skip(model::WhenFull::Skip, {.full = true, .disabled = {}}));
  CHECK_FALSE(skip(model::WhenFull::Skip, {.full = false, .disabled = {}}));
  CHECK_FALSE(skip(model::WhenFull::Wait, {.full = true, .disabled = {}}));
}

TEST_CASE("a standing is known one publication later; disabled analyses stay so") {
  const comm::Communicator world(MPI_COMM_WORLD);
  Consensus consensus(world, 3);
  CHECK_FALSE(consensus.settle().full);
  consensus.start({.full = true, .disabled = {2}});
  CHECK(consensus.settle().full);
  consensus.start({.full = false, .disabled = {}});
  CHECK_FALSE(consensus.settle().full);
  CHECK(consensus.settle().disabled == std::set<int32_t>{2});
}
