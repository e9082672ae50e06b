// SPDX-License-Identifier: BSD-3-Clause
// Which parts of which blocks the boxes of a peer have. A box is made of cells of the bitmask's
// tree; an encoded cell has its levels one after the other, and of each level the samples of one
// run of HZ addresses.
#pragma once

#include <algorithm>
#include <pillion/idx/blocks.hpp>
#include <pillion/idx/runs.hpp>
#include <utility>
#include <vector>

#include "box.hpp"

namespace pillion::stages {

/// Part of a block: samples that follow each other in it, and in their encoded cell.
struct Piece {
  int64_t block = 0, slot = 0, count = 0;  ///< which samples of which block
  int64_t at = 0;                          ///< where they begin in the cell
};

/// A cell of one of this peer's boxes.
struct BoxCell {
  size_t box = 0;
  idx::Point corner{};
  int bits = 0;
};

/// Calls use(BoxCell, std::vector<Piece>) for all cells of a box, with their pieces up to the
/// finest level that is stored.
template <class Use>
void for_each_cell(const idx::Dataset& dataset, const BoxShape& box, size_t number, Use&& use) {
  // Smaller ones than could be need less memory while they are encoded.
  const int most_bits = dataset.bits_per_block + dataset.left_out + 3;
  std::vector<idx::Cell> cells;
  for (const auto& large : idx::cells_of(dataset.mask, box.first, box.hi))
    for (const auto& cell : idx::split(dataset.mask, large, most_bits)) cells.push_back(cell);
  for (const auto& cell : cells) {
    std::vector<Piece> pieces;
    int64_t at = 0;
    for (int n = 0; n <= cell.bits; ++n) {
      const auto run = idx::run_of(dataset.mask, cell, n);
      if (idx::Bitmask::level_of(run.address) > dataset.finest()) break;
      for (int64_t done = 0; done < run.count;) {
        const int64_t address = run.address + done;
        const int64_t slot = address & (dataset.block_samples() - 1);
        const int64_t count = std::min(run.count - done, dataset.block_samples() - slot);
        pieces.push_back({address >> dataset.bits_per_block, slot, count, at});
        done += count;
        at += count;
      }
    }
    use(BoxCell{number, cell.corner, cell.bits}, pieces);
  }
}

}  // namespace pillion::stages
