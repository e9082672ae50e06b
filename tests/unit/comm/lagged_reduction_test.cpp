// SPDX-License-Identifier: BSD-3-Clause

#include <doctest/doctest.h>

#include "comm/message.hpp"

using namespace pillion::comm;

TEST_CASE("the result of a lagged reduction is read once, on every rank alike") {
  const Communicator world(MPI_COMM_WORLD);
  LaggedReduction most(world, Operation::Max), sum(world, Operation::Sum);
  CHECK_FALSE(most.settle());
  for (int round = 1; round <= 3; ++round) {
    const double mine = round * (world.rank() + 1);
    most.start({mine, -mine});
    sum.start({mine});
    CHECK(most.settle() == std::vector<double>{1.0 * round * world.size(), -1.0 * round});
    CHECK(sum.settle() == std::vector<double>{round * 0.5 * world.size() * (world.size() + 1)});
    CHECK_FALSE(most.settle());
  }
}
