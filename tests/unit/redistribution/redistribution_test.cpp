// SPDX-License-Identifier: BSD-3-Clause
// Fields on random boxes are redistributed to random tilings and to random boxes and compared, byte
// by byte, with what each cell must hold; every rank draws the same random numbers.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

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
  const Neighbours neighbours(world);
  Random random(13);
  for (const int may_open : {0, 1, 1000}) {
    const Box domain{{0, 0, 0}, {9, 8, 7}};
    const auto me = static_cast<size_t>(world.rank());
    auto here = random_boxes::divide(domain, world.size(), 8, random);
    const auto there = random_boxes::divide(domain, world.size(), 8, random);
    Redistribution plan(world, here[me], WantedBoxes{there[me], domain, {}}, &neighbours);
    world.barrier();
    // The last rank may open so many files more.
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const int next = dup(0);
    close(next);
    rlimit now = before;
    now.rlim_cur = static_cast<rlim_t>(next + may_open);
    if (world.rank() == world.size() - 1) setrlimit(RLIMIT_NOFILE, &now);
    const std::map<int, size_t> sizes{{(world.rank() + 1) % world.size(), 1000}};
    CHECK(NodePath::make(neighbours, sizes).has_value() == (may_open > 1));
    exchanging::check(
        world, plan, [](const Cell& cell) { return std::optional(cell); }, random);
    setrlimit(RLIMIT_NOFILE, &before);
    CHECK_FALSE(NodePath::make(neighbours, {{0, me == 0 ? size_t{1} << 60 : 1}}).has_value());
  }
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
