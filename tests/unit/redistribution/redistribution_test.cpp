// SPDX-License-Identifier: BSD-3-Clause
// Fields on random boxes are redistributed to random tilings and to random boxes and compared, byte
// by byte, with what each cell must hold; every rank draws the same random numbers.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <fstream>
#include <numeric>

#include "comm/message.hpp"
#include "exchanging.hpp"
#include "redistribution/exchange.hpp"

using namespace pillion;
using namespace pillion::redistribution;
using exchanging::Ways;
using layout::Box;
using random_boxes::below;
using random_boxes::Cell;
using random_boxes::Random;
using random_boxes::wrapped;
using some_field::Field;

namespace {

layout::Wanted some_wanted(const Box& domain, int ranks, Random& random) {
  using layout::Tiling;
  const int axis = static_cast<int>(below(random, 3));
  const auto side = [&] { return static_cast<int>(below(random, 4)); };
  const int kind = static_cast<int>(below(random, 4));
  const auto tiling = kind == 0   ? Tiling::blocks(domain, 3, ranks)
                      : kind == 1 ? Tiling::slabs(domain, axis, ranks)
                      : kind == 2 ? Tiling::pencils(domain, 3, axis, ranks)
                                  : Tiling::powers_of_two(domain, {side(), side(), side()}, ranks);
  layout::Wanted wanted{tiling, {0, 0, 0}, {false, false, false}};
  for (size_t d = 0; d < 3; ++d) {
    if (below(random, 2) == 0) wanted.ghosts[d] = below(random, 3);
    wanted.periodic[d] = below(random, 2) == 0;
  }
  return wanted;
}

/// Some of the ranks, in some order.
std::vector<int> some_owners(int ranks, Random& random) {
  std::vector<int> owners(static_cast<size_t>(ranks));
  std::iota(owners.begin(), owners.end(), 0);
  std::shuffle(owners.begin(), owners.end(), random);
  owners.resize(1 + random() % owners.size());
  return owners;
}

/// Grown by another width at each side of each box, beyond the domain where it is periodic.
void grow(std::vector<Box>& boxes, const WantedBoxes& wanted, int64_t most, Random& random) {
  for (auto& box : boxes)
    for (size_t d = 0; d < 3; ++d) {
      box.lo[d] -= below(random, 4);
      box.hi[d] += below(random, most);
      if (wanted.periodic[d]) continue;
      box.lo[d] = std::max(box.lo[d], wanted.domain.lo[d]);
      box.hi[d] = std::min(box.hi[d], wanted.domain.hi[d]);
    }
}

/// A field goes to other boxes and comes back to where it was.
void check_round_trip(const comm::Communicator& world, const std::vector<Box>& here,
                      const std::vector<Box>& there, const Box& domain, const Ways& ways,
                      int round) {
  Random own(static_cast<unsigned>(100 * round + world.rank()));
  Redistribution forth(world, here, WantedBoxes{there, domain, {}}, ways.of(round));
  Redistribution back(world, there, WantedBoxes{here, domain, {}}, ways.of(round + 1));
  Field out(forth, 5, 8, 3, own), primary(back, 0, 8, 3, own);
  out.fill(round);
  primary.fill(round);
  out.pass_on(primary);
  forth.exchange(std::span(&out.arrays, 1));
  back.exchange(std::span(&primary.arrays, 1));
  CHECK(primary.has_arrived(round, [](const Cell& cell) { return cell; }));
  const auto sum = [&](int64_t cells) { return world.reduced(cells, comm::Operation::Sum); };
  CHECK(sum(forth.cells_sent()) == sum(back.cells_sent()));
}

}  // namespace

TEST_CASE("random boxes go to tilings with ghost cells, on some of the ranks") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Ways ways(world);
  Random random(7);
  for (int round = 0; round < 60; ++round) {
    const Box domain = random_boxes::domain(random, 10);
    const auto here = random_boxes::divide(domain, world.size(), round % 7 == 0 ? 1000 : 8, random);
    const auto owners = some_owners(world.size(), random);
    const auto wanted = some_wanted(domain, static_cast<int>(owners.size()), random);
    Redistribution plan(world, here[static_cast<size_t>(world.rank())], wanted, owners,
                        ways.of(round));
    exchanging::check(
        world, plan, [&](const Cell& cell) { return std::optional(wrapped(cell, domain)); },
        random);
    CHECK(plan.messages_sent() <= owners.size());
  }
}

