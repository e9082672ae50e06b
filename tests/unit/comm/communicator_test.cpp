// SPDX-License-Identifier: BSD-3-Clause
#include "comm/communicator.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "../little_memory.hpp"
#include "comm/message.hpp"

using namespace pillion;
using namespace pillion::comm;

namespace {

int received = 0;
size_t largest_sent = 0;

/// Rounds of a tree.
int rounds_of(int ranks) {
  int rounds = 0;
  while ((1 << rounds) < ranks) ++rounds;
  return rounds;
}

}  // namespace

// Messages of this program, the library's included, that are probed for before they are received,
// and those that are sent.
extern "C" int MPI_Imrecv(void* data, int count, MPI_Datatype type, MPI_Message* message,
                          MPI_Request* request) {
  ++received;
  return PMPI_Imrecv(data, count, type, message, request);
}
extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag,
                         MPI_Comm comm, MPI_Request* request) {
  largest_sent = std::max(largest_sent, static_cast<size_t>(count));
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

TEST_CASE("a root gathers everyone's bytes along a tree, in a few messages") {
  const Communicator world(MPI_COMM_WORLD);
  for (int root = 0; root < world.size(); ++root) {
    const base::Bytes mine(static_cast<size_t>(1000 * (world.rank() % 3)),
                           static_cast<std::byte>(world.rank()));
    received = 0;
    const auto all = world.gather(mine, root);
    CHECK(received <= rounds_of(world.size()));
    if (world.rank() != root) {
      CHECK(all.empty());
      continue;
    }
    REQUIRE(static_cast<int>(all.size()) == world.size());
    for (int r = 0; r < world.size(); ++r)
      CHECK(all[r] == base::Bytes(static_cast<size_t>(1000 * (r % 3)), static_cast<std::byte>(r)));
  }
}

TEST_CASE("values of all ranks go in messages as long as there are runs of them, along a tree") {
  const Communicator world(MPI_COMM_WORLD);
  const auto check = [&](const std::function<int64_t(int)>& value_of, size_t most_runs) {
    received = 0;
    largest_sent = 0;
    const auto all = world.gather_all_runs(value_of(world.rank()));
    CHECK(received <= rounds_of(world.size()));
    CHECK(largest_sent <= sizeof(int64_t) + most_runs * 3 * sizeof(int64_t));
    REQUIRE(static_cast<int>(all.size()) == world.size());
    for (int r = 0; r < world.size(); ++r) CHECK(all[static_cast<size_t>(r)] == value_of(r));
  };
  check([](int) { return int64_t{-5}; }, 1);
  check([](int rank) { return int64_t{1} << 40 | rank; }, 1);
  check([](int rank) { return int64_t{rank / 3} * 3; }, 2);  // of up to 6 ranks
  check([](int rank) { return int64_t{rank % 2}; }, 3);
  check([](int rank) { return int64_t{rank} * rank * rank - 3 * rank; }, 6);
}

TEST_CASE("a root uses everyone's bytes one after the other, whatever fails") {
  const Communicator world(MPI_COMM_WORLD);
  const int root = world.size() - 1;
  const base::Bytes mine(size_t{1} << 20, static_cast<std::byte>(world.rank()));
  int next = 0;
  world.gather_each(mine, root, [&](int rank, std::span<const std::byte> bytes) {
    CHECK(rank == next++);
    CHECK(base::Bytes(bytes.begin(), bytes.end()) ==
          base::Bytes(size_t{1} << 20, static_cast<std::byte>(rank)));
  });
  CHECK(next == (world.rank() == root ? world.size() : 0));
  bool threw = false;
  try {
    world.gather_each(mine, root, [](int, std::span<const std::byte>) {
      base::fail(ErrorCode::File, "the disk is full");
    });
  } catch (const Error&) {
    threw = true;
  }
  CHECK(threw == (world.rank() == root));
  CHECK(world.reduced<int64_t>(1, Operation::Sum) == world.size());
}

TEST_CASE("broadcast") {
  const Communicator world(MPI_COMM_WORLD);
  const int root = world.size() - 1;
  std::string text = world.rank() == root ? "from the root" : "";
  world.broadcast(text, root);
  CHECK(text == "from the root");
}

TEST_CASE("a fold joins everyone's bytes in order, in a few messages") {
  const Communicator world(MPI_COMM_WORLD);
  const base::Bytes mine(1, static_cast<std::byte>(world.rank()));
  int joins = 0;
  const auto join = [&](const base::Bytes& lower, const base::Bytes& higher) {
    ++joins;
    auto all = lower;
    all.insert(all.end(), higher.begin(), higher.end());
    return all;
  };
  for (int turn = 0; turn < 3; ++turn) {
    joins = 0;
    const auto all = world.fold(mine, join);
    CHECK(joins <= rounds_of(world.size()));
    if (world.rank() != 0) continue;
    REQUIRE(static_cast<int>(all.size()) == world.size());
    for (int r = 0; r < world.size(); ++r) CHECK(all[r] == static_cast<std::byte>(r));
  }
}

TEST_CASE("a rank that cannot join keeps no other waiting") {
  const Communicator world(MPI_COMM_WORLD);
  bool threw = false;
  try {
    (void)world.fold(base::Bytes(1), [](const base::Bytes&, const base::Bytes&) -> base::Bytes {
      base::fail(ErrorCode::Internal, "cannot join");
    });
  } catch (const Error&) {
    threw = true;
  }
  CHECK(threw == (world.rank() % 2 == 0 && world.rank() + 1 < world.size()));
  CHECK(world.reduced<int64_t>(1, Operation::Sum) == world.size());
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

namespace {

/// A message to each other rank; only the last rank's are large.
std::map<int, base::Bytes> messages_of(const Communicator& world, size_t large) {
  std::map<int, base::Bytes> out;
  const bool is_last = world.rank() == world.size() - 1;
  for (int r = 0; r < world.size(); ++r)
    if (r != world.rank()) out[r] = base::Bytes(is_last ? large : 100, std::byte{5});
  return out;
}

}  // namespace

TEST_CASE("a rank that fails before a sparse exchange fails on all ranks") {
  const Communicator world(MPI_COMM_WORLD);
  SparseExchange exchange(world, 31);
  const auto fail_on_last = [&]() -> SparseExchange::Messages {
    if (world.rank() == world.size() - 1) base::fail(ErrorCode::Stage, "no boxes on the last rank");
    return messages_of(world, 200);
  };
  CHECK_THROWS_WITH(exchange.made_by(fail_on_last), "no boxes on the last rank");
  const auto in = exchange.made_by([&] { return messages_of(world, 200); });
  CHECK(static_cast<int>(in.size()) == world.size() - 1);
  for (const auto& [rank, bytes] : in)
    CHECK(bytes.size() == (rank == world.size() - 1 ? 200 : 100));
}

// Sanitizers reserve more addresses than any limit allows.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("a rank without memory for a message fails on all ranks") {
  const Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  SparseExchange exchange(world, 31);
  constexpr size_t large = size_t{64} << 20;
  const auto out = messages_of(world, large);
  {
    std::optional<LittleMemory> limit;
    if (world.rank() == 0) limit.emplace(size_t{16} << 20);
    CHECK_THROWS_WITH(exchange.made_by([&] { return SparseExchange::Messages(out); }),
                      "out of memory");
  }
  // The exchange that does not agree fails on that rank alone, when it is over on all.
  {
    std::optional<LittleMemory> limit;
    if (world.rank() == 0) limit.emplace(size_t{16} << 20);
    if (world.rank() == 0) CHECK_THROWS_AS(exchange(out), std::bad_alloc);
    else CHECK(static_cast<int>(exchange(out).size()) == world.size() - 1);
  }
  world.barrier();
  CHECK(static_cast<int>(exchange(out).size()) == world.size() - 1);
}
#endif

TEST_CASE("byte types stand for any size") {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1} << 20, (size_t{5} << 30) + 3}) {
    const ByteType type(size);
    MPI_Count bytes = 0;
    MPI_Type_size_x(type.handle(), &bytes);
    CHECK(static_cast<size_t>(bytes) == size);
  }
}
