// SPDX-License-Identifier: BSD-3-Clause
// How long does the stage `halos` take for a merge tree and one catalogue of a lognormal field of
// 256^3 cells, and how long for another catalogue from the same tree? Against sorting the cells
// once, which is what a sweep by definition begins with. On a field that is smooth over a few
// cells, as densities are, and on one of independent cells, the worst case. On any number of ranks.
//   bench_halos [CELLS_PER_SIDE]
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "halos/build.hpp"
#include "halos/catalogue.hpp"
#include "halos/field_values.hpp"
#include "halos/ordering.hpp"
#include "halos/query.hpp"
#include "stagehost/plugin.hpp"
#include "stagehost/work.hpp"
#include "timing.hpp"

namespace {

using namespace pillion::stages;
using namespace pillion::stages::halos;
using bench::median;
using bench::seconds_of;

constexpr int repetitions = 5, queries = 20;

/// The peers of the search, with the messages that stages have.
struct World {
  pillion::comm::Communicator comm{MPI_COMM_WORLD};
  int rank = comm.rank(), ranks = comm.size();
  World() {
    context.peers = &comm;
    context.fence = &fence;
    work.context = &context;
  }
  [[nodiscard]] pillion::stage::Step step() const {
    return {&pillion::stagehost::host_table(), &work};
  }

