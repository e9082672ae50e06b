// SPDX-License-Identifier: BSD-3-Clause
#include "comm/communicator.hpp"

#include <doctest/doctest.h>

#include "comm/message.hpp"

using namespace pillion;
using namespace pillion::comm;

TEST_CASE("everyone's bytes reach everyone they are for") {
  const Communicator world(MPI_COMM_WORLD);
  std::vector<base::Bytes> out;
  // Sizes differ by pair, some are empty, one is large.
  const auto size = [&](int from, int to) {
    return static_cast<size_t>((from + 2 * to) % 3 == 0 ? 0 : 1000 * from + 100000 * (to % 2) + 7);
  };
  for (int to = 0; to < world.size(); ++to)
    out.emplace_back(size(world.rank(), to), static_cast<std::byte>(10 * world.rank() + to));
  const auto in = world.exchange(out);
  for (int from = 0; from < world.size(); ++from)
    CHECK(in[from] ==
          base::Bytes(size(from, world.rank()), static_cast<std::byte>(10 * from + world.rank())));
}

TEST_CASE("gather and broadcast") {
  const Communicator world(MPI_COMM_WORLD);
  const int root = world.size() - 1;
  const base::Bytes mine(static_cast<size_t>(world.rank()), std::byte{7});
  const auto all = world.gather(mine, root);
  if (world.rank() == root) {
    REQUIRE(static_cast<int>(all.size()) == world.size());
    for (int r = 0; r < world.size(); ++r) CHECK(all[r].size() == static_cast<size_t>(r));
  } else {
    CHECK(all.empty());
  }
  std::string text = world.rank() == root ? "from the root" : "";
  world.broadcast(text, root);
  CHECK(text == "from the root");
}

TEST_CASE("split leaves out ranks without a colour") {
  const Communicator world(MPI_COMM_WORLD);
  const auto first = world.split(world.rank() == 0 ? 0 : -1);
  CHECK(static_cast<bool>(first) == (world.rank() == 0));
  if (first) CHECK(first.size() == 1);
  CHECK(world.split_by_node().size() == world.size());
}

TEST_CASE("messages are found when they arrive, with their size") {
  const Communicator world(MPI_COMM_WORLD);
  const int next = (world.rank() + 1) % world.size();
  const int before = (world.rank() + world.size() - 1) % world.size();
  const base::Bytes out(100000, static_cast<std::byte>(world.rank()));
  auto sent = send(world, out.data(), out.size(), next, 5);
  std::optional<Arrival> arrival;
  while (!(arrival = find_arrival(world, before, 5))) {}
  CHECK(arrival->size == out.size());
  base::Bytes in(arrival->size);
  receive(*arrival, in.data());
  CHECK(in == base::Bytes(out.size(), static_cast<std::byte>(before)));
  sent.wait();
}

// A datatype of many bytes must hold just as many as were asked for.
TEST_CASE("byte types stand for any size") {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1} << 20, (size_t{5} << 30) + 3}) {
    const ByteType type(size);
    MPI_Count bytes = 0;
    MPI_Type_size_x(type.handle(), &bytes);
    CHECK(static_cast<size_t>(bytes) == size);
  }
}