TEST_CASE("any boxes to any boxes, and back again") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Ways ways(world);
  Random random(9);
  for (int round = 0; round < 60; ++round) {
    const Box domain = random_boxes::domain(random, 10);
    const auto me = static_cast<size_t>(world.rank());
    const auto here = random_boxes::divide(domain, world.size(), round % 7 == 0 ? 1000 : 8, random);
    const auto there =
        random_boxes::divide(domain, world.size(), round % 9 == 0 ? 1000 : 8, random);
    WantedBoxes wanted{there[me], domain, {}};
    for (auto& periodic : wanted.periodic) periodic = below(random, 2) == 0;
    Random own(static_cast<unsigned>(1000 * round + world.rank()));
    grow(wanted.boxes, wanted, 13, own);
    Redistribution out(world, here[me], wanted, ways.of(round));
    exchanging::check(
        world, out, [&](const Cell& cell) { return std::optional(wrapped(cell, domain)); }, random);
    check_round_trip(world, here[me], there[me], domain, ways, round);
  }
}

TEST_CASE("one box for each cell, on both sides") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Ways ways(world);
  Random random(11);
  for (int round = 0; round < 6; ++round) {
    const Box domain{{-2, 5, 0}, {6 + below(random, 4), 13, 7}};
    const auto me = static_cast<size_t>(world.rank());
    std::vector<std::vector<Box>> here(static_cast<size_t>(world.size())), there(here);
    random_boxes::each_cell(domain, [&](const Cell& cell) {
      const Box box{cell, {cell[0] + 1, cell[1] + 1, cell[2] + 1}};
      here[random() % here.size()].push_back(box);
      there[random() % there.size()].push_back(box);
    });
    const auto origin = [&](const Cell& cell) { return std::optional(wrapped(cell, domain)); };
    WantedBoxes wanted{there[me], domain, {true, false, round % 2 == 0}};
    Random own(static_cast<unsigned>(1000 * round + world.rank()));
    if (round > 1) grow(wanted.boxes, wanted, 3, own);
    Redistribution to_boxes(world, here[me], wanted, ways.of(round));
    exchanging::check(world, to_boxes, origin, random);
    const auto owners = some_owners(world.size(), random);
    const auto tiling =
        layout::Tiling::powers_of_two(domain, {0, 0, 0}, static_cast<int>(owners.size()));
    Redistribution to_tiles(world, here[me], layout::Wanted{tiling, {1, 0, 2}, {true, false, true}},
                            owners, ways.of(round));
    exchanging::check(world, to_tiles, origin, random);
    check_round_trip(world, here[me], there[me], domain, ways, round);
  }
}

TEST_CASE(
    "ranks of a node that find no memory, or not that of others, send messages, all of them") {
  const comm::Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  Random random(13);
  for (const int may_open : {0, 1, 1000}) {
    TransferMemory memory(Neighbours(world), size_t{1} << 30);
    const Box domain{{0, 0, 0}, {9, 8, 7}};
    const auto me = static_cast<size_t>(world.rank());
    auto here = random_boxes::divide(domain, world.size(), 8, random);
    const auto there = random_boxes::divide(domain, world.size(), 8, random);
    Redistribution plan(world, here[me], WantedBoxes{there[me], domain, {}}, &memory);
    world.barrier();
    // The last rank may open so many files more.
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const int next = dup(0);
    close(next);
    rlimit now = before;
    now.rlim_cur = static_cast<rlim_t>(next + may_open);
    if (world.rank() == world.size() - 1) setrlimit(RLIMIT_NOFILE, &now);
    std::exception_ptr failure;
    CHECK(NodePath::make(memory.neighbours(), 1000, failure).has_value() == (may_open > 1));
    CHECK((failure != nullptr) == (may_open < 2 && world.rank() == world.size() - 1));
    exchanging::check(
        world, plan, [](const Cell& cell) { return std::optional(cell); }, random);
    setrlimit(RLIMIT_NOFILE, &before);
    const size_t bytes = me == 0 ? size_t{1} << 60 : 1;
    CHECK_FALSE(NodePath::make(memory.neighbours(), bytes, failure).has_value());
  }
}

namespace {

constexpr size_t page = 4096;

/// Moves values of 24 bytes for each cell; whether they arrive.
bool moves_values(Redistribution& plan, int round) {
  Random random(static_cast<unsigned>(round));
  Field field(plan, 0, 8, 3, random);
  field.fill(round);
  plan.exchange(std::span(&field.arrays, 1));
  return field.has_arrived(round, [](const Cell& cell) { return std::optional(cell); });
}

/// A plan that moves `cells` cells of each rank to the next one, which has moved values once.
std::unique_ptr<Redistribution> used_plan(const comm::Communicator& world, int64_t cells,
                                          TransferMemory& memory) {
  const auto box_of = [&](int rank) {
    const int64_t lo = cells * ((rank + world.size()) % world.size());
    return Box{{lo, 0, 0}, {lo + cells, 1, 1}};
  };
  const Box domain{{0, 0, 0}, {cells * world.size(), 1, 1}};
  auto plan = std::make_unique<Redistribution>(world, std::vector{box_of(world.rank())},
                                               WantedBoxes{{box_of(world.rank() - 1)}, domain, {}},
                                               &memory);
  CHECK(moves_values(*plan, 1));
  return plan;
}

}  // namespace

