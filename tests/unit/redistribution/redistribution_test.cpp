// SPDX-License-Identifier: BSD-3-Clause
// Fields on random boxes are carried to random tilings and compared, cell by cell, with what each
// cell must hold; every rank draws the same random numbers.
#include "redistribution/redistribution.hpp"

#include <doctest/doctest.h>

#include "../layout/random_boxes.hpp"
#include "comm/sparse.hpp"

using namespace pillion;
using namespace pillion::redistribution;
using layout::Box;
using layout::Index3;
using random_boxes::below;
using random_boxes::Random;

namespace {

/// What a component of a cell holds.
double value_of(const Index3& cell, int32_t component, int round) {
  return static_cast<double>(((cell[2] * 1000 + cell[1]) * 1000 + cell[0]) * 10 + component) +
         round;
}

template <class Deed>
void each_cell(const Box& box, Deed&& deed) {
  for (int64_t k = box.lo[2]; k < box.hi[2]; ++k)
    for (int64_t j = box.lo[1]; j < box.hi[1]; ++j)
      for (int64_t i = box.lo[0]; i < box.hi[0]; ++i) deed(Index3{i, j, k});
}

template <class T>
size_t at(const Box& box, const std::array<int64_t, 4>& strides, const Index3& cell, int32_t c) {
  int64_t place = c * strides[3];
  for (size_t d = 0; d < 3; ++d) place += (cell[d] - box.lo[d]) * strides[d];
  return static_cast<size_t>(place);
}

/// A field of this rank's boxes, in any of two arrangements, and memory for it where it goes.
template <class T>
struct Field {
  int32_t components;
  std::vector<std::vector<T>> from, to;
  Carried carried;

  Field(const Redistribution& plan, int32_t n, bool components_apart) : components(n) {
    carried.components = n;
    carried.element = sizeof(T);
    for (const auto& box : plan.here()) {
      auto& memory = from.emplace_back(static_cast<size_t>(box.volume() * n));
      auto strides = model::packed_strides(box, n);
      if (components_apart)
        strides = {1, box.extent(0), box.extent(0) * box.extent(1), box.volume()};
      carried.from.push_back({reinterpret_cast<std::byte*>(memory.data()), box.lo, strides});
    }
    for (const auto& box : plan.boxes()) {
      auto& memory = to.emplace_back(static_cast<size_t>(std::max<int64_t>(box.volume(), 0) * n));
      carried.to.push_back(layout::packed_at(reinterpret_cast<std::byte*>(memory.data()), box, n));
    }
  }

  void fill(const Redistribution& plan, int round) {
    for (size_t b = 0; b < from.size(); ++b) {
      const Box& box = plan.here()[b];
      each_cell(box, [&](const Index3& cell) {
        for (int32_t c = 0; c < components; ++c)
          from[b][at<T>(box, carried.from[b].strides, cell, c)] =
              static_cast<T>(value_of(cell, c, round));
      });
    }
    for (auto& memory : to) std::fill(memory.begin(), memory.end(), T{-1});
  }

  void check(const Redistribution& plan, const Box& domain, int round) const {
    for (size_t b = 0; b < to.size(); ++b) {
      const Box& box = plan.boxes()[b];
      int64_t wrong = 0;
      each_cell(box, [&](const Index3& cell) {
        Index3 inside{};
        for (int d = 0; d < 3; ++d) {
          const auto i = static_cast<size_t>(d);
          const int64_t n = domain.extent(d);
          inside[i] = domain.lo[i] + ((cell[i] - domain.lo[i]) % n + n) % n;
        }
        for (int32_t c = 0; c < components; ++c)
          if (to[b][at<T>(box, carried.to[b].strides, cell, c)] !=
              static_cast<T>(value_of(inside, c, round)))
            ++wrong;
      });
      CHECK(wrong == 0);
    }
  }
};

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

}  // namespace

