// SPDX-License-Identifier: BSD-3-Clause
// The stage `halos` taken apart: its own code, with many ranks' blocks in one process, so that each
// part of the work can be timed by itself and what ranks would send each other can be weighed.
#pragma once

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <deque>
#include <vector>

#include "halos/build.hpp"
#include "halos/catalogue.hpp"
#include "halos/query.hpp"
#include "layout/tiling.hpp"

namespace bench {

using namespace pillion::stages;
using namespace pillion::stages::halos;

/// Seconds that this process has computed for: others on the same cores do not count.
inline double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Adds what is computed between construction and end to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum), begin_(cpu_seconds()) {}
  ~Stopwatch() { sum_ += cpu_seconds() - begin_; }

 private:
  double& sum_;
  double begin_;
};

/// Seconds of all blocks together, and what they come to.
struct HaloCosts {
  double tree = 0, merging = 0, finishing = 0, query = 0, combining = 0;
  double bytes_merged = 0, bytes_asked = 0, shares = 0, halos = 0;
};

class HaloRanks {
 public:
  HaloRanks(const Grid& grid, const std::vector<double>& field, int ranks)
      : grid_(grid),
        tiling_(pillion::layout::Tiling::blocks({{0, 0, 0}, grid.cells}, 3, ranks)),
        parts_(static_cast<size_t>(ranks)),
        decided_(parts_.size()),
        wraps_(parts_.size()) {
    for (int r = 0; r < ranks; ++r) add_block(tiling_.places_of(r).front().box, field);
  }

  /// Everything that one publication takes, for thresholds in multiples of the mean, which is 1.
  HaloCosts work(double boundary, double peak, bool says_rounds) {
    HaloCosts costs;
    grow(costs);
    for (size_t distance = 1; distance < parts_.size(); distance *= 2)
      merge_round(distance, says_rounds, costs);
    ask(boundary, peak, costs);
    return costs;
  }

  /// Cells on the outside of the blocks of so many ranks from `first` on.
  [[nodiscard]] double surface(size_t first, size_t count) const {
    double cells = 0;
    const auto is_in = [&](const Cell& at) {
      const size_t owner = owner_of(grid_.id(at));
      return owner >= first && owner < first + count;
    };
    for (size_t r = first; r < first + count; ++r)
      for (size_t d = 0; d < 3; ++d)
        for (const bool upper : {false, true}) {
          Cell beyond = blocks_[r].inner_lo;
          beyond[d] = upper ? blocks_[r].inner_hi[d] : blocks_[r].inner_lo[d] - 1;
          if (is_in(beyond)) continue;
          double face = 1;
          for (size_t other = 0; other < 3; ++other)
            if (other != d)
              face *= static_cast<double>(blocks_[r].inner_hi[other] - blocks_[r].inner_lo[other]);
          cells += face;
        }
    return cells;
  }

 private:
  void add_block(const pillion::model::Box& box, const std::vector<double>& field) {
    Piece& piece = blocks_.emplace_back();
    auto& values = values_.emplace_back();
    for (size_t d = 0; d < 3; ++d) {
      piece.inner_lo[d] = box.lo[d];
      piece.inner_hi[d] = box.hi[d];
      piece.lo[d] = box.lo[d] - 1;
      piece.hi[d] = box.hi[d] + 1;
    }
    for (int64_t z = piece.lo[2]; z < piece.hi[2]; ++z)
      for (int64_t y = piece.lo[1]; y < piece.hi[1]; ++y)
        for (int64_t x = piece.lo[0]; x < piece.hi[0]; ++x)
          values.push_back(field[static_cast<size_t>(grid_.id({x, y, z}))]);
  }

  [[nodiscard]] size_t owner_of(int64_t id) const {
    const Cell at = grid_.cell(id);
    size_t owner = 0;
    while (!blocks_[owner].owns(at)) ++owner;
    return owner;
  }

  /// Each block's own part of the tree, once it knows which of its cells others end in.
  void grow(HaloCosts& costs) {
    builders_.clear();
    std::vector<std::vector<Vertex>> asked(parts_.size());
    for (size_t r = 0; r < parts_.size(); ++r) {
      std::vector<Vertex> asks;
      {
        const Stopwatch watch(costs.tree);
        auto& piece = blocks_[r];
        builders_.emplace_back(grid_, piece, find_basins(grid_, piece, values_[r].data()));
        asks = builders_.back().asks();
      }
      for (const auto& cell : asks) asked[owner_of(cell.id)].push_back(cell);
      costs.bytes_asked += static_cast<double>(asks.size() * sizeof(Vertex));
    }
    for (size_t r = 0; r < parts_.size(); ++r) {
      const Stopwatch watch(costs.tree);
      parts_[r] = builders_[r].part(asked[r]);
      decided_[r].clear();
      wraps_[r].clear();
    }
  }

  static double bytes_of(const PartialTree& part) {
    return static_cast<double>(part.nodes.size() * sizeof(Node) + part.edges.size() * sizeof(Edge));
  }

  void merge_round(size_t distance, bool says, HaloCosts& costs) {
    double bytes = 0, cells = 0;
    for (size_t r = 0; r < parts_.size(); ++r) {
      bytes += bytes_of(parts_[r]);
      cells += surface(r / distance * distance, distance);
    }
    std::vector<PartialTree> next(parts_.size());
    for (size_t r = 0; r < parts_.size(); ++r) {
      const Stopwatch watch(costs.merging);
      auto merged = merge(parts_[r], parts_[r ^ distance], 2 * distance == parts_.size());
      next[r] = std::move(merged.part);
      decided_[r].insert(decided_[r].end(), merged.decided.begin(), merged.decided.end());
      wraps_[r].insert(wraps_[r].end(), merged.wraps.begin(), merged.wraps.end());
    }
    costs.bytes_merged += 2 * bytes;
    parts_ = std::move(next);
    if (says)
      std::printf(
          "{\"bench\": \"kernels\", \"ranks\": %zu, \"merged_already\": %zu, \"message_bytes\": "
          "%.0f, \"surface_cells\": %.0f, \"bytes_per_surface_cell\": %.3f}\n",
          parts_.size(), distance, bytes / static_cast<double>(parts_.size()),
          cells / static_cast<double>(parts_.size()), bytes / cells);
  }

  void ask(double boundary, double peak, HaloCosts& costs) {
    std::vector<HaloShares> all;
    for (size_t r = 0; r < parts_.size(); ++r) {
      Tree tree;
      {
        const Stopwatch watch(costs.finishing);
        tree = std::move(builders_[r]).tree(decided_[r], wraps_[r]);
      }
      const Stopwatch watch(costs.query);
      Query query(grid_, blocks_[r], values_[r].data(), tree);
      query.prepare(boundary);
      all.push_back(query.halos(boundary, peak));
      costs.shares += static_cast<double>(all.back().halos.size());
    }
    const Stopwatch watch(costs.combining);
    costs.halos = static_cast<double>(combined(all, 0, 1).halos.size());
  }

  const Grid& grid_;
  pillion::layout::Tiling tiling_;
  std::deque<Piece> blocks_;
  std::vector<std::vector<double>> values_;
  std::deque<TreeBuilder> builders_;
  std::vector<PartialTree> parts_;
  std::vector<std::vector<Decided>> decided_;
  std::vector<std::vector<Wrap>> wraps_;
};

}  // namespace bench
