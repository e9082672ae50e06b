// SPDX-License-Identifier: BSD-3-Clause
// The cells at or above some level, sorted by basin and then from the highest down, with running
// sums: what a basin has above any higher threshold is one entry, found by halving. So queries
// after the first look at basins, not at cells.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "grid.hpp"
#include "summand.hpp"
#include "tree.hpp"

namespace pillion::stages {

/// What cells add up to. Places are counted in cells.
struct Sums {
  int64_t cells = 0;
  Cell places{};
  double sum = 0;  ///< of the field
};

class Census {
 public:
  /// Counts cells of a piece, whose values are given by place in the piece. `cells` are the places
  /// of all cells at or above `level`.
  template <class T>
  Census(const Piece& piece, const T* values, const Tree& tree, double level,
         std::span<const uint32_t> cells, std::span<const Summand> summands)
      : level_(level), width_(summands.size()) {
    sort(tree, values, cells);
    add_up(piece, summands);
  }

  [[nodiscard]] double level() const { return level_; }

  /// Calls use(place of its top, sums, sums of summands) for each basin with cells at or above
  /// `boundary`, which is not below the level.
  template <class F>
  void for_each_basin(double boundary, F&& use) const {
    for (const Row& row : rows_) {
      if (!(top(row) >= boundary)) return;
      const auto begin = values_.begin() + row.begin;
      const auto end = std::partition_point(begin, values_.begin() + row.end,
                                            [&](double v) { return v >= boundary; });
      const auto last = static_cast<size_t>(end - values_.begin()) - 1;
      use(row.place, running_[last], summed_.data() + last * width_);
    }
  }

 private:
  /// Cells [begin, end) of a basin.
  struct Row {
    uint32_t basin, begin, end;
    Place place;
  };
  [[nodiscard]] double top(const Row& row) const { return values_[row.begin]; }

  /// Basins with the highest top first, and so their cells, for queries read on from the first.
  template <class T>
  void sort(const Tree& tree, const T* values, std::span<const uint32_t> cells) {
    std::vector<uint32_t> next(tree.places.size());
    for (const uint32_t cell : cells)
      if (next[tree.label[cell]]++ == 0) rows_.push_back({tree.label[cell], 0, 0, {}});
    for (auto& row : rows_) row.end = next[row.basin];
    std::vector<T> tops(next.size(), std::numeric_limits<T>::lowest());
    for (const uint32_t cell : cells) {
      auto& top = tops[tree.label[cell]];
      top = std::max(top, values[cell]);
    }
    std::sort(rows_.begin(), rows_.end(), [&](const Row& a, const Row& b) {
      return tops[a.basin] > tops[b.basin] || (tops[a.basin] == tops[b.basin] && a.basin < b.basin);
    });
    uint32_t begin = 0;
    for (auto& row : rows_) {
      row.place = tree.places[row.basin];
      row.begin = next[row.basin] = begin;
      begin = row.end += begin;
    }
    cells_.resize(cells.size());
    for (const uint32_t cell : cells) cells_[next[tree.label[cell]]++] = cell;
    values_.resize(cells.size());
    for (const Row& row : rows_) {
      // Of equal values either all are taken or none, but sums should not depend on luck.
      std::sort(cells_.begin() + row.begin, cells_.begin() + row.end, [&](uint32_t a, uint32_t b) {
        return values[a] > values[b] || (values[a] == values[b] && a < b);
      });
      for (uint32_t i = row.begin; i < row.end; ++i)
        values_[i] = static_cast<double>(values[cells_[i]]);
    }
  }

  void add_up(const Piece& piece, std::span<const Summand> summands) {
    running_.resize(cells_.size());
    summed_.resize(cells_.size() * width_);
    const Cell strides = piece.strides();
    for (const Row& row : rows_) {
      Sums sums;
      std::vector<double> others(width_);
      for (uint32_t i = row.begin; i < row.end; ++i) {
        const int64_t z = cells_[i] / strides[2], rest = cells_[i] - z * strides[2];
        const int64_t y = rest / strides[1];
        const Cell at = {piece.lo[0] + rest - y * strides[1], piece.lo[1] + y, piece.lo[2] + z};
        ++sums.cells;
        for (size_t d = 0; d < 3; ++d) sums.places[d] += at[d];
        sums.sum += values_[i];
        running_[i] = sums;
        for (size_t s = 0; s < width_; ++s)
          summed_[i * width_ + s] = others[s] += summands[s].of(at, 1, &values_[i]);
      }
    }
    cells_ = {};
  }

  double level_;
  size_t width_;
  std::vector<Row> rows_;
  std::vector<uint32_t> cells_;
  std::vector<double> values_;
  std::vector<Sums> running_;
  std::vector<double> summed_;
};

}  // namespace pillion::stages