TEST_CASE("fields arrive as they were, however often a plan is used") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Neighbours neighbours(world);
  Random random(7);
  for (int round = 0; round < 60; ++round) {
    const Box domain = random_boxes::domain(random, 10);
    const auto here = random_boxes::divide(domain, world.size(), round % 7 == 0 ? 1000 : 8, random);
    // Some of the ranks, in some order.
    std::vector<int> owners(static_cast<size_t>(world.size()));
    for (int r = 0; r < world.size(); ++r) owners[static_cast<size_t>(r)] = r;
    std::shuffle(owners.begin(), owners.end(), random);
    owners.resize(1 + random() % owners.size());
    const auto wanted = some_wanted(domain, static_cast<int>(owners.size()), random);
    Redistribution plan(world, here[static_cast<size_t>(world.rank())], wanted, owners,
                        round % 2 == 0 ? &neighbours : nullptr);
    const bool apart = below(random, 2) == 0;
    Field<double> scalar(plan, 1, apart);
    Field<int32_t> vector(plan, 3, apart);
    for (int again = 0; again < 3; ++again) {
      scalar.fill(plan, again);
      vector.fill(plan, again);
      const std::vector<Carried> fields{scalar.carried, vector.carried};
      plan.carry(again == 1 ? std::span(fields).first(1) : fields);
      scalar.check(plan, domain, again);
      if (again != 1) vector.check(plan, domain, again);
    }
    CHECK(world.reduced(plan.cells_sent(), comm::Operation::Sum) ==
          world.reduced(plan.cells_received(), comm::Operation::Sum));
    CHECK(plan.messages_sent() <= owners.size());
  }
}

TEST_CASE("any boxes to any boxes, and back again") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Neighbours neighbours(world);
  Random random(9);
  for (int round = 0; round < 60; ++round) {
    const Box domain = random_boxes::domain(random, 10);
    const auto me = static_cast<size_t>(world.rank());
    const auto here = random_boxes::divide(domain, world.size(), round % 7 == 0 ? 1000 : 8, random);
    const auto there =
        random_boxes::divide(domain, world.size(), round % 9 == 0 ? 1000 : 8, random);
    WantedBoxes wanted{there[me], domain, {}};
    for (auto& periodic : wanted.periodic) periodic = below(random, 2) == 0;
    // Ghost cells, of another width at each box of each rank.
    Random own(static_cast<unsigned>(1000 * round + world.rank()));
    for (auto& box : wanted.boxes)
      for (size_t d = 0; d < 3; ++d) {
        box.lo[d] -= below(own, 4);
        box.hi[d] += below(own, 13);
        if (wanted.periodic[d]) continue;
        box.lo[d] = std::max(box.lo[d], domain.lo[d]);
        box.hi[d] = std::min(box.hi[d], domain.hi[d]);
      }
    Redistribution out(world, here[me], wanted, round % 2 == 0 ? &neighbours : nullptr);
    Field<double> field(out, 2, below(random, 2) == 0);
    field.fill(out, round);
    out.carry(std::span(&field.carried, 1));
    field.check(out, domain, round);
    // What each had comes back to where it was.
    const Redistribution plain(world, here[me], WantedBoxes{there[me], domain, {}}, nullptr);
    Redistribution forth(world, here[me], WantedBoxes{there[me], domain, {}}, &neighbours);
    Redistribution back(world, there[me], WantedBoxes{here[me], domain, {}}, &neighbours);
    Field<double> first(forth, 1, false), second(back, 1, false);
    first.fill(forth, round);
    forth.carry(std::span(&first.carried, 1));
    second.from = first.to;
    for (size_t b = 0; b < second.from.size(); ++b)
      second.carried.from[b].data = reinterpret_cast<std::byte*>(second.from[b].data());
    back.carry(std::span(&second.carried, 1));
    CHECK(second.to == first.from);
    CHECK(plain.cells_sent() == forth.cells_sent());
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
