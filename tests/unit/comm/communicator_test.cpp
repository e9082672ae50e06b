// SPDX-License-Identifier: BSD-3-Clause
#include "comm/communicator.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

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
    int most = 0;
    while ((1 << most) < world.size()) ++most;
    CHECK(joins <= most);
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

/// Lets this process get a few MiB more and no larger piece, as long as it lives.
class LittleMemory {
 public:
  LittleMemory() {
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &before_);
    rlimit less = before_;
    less.rlim_cur = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + (size_t{16} << 20);
    setrlimit(RLIMIT_AS, &less);
  }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;
  ~LittleMemory() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

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
    if (world.rank() == 0) limit.emplace();
    CHECK_THROWS_WITH(exchange.made_by([&] { return SparseExchange::Messages(out); }),
                      "out of memory");
  }
  // The exchange that does not agree fails on that rank alone, when it is over on all.
  {
    std::optional<LittleMemory> limit;
    if (world.rank() == 0) limit.emplace();
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
