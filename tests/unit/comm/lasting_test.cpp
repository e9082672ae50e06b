// SPDX-License-Identifier: BSD-3-Clause
#include "comm/lasting.hpp"

#include <doctest/doctest.h>

using namespace pillion::comm;

namespace {

int ranks_of(MPI_Comm comm) {
  int one = 1;
  MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, comm);
  return one;
}

}  // namespace

TEST_CASE("a later session on the same ranks gets the communicator of one that has closed") {
  const Communicator world(MPI_COMM_WORLD);
  const auto first = take_lasting(world), second = take_lasting(world);
  CHECK(first != second);
  give_back_lasting(first);
  CHECK(ranks_of(first) == world.size());  // it is still good
  for (int session = 0; session < 40; ++session) {
    const auto again = take_lasting(world);
    CHECK(again == first);
    give_back_lasting(again);
  }
  give_back_lasting(second);
}

// Ranks that were in other sessions have other communicators that are free.
TEST_CASE("sessions on some of the ranks do not confuse those on all") {
  const Communicator world(MPI_COMM_WORLD);
  if (world.size() < 2) return;
  const auto half = world.split(world.rank() % 2);
  const auto of_half = take_lasting(half), of_all = take_lasting(world);
  CHECK(ranks_of(of_half) == half.size());
  CHECK(ranks_of(of_all) == world.size());
  if (world.rank() % 2 == 0) give_back_lasting(of_half);
  give_back_lasting(of_all);
  const auto again = take_lasting(world);
  CHECK(again == of_all);
  const auto of_half_again = take_lasting(half);
  CHECK((of_half_again == of_half) == (world.rank() % 2 == 0));
  CHECK(ranks_of(of_half_again) == half.size());
  for (const auto comm : {again, of_half, of_half_again}) give_back_lasting(comm);
}

// All ranks of a half must take the same, though only some of them have one that is free.
TEST_CASE("a communicator that is taken on one rank is taken on no other") {
  const Communicator world(MPI_COMM_WORLD);
  if (world.size() < 2) return;
  const auto first = take_lasting(world);
  if (world.rank() > 0) give_back_lasting(first);
  const auto second = take_lasting(world);
  CHECK(second != first);
  CHECK(ranks_of(second) == world.size());
  give_back_lasting(first);
  give_back_lasting(second);
}
