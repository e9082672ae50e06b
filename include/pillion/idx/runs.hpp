// SPDX-License-Identifier: BSD-3-Clause
// From boxes of samples to runs of HZ addresses. A box that the bitmask never splits unevenly, a
// cell of its tree, has one run for each level below it; any other box is made of such cells.
#pragma once

#include <cstdint>
#include <pillion/idx/bitmask.hpp>
#include <vector>

namespace pillion::idx {

/// A box of 2^bits samples that differ in the last bits of their Z address only.
struct Cell {
  Point corner{};
  int bits = 0;
  bool operator==(const Cell&) const = default;
};

/// The fewest cells that make up the box [lo, hi), in Z order.
std::vector<Cell> cells_of(const Bitmask& mask, const Point& lo, const Point& hi);

/// The cells of at most 2^bits samples that make up a cell, in Z order.
std::vector<Cell> split(const Bitmask& mask, const Cell& cell, int bits);

/// Samples with neighbouring HZ addresses.
struct Run {
  int64_t address = 0, count = 0;
  bool operator==(const Run&) const = default;
};

/// The run of a cell on each of its levels. Number 0 is its corner alone. Number j >= 1 has 2^(j-1)
/// samples, at the Z addresses (2t + 1) << (bits - j) within the cell.
Run run_of(const Bitmask& mask, const Cell& cell, int number);

/// All runs of a box in order of addresses; runs that touch are joined on each level.
std::vector<Run> runs_of(const Bitmask& mask, const Point& lo, const Point& hi);

/// Where samples of a cell are in an array, by their Z address within the cell.
class Offsets {
 public:
  /// `strides` are distances in the array between neighbours along each axis.
  Offsets(const Bitmask& mask, int bits, const Point& strides);
  [[nodiscard]] int64_t operator[](int64_t z) const {
    return low_[static_cast<size_t>(z) & (low_.size() - 1)] +
           high_[static_cast<size_t>(z) >> low_bits];
  }

 private:
  static constexpr int low_bits = 10;
  std::vector<int64_t> low_, high_;
};

}  // namespace pillion::idx
