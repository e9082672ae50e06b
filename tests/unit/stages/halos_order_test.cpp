// SPDX-License-Identifier: BSD-3-Clause
// Catalogues and merge trees in one order over all ranks, of which no rank ever has all.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "comm/agreement.hpp"
#include "halos/ordering.hpp"
#include "stagehost/plugin.hpp"
#include "stagehost/work.hpp"

using namespace pillion;
using namespace pillion::stages::halos;

namespace {

/// Bytes that this rank has received in messages of stages.
size_t received_bytes = 0;

/// A stage's peers: all ranks. Bytes that they receive are counted.
struct Peers {
  Peers() {
    context.peers = &world;
    context.fence = &fence;
    work.context = &context;
    host.exchange = [](pillion_work* work, const pillion_message* out, int32_t out_count,
                       const pillion_message** in, int32_t* in_count) {
      const int32_t status = stagehost::host_table().exchange(work, out, out_count, in, in_count);
      for (int32_t i = 0; i < *in_count; ++i) received_bytes += (*in)[i].size;
      return status;
    };
    host.gather = nullptr;
    host.broadcast = nullptr;
  }
  [[nodiscard]] stage::Step step() { return {&host, &work}; }
  std::string failure_of(const std::function<void()>& body) {
    const auto failure = fence.run(body);
    return failure ? failure->what() : "";
  }

  pillion_stage_host host = stagehost::host_table();
  comm::Communicator world{MPI_COMM_WORLD};
  comm::Fence fence{world};
  stagehost::ExecutionContext context;
  pillion_work work;
};

enum class Kind { even, on_one_rank, ties, few, none };

/// What each of some ranks has of halos: the same on all ranks, so that all know the answer.
std::vector<HaloShares> shares_of_all(Kind kind, int peers, size_t averages) {
  std::mt19937_64 random(static_cast<unsigned>(kind));
  std::vector<HaloShares> out(static_cast<size_t>(peers));
  const int64_t count = kind == Kind::none ? 0 : kind == Kind::few ? 3 : 20000;
  std::vector<int64_t> ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), int64_t{0});
  std::shuffle(ids.begin(), ids.end(), random);
  for (const int64_t id : ids) {
    const double value = kind == Kind::ties ? static_cast<double>(random() % 2)
                                            : static_cast<double>(random() % 100000);
    const size_t home = kind == Kind::on_one_rank ? 0 : random() % out.size();
    for (size_t r = 0; r < out.size(); ++r) {
      if (r != home && random() % 10 != 0) continue;
      HaloShare share{{value, id}, static_cast<int64_t>(random() % 2), {}};
      share.sums.cells = 1 + static_cast<int64_t>(random() % 9);
      share.sums.sum = 0.1 * static_cast<double>(random() % 1000);
      share.sums.places = {id, id + 1, -id};
      out[r].halos.push_back(share);
      for (size_t a = 0; a < averages; ++a)
        out[r].sums.push_back(0.3 * static_cast<double>(random() % 1000));
    }
  }
  return out;
}

void compare(const HaloShares& found, size_t averages, const HaloShares& all, size_t first) {
  for (size_t h = 0; h < found.halos.size(); ++h) {
    const auto &a = found.halos[h], &b = all.halos.at(first + h);
    REQUIRE(a.top.id == b.top.id);
    REQUIRE(a.top.value == b.top.value);
    REQUIRE(a.wraps == b.wraps);
    REQUIRE(a.sums.cells == b.sums.cells);
    REQUIRE(a.sums.sum == b.sums.sum);  // to the last digit: summed in the order of ranks
    REQUIRE(a.sums.places == b.sums.places);
    for (size_t s = 0; s < averages; ++s)
      REQUIRE(found.sums[h * averages + s] == all.sums[(first + h) * averages + s]);
  }
}

}  // namespace

TEST_CASE("halos of all ranks are in one order, a range on each, and no rank has all") {
  Peers peers;
  const auto step = peers.step();
  CHECK(peers.failure_of([&] {
    for (const auto kind : {Kind::even, Kind::on_one_rank, Kind::ties, Kind::few, Kind::none})
      for (const size_t averages : {0, 3}) {
        CAPTURE(static_cast<int>(kind));
        const auto shares = shares_of_all(kind, step.peers(), averages);
        const auto whole = combined(shares, averages, 3);
        received_bytes = 0;
        const auto mine =
            ordered_halos(step, shares[static_cast<size_t>(step.peer())], averages, 3);
        const auto count = static_cast<int64_t>(mine.halos.size());
        compare(mine, averages, whole, static_cast<size_t>(peers.world.sum_below(count)));
        const int64_t all = peers.world.reduced(count, comm::Operation::Sum);
        CHECK(static_cast<size_t>(all) == whole.halos.size());
        if (step.peer() == 0) CHECK((count > 0 || all == 0));
        if (kind == Kind::few || kind == Kind::none || step.peers() == 1) continue;
        // Two exchanges, in each of which a rank gets little more than its part.
        size_t sent = 0;
        for (const auto& of_rank : shares) sent += of_rank.halos.size();
        const size_t bytes = (sent + whole.halos.size()) * (sizeof(HaloShare) + 8 * averages);
        const auto part = 1.25 / step.peers();
        CHECK(static_cast<double>(received_bytes) < part * static_cast<double>(bytes));
        CHECK(static_cast<double>(count) < part * static_cast<double>(all));
      }
  }) == "");
}

TEST_CASE("pairs of a tree are in the same order, though all lie on one rank") {
  Peers peers;
  const auto step = peers.step();
  CHECK(peers.failure_of([&] {
    constexpr int64_t maxima = 5000;
    Tree tree;
    if (step.peer() == step.peers() - 1) {
      tree.maxima = maxima;
      for (int64_t n = 0; n < maxima; ++n) {
        tree.nodes.push_back({{static_cast<double>(n * 37 % maxima), n}, 0});
        tree.branches.push_back({{static_cast<double>(-n), n + maxima}, n == 0 ? -1 : 0, 0, 0});
      }
    }
    const auto mine = ordered_pairs(step, tree);
    const auto count = static_cast<int64_t>(mine.size());
    CHECK(peers.world.reduced(count, comm::Operation::Sum) == maxima);
    if (step.peers() > 1) CHECK(count < maxima * 5 / (4 * step.peers()));
    double next = static_cast<double>(maxima - 1 - peers.world.sum_below(count));
    for (const auto& pair : mine) {
      REQUIRE(pair.top.value == next--);
      REQUIRE(pair.saddle.id == (pair.top.id == 0 ? -1 : pair.top.id + maxima));
    }
  }) == "");
}

TEST_CASE("ranges are not tiny on many ranks, nor few") {
  CHECK(usual_ranges(100, 4) == 4);
  CHECK(usual_ranges(100, 131072) == 16);
  CHECK(usual_ranges(16384 * 1000, 131072) == 1000);
  CHECK(usual_ranges(int64_t{16384} * 1000000, 131072) == 131072);
}