 private:
  pillion::comm::Fence fence{comm};
  pillion::stagehost::ExecutionContext context;
  mutable pillion_work work;
};

/// exp of a Gaussian field with this standard deviation, smoothed so many times over neighbours.
std::vector<float> lognormal(int64_t side, double deviation, int smoothings) {
  const auto count = static_cast<size_t>(side * side * side);
  std::mt19937_64 random(2026);
  std::normal_distribution<float> normal;
  std::vector<float> field(count), smooth(count);
  for (auto& value : field) value = normal(random);
  for (int s = 0; s < 3 * smoothings; ++s) {
    const size_t stride = s % 3 == 0 ? 1 : s % 3 == 1 ? side : side * side;
    for (size_t i = 0; i < count; ++i) {
      const size_t at = i / stride % side, whole = stride * side;
      const float before = field[at == 0 ? i + whole - stride : i - stride];
      const float after =
          field[at + 1 == static_cast<size_t>(side) ? i + stride - whole : i + stride];
      smooth[i] = 0.25F * before + 0.5F * field[i] + 0.25F * after;
    }
    field.swap(smooth);
  }
  double squares = 0;
  for (const float value : field) squares += static_cast<double>(value) * value;
  const auto scale =
      static_cast<float>(deviation / std::sqrt(squares / static_cast<double>(count)));
  for (auto& value : field) value = std::exp(scale * value);
  return field;
}

/// This rank's part along the last axis, with the layer around it.
struct Mine {
  Mine(const World& world, const Grid& grid, const std::vector<float>& field) {
    piece.inner_hi = grid.cells;
    piece.inner_lo[2] = grid.cells[2] * world.rank / world.ranks;
    piece.inner_hi[2] = grid.cells[2] * (world.rank + 1) / world.ranks;
    for (size_t d = 0; d < 3; ++d) {
      piece.lo[d] = piece.inner_lo[d] - 1;
      piece.hi[d] = piece.inner_hi[d] + 1;
    }
    for (int64_t z = piece.lo[2]; z < piece.hi[2]; ++z)
      for (int64_t y = piece.lo[1]; y < piece.hi[1]; ++y)
        for (int64_t x = piece.lo[0]; x < piece.hi[0]; ++x)
          values.push_back(field[static_cast<size_t>(grid.id({x, y, z}))]);
  }
  Piece piece;
  std::vector<float> values;
};

size_t catalogue(const pillion::stage::Step& step, const HaloShares& shares) {
  auto halos = static_cast<int64_t>(ordered_halos(step, shares, 0, 1).halos.size());
  step.sum(std::span(&halos, 1));
  return static_cast<size_t>(halos);
}

double sorting(const Mine& mine) {
  std::vector<std::pair<float, int64_t>> cells;
  for (int64_t z = mine.piece.inner_lo[2]; z < mine.piece.inner_hi[2]; ++z)
    for (int64_t y = mine.piece.inner_lo[1]; y < mine.piece.inner_hi[1]; ++y)
      for (int64_t x = mine.piece.inner_lo[0]; x < mine.piece.inner_hi[0]; ++x) {
        const int64_t at = mine.piece.offset({x, y, z});
        cells.emplace_back(mine.values[static_cast<size_t>(at)], at);
      }
  return seconds_of([&] { std::sort(cells.begin(), cells.end()); });
}

struct Times {
  std::vector<double> tree, first, second, lower, sort;
};

/// Boundaries and peaks of the first query, of others, and of one that goes lower than those.
struct Thresholds {
  double first[2], second[2], lower[2];
};

struct Result {
  double seconds, sort, second_share, lower_share;
};

Result measure(const World& world, const char* name, int64_t side, int smoothings,
               const Thresholds& thresholds) {
  const Grid grid{{side, side, side}, {true, true, true}};
  const Mine mine(world, grid, lognormal(side, 2, smoothings));
  const auto step = world.step();
  Times times;
  size_t halos[3] = {};
  for (int r = 0; r < repetitions; ++r) {
    times.sort.push_back(sorting(mine));
    std::optional<FieldValues<float>> values;
    std::optional<Tree> tree;
    std::optional<Query<float>> query;
    double mean = 0;
    times.tree.push_back(seconds_of([&] {
      values.emplace(mine.piece, mine.values.data());
      mean = values->sum().value();
      MPI_Allreduce(MPI_IN_PLACE, &mean, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      mean /= static_cast<double>(grid.count());
      tree = build_tree(step, grid, mine.piece, values->data());
    }));
    const auto ask = [&](const double* pair) {
      return catalogue(step, query->halos(pair[0] * mean, pair[1] * mean));
    };
    times.first.push_back(seconds_of([&] {
      query.emplace(grid, mine.piece, values->data(), *tree);
      halos[0] = ask(thresholds.first);
    }));
    // So short that other programs on the machine would show in a single one.
    times.second.push_back(seconds_of([&] {
                             for (int q = 0; q < queries; ++q) halos[1] = ask(thresholds.second);
                           }) /
                           queries);
    times.lower.push_back(seconds_of([&] { halos[2] = ask(thresholds.lower); }));
  }
  const double tree = median(times.tree), first = median(times.first);
  const double second = median(times.second), lower = median(times.lower);
  const Result out = {tree + first, median(times.sort), second / (tree + first),
                      lower / (tree + first)};
  if (world.rank == 0)
    std::printf(
        "{\"bench\": \"halos\", \"case\": \"%s\", \"side\": %lld, \"ranks\": %d, "
        "\"tree_seconds\": %.4g, \"first_query_seconds\": %.3g, \"second_query_seconds\": %.3g, "
        "\"lower_query_seconds\": %.3g, \"sort_seconds\": %.4g, \"halos\": [%zu, %zu, %zu]}\n",
        name, static_cast<long long>(side), world.ranks, tree, first, second, lower, out.sort,
        halos[0], halos[1], halos[2]);
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    const World world;
    const int64_t side = argc > 1 ? std::atoll(argv[1]) : 256;
    const auto smooth = measure(world, "smooth", side, 3, {{82, 200}, {100, 250}, {10, 20}});
    const auto many = measure(world, "smooth, low", side, 3, {{5, 10}, {6, 15}, {1, 3}});
    const auto noise = measure(world, "independent", side, 0, {{82, 200}, {100, 250}, {10, 20}});
    if (world.rank == 0)
      std::printf(
          "bench halos: ranks=%d side=%lld seconds=%.3g sort_seconds=%.3g share_of_sort=%.2f "
          "second_query_share=%.5f low_second_query_share=%.5f lower_query_share=%.4f "
          "independent_seconds=%.3g independent_share_of_sort=%.2f\n",
          world.ranks, static_cast<long long>(side), smooth.seconds, smooth.sort,
          smooth.seconds / smooth.sort, smooth.second_share, many.second_share, smooth.lower_share,
          noise.seconds, noise.seconds / noise.sort);
  }
  MPI_Finalize();
  return 0;
}