TEST_CASE("plans share node memory, which grows, shrinks, and stays within its budget") {
  const comm::Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  TransferMemory memory(Neighbours(world), static_cast<size_t>(world.size()) * 100 * page);
  const auto small = used_plan(world, 300, memory);
  CHECK(memory.node_bytes() == 2 * page);
  auto large = used_plan(world, 4000, memory);
  CHECK(memory.node_bytes() == 24 * page);
  // In turns: each finds its values, though they lie where those of the other were.
  for (int turn = 2; turn < 30; ++turn) CHECK(moves_values(turn % 2 == 0 ? *small : *large, turn));
  CHECK(memory.node_bytes() == 24 * page);
  large.reset();
  const auto next = used_plan(world, 600, memory);
  CHECK(memory.node_bytes() == 4 * page);
  CHECK(memory.refused() == 0);
  // Values of a plan that would need more go by messages; the others keep their memory.
  const auto too_large = used_plan(world, 40000, memory);
  CHECK(memory.refused() == 1);
  CHECK(memory.most_node_bytes() == 24 * page);
  CHECK(moves_values(*small, 30));
  CHECK(memory.path() != nullptr);
}

TEST_CASE("sparse exchanges bring each message to its rank, one exchange after the other") {
  const comm::Communicator world(MPI_COMM_WORLD);
  comm::SparseExchange exchange(world, 31);
  Random random(static_cast<unsigned>(100));
  for (int round = 0; round < 200; ++round) {
    // Who sends to whom is drawn alike everywhere.
    std::map<int, base::Bytes> out;
    std::map<int, size_t> expected;
    for (int from = 0; from < world.size(); ++from)
      for (int to = 0; to < world.size(); ++to) {
        const auto size = static_cast<size_t>(below(random, 3) * below(random, 20000));
        if (below(random, 2) == 0) continue;
        const auto mark = static_cast<std::byte>(from * 16 + to + round);
        if (from == world.rank()) out[to] = base::Bytes(size, mark);
        if (to == world.rank()) expected[from] = size;
      }
    const auto in = exchange(out);
    REQUIRE(in.size() == expected.size());
    for (const auto& [from, bytes] : in) {
      REQUIRE(bytes.size() == expected[from]);
      const auto mark = static_cast<std::byte>(from * 16 + world.rank() + round);
      CHECK(std::count(bytes.begin(), bytes.end(), mark) == static_cast<int64_t>(bytes.size()));
    }
  }
}

namespace {

/// Mappings of this process. Under AddressSanitizer only shared ones: its allocator maps memory of
/// its own.
int64_t mappings() {
#if defined(__SANITIZE_ADDRESS__)
  constexpr bool only_shared = true;
#else
  constexpr bool only_shared = false;
#endif
  std::ifstream file("/proc/self/maps");
  int64_t count = 0;
  for (std::string line; std::getline(file, line);) {
    const size_t rights = line.find(' ') + 1;  // such as rw-s
    count += !only_shared || line[rights + 3] == 's' ? 1 : 0;
  }
  return count;
}

/// Bytes that the kernel counts for this process under a key such as "RssAnon:".
int64_t bytes_of(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return 1024 * std::stoll(line.substr(key.size()));
  return 0;
}

}  // namespace

// As the blocks of a code do that adapts its mesh. PILLION_TEST_ALL=1 makes ten thousand.
TEST_CASE("regrids leave mappings and memory where they were") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const char* all = std::getenv("PILLION_TEST_ALL");
  const int regrids = all != nullptr && std::string_view(all) != "0" ? 10'000 : 200;
  TransferMemory memory(Neighbours(world), static_cast<size_t>(world.size()) * 200 * page);
  std::deque<std::unique_ptr<Redistribution>> plans;
  Random random(11);
  int64_t maps = 0;
  [[maybe_unused]] int64_t anonymous = 0;
  for (int n = 0; n < regrids; ++n) {
    plans.push_back(used_plan(world, 100 + static_cast<int64_t>(random() % 30'000), memory));
    if (plans.size() > 16) plans.pop_front();
    CHECK(moves_values(*plans[random() % plans.size()], n));
    if (n != regrids / 4) continue;
    maps = mappings();
    anonymous = bytes_of("RssAnon:");
  }
  CHECK(mappings() <= maps + 8);
#if !defined(__SANITIZE_ADDRESS__)  // which keeps what was freed: its quarantine grows to 256 MiB
  CHECK(bytes_of("RssAnon:") <= anonymous + (int64_t{8} << 20));
#endif
  CHECK(memory.node_bytes() <= 200 * page);
  plans.clear();
  const auto last = used_plan(world, 300, memory);
  if (world.size() > 1) CHECK(memory.node_bytes() == 2 * page);
  CHECK(memory.receiving.capacity() + memory.sending.capacity() < size_t{3} << 20);
}
