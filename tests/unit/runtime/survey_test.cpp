// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/survey.hpp"

#include <doctest/doctest.h>

using pillion::runtime::Sample;
using pillion::runtime::Survey;

TEST_CASE("of every number the most of all ranks is heard, once") {
  const pillion::comm::Communicator world(MPI_COMM_WORLD);
  Survey survey(world, 2);
  CHECK(survey.settle().empty());
  for (int round = 1; round <= 3; ++round) {
    const double mine = round * (world.rank() + 1), most = round * world.size();
    survey.start({{.interval = mine, .own = -mine},
                  {.worked = mine, .finished = 2 * mine, .busy = 3 * mine}});
    const auto said = survey.settle();
    REQUIRE(said.size() == 2);
    CHECK(said[0].interval == most);
    CHECK(said[0].own == -round);
    CHECK(said[0].busy == 0);
    CHECK(said[1].worked == most);
    CHECK(said[1].finished == 2 * most);
    CHECK(said[1].busy == 3 * most);
    CHECK(survey.settle().empty());
  }
}
