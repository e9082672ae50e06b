// SPDX-License-Identifier: BSD-3-Clause

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "comm/agreement.hpp"
#include "layout/assignment.hpp"
#include "stagehost/peer_messages.hpp"

using namespace pillion;
using namespace pillion::stagehost;

extern int sent_synchronously;  // counted in state_test.cpp

namespace {

constexpr int64_t count = 300;
constexpr size_t width = 3;

double value_of(int64_t key, size_t i) {
  return static_cast<double>(key) + 0.25 * static_cast<double>(i);
}

/// Deals keys -150 .. 149 to ranks at random, the same way on all of them, and returns this rank's
/// in a random order.
std::vector<int64_t> dealt(std::mt19937& random, const comm::Communicator& world) {
  std::vector<int64_t> mine;
  for (int64_t key = 0; key < count; ++key)
    if (static_cast<int>(random() % static_cast<unsigned>(world.size())) == world.rank())
      mine.push_back(key - count / 2);
  std::shuffle(mine.begin(), mine.end(), std::mt19937(random()));
  return mine;
}

std::optional<Error> fetched(const comm::Communicator& world, const std::vector<int64_t>& keys,
                             const std::vector<int64_t>& wanted, std::vector<double>& out,
                             std::vector<uint8_t>* found = nullptr) {
  std::vector<double> records;
  for (const int64_t key : keys)
    for (size_t i = 0; i < width; ++i) records.push_back(value_of(key, i));
  comm::Fence fence(world);
  ExecutionContext context;
  context.peers = &world;
  context.fence = &fence;
  const pillion_records have{keys.data(), static_cast<int64_t>(keys.size()), records.data(),
                             width * sizeof(double)};
  out.assign(wanted.size() * width, -1);
  return fence.run([&] {
    if (found != nullptr) found->assign(wanted.size(), 9);
    std::optional<std::span<uint8_t>> flags;
    if (found != nullptr) flags = std::span(*found);
    fetch(have, wanted, out.data(), flags, context);
  });
}

}  // namespace

TEST_CASE("records come to those who want them, from whoever has them") {
  const comm::Communicator world(MPI_COMM_WORLD);
  std::mt19937 random(5);
  for (int round = 0; round < 10; ++round) {
    const auto have = dealt(random, world), wanted = dealt(random, world);
    std::vector<double> out;
    CHECK_FALSE(fetched(world, have, wanted, out).has_value());
    for (size_t i = 0; i < out.size(); ++i) CHECK(out[i] == value_of(wanted[i / width], i % width));
  }
}

TEST_CASE("what nobody has is a failure on all ranks, which says what is missing") {
  const comm::Communicator world(MPI_COMM_WORLD);
  std::vector<double> out;
  const std::vector<int64_t> lost = {77};
  const auto failure = fetched(world, {}, world.rank() == 0 ? lost : std::vector<int64_t>(), out);
  REQUIRE(failure.has_value());
  CHECK(std::string(failure->what()).find("cell or particle 77") != std::string::npos);
}

TEST_CASE("records that may be missing are found or not, whoever has them") {
  const comm::Communicator world(MPI_COMM_WORLD);
  std::mt19937 random(9);
  for (int round = 0; round < 5; ++round) {
    auto have = dealt(random, world);
    auto wanted = dealt(random, world);
    std::erase_if(have, [](int64_t key) { return key % 3 == 0; });
    if (round == 4) wanted.clear();  // a vector without memory
    if (round == 3 && world.rank() > 0) wanted = {};
    std::vector<double> out;
    std::vector<uint8_t> found(1);
    CHECK_FALSE(fetched(world, have, wanted, out, &found).has_value());
    for (size_t i = 0; i < wanted.size(); ++i) {
      CHECK(found[i] == (wanted[i] % 3 == 0 ? 0 : 1));
      for (size_t w = 0; w < width; ++w)
        CHECK(out[i * width + w] == (found[i] != 0 ? value_of(wanted[i], w) : -1));
    }
  }
}

TEST_CASE("records that two have are a failure on all ranks") {
  const comm::Communicator world(MPI_COMM_WORLD);
  std::vector<double> out;
  const std::vector<int64_t> twice =
      world.rank() == 0 ? std::vector<int64_t>{5, 9, 5} : std::vector<int64_t>{};
  const auto failure = fetched(world, twice, {}, out);
  REQUIRE(failure.has_value());
  CHECK(std::string(failure->what()).find("the key 5") != std::string::npos);
}

TEST_CASE("peers send only to owners of keys, and these only to peers that request them") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const int rank = world.rank(), ranks = world.size();
  // Each peer has one record, whose owner it is itself, and requests one of the next peer.
  std::vector<int64_t> keys(static_cast<size_t>(ranks), -1);
  for (int64_t key = 0, found = 0; found < ranks; ++key)
    if (auto& of_owner = keys[static_cast<size_t>(layout::owner_of(key, ranks))]; of_owner < 0) {
      of_owner = key;
      ++found;
    }
  std::vector<double> out;
  sent_synchronously = 0;
  CHECK_FALSE(fetched(world, {keys[static_cast<size_t>(rank)]},
                      {keys[static_cast<size_t>((rank + 1) % ranks)]}, out)
                  .has_value());
  CHECK(sent_synchronously == (ranks == 1 ? 0 : 2));  // a request and a reply
  CHECK(out[0] == value_of(keys[static_cast<size_t>((rank + 1) % ranks)], 0));
}
