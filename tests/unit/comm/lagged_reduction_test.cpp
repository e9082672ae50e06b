// SPDX-License-Identifier: BSD-3-Clause

#include <doctest/doctest.h>
#include <fenv.h>

#include <cmath>
#include <limits>

#include "base/clock.hpp"
#include "comm/message.hpp"

using namespace pillion::comm;

namespace {

int tests = 0;

}  // namespace

// Calls of this program, the library's included.
extern "C" int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  ++tests;
  return PMPI_Test(request, done, status);
}

TEST_CASE("a rank that waits long for another one rarely asks") {
  const Communicator world(MPI_COMM_WORLD);
  world.barrier();
  if (world.rank() > 0) pillion::base::clock().sleep(0.3);
  int32_t most = world.rank();
  tests = 0;
  start_maximum(world, &most, 1).wait_asleep();
  CHECK(most == world.size() - 1);
  CHECK(tests < 20'000);  // without pauses a million
}

TEST_CASE("the result of a lagged reduction is read once, on every rank alike") {
  const Communicator world(MPI_COMM_WORLD);
  LaggedReduction most(world, Operation::Max), sum(world, Operation::Sum);
  CHECK_FALSE(most.settle());
  for (int round = 1; round <= 3; ++round) {
    const double mine = round * (world.rank() + 1);
    const auto both = most.prepare(2);
    both[0] = mine, both[1] = -mine;
    most.start();
    sum.prepare(1)[0] = mine;
    sum.start();
    const auto greatest = most.settle(), all = sum.settle();
    REQUIRE((greatest && all));
    CHECK((*greatest)[0] == 1.0 * round * world.size());
    CHECK((*greatest)[1] == -1.0 * round);
    CHECK((*all)[0] == round * 0.5 * world.size() * (world.size() + 1));
    CHECK_FALSE(most.settle());
  }
}

// The program calls MPI between start() and settle(), and MPI adds there.
TEST_CASE("sums are added in default arithmetic within the calls of the program") {
  const Communicator world(MPI_COMM_WORLD);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  LaggedReduction sum(world, Operation::Sum);
  const auto mine = sum.prepare(3);
  mine[0] = world.rank() % 2 == 0 ? infinity : -infinity;
  mine[1] = std::numeric_limits<double>::max();
  mine[2] = world.rank() == 0 ? 1 : 1e-20;
  fenv_t before;
  fegetenv(&before);
  fesetround(FE_UPWARD);
  feclearexcept(FE_ALL_EXCEPT);
  feenableexcept(FE_INVALID | FE_OVERFLOW);
  sum.start();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  const auto all = sum.settle();
  const int raised = fetestexcept(FE_INVALID | FE_OVERFLOW);
  fesetenv(&before);
  CHECK(raised == 0);
  REQUIRE(all);
  CHECK((world.size() == 1 || std::isnan((*all)[0])));
  CHECK((world.size() == 1 || (*all)[1] == infinity));
  CHECK((*all)[2] == 1);
}
