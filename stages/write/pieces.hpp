// SPDX-License-Identifier: BSD-3-Clause
// The second phase: samples of a cell of the bitmask's tree in the order of their HZ addresses. One
// pass in Z order reads each sample once, and puts it behind those of its level; the runs of all
// levels then lie one after the other.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
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
  int64_t corner = 0;  ///< in samples of the box's array
  int bits = 0;
};

/// Calls use(BoxCell, std::vector<Piece>) for all cells of a box, with their pieces up to the
/// finest level that is stored.
template <class Use>
void for_each_cell(const idx::Dataset& dataset, const SampleBox& box, size_t number, Use&& use) {
  const auto extent = box.extent();
  for (const auto& cell : idx::cells_of(dataset.mask, box.lo, box.hi)) {
    const int64_t corner =
        (cell.corner[0] - box.lo[0]) +
        extent[0] * ((cell.corner[1] - box.lo[1]) + extent[1] * (cell.corner[2] - box.lo[2]));
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
    use(BoxCell{number, corner, cell.bits}, pieces);
  }
}

/// Where in arrays the samples of cells are, for boxes and cells of all sizes.
class CellOffsets {
 public:
  const idx::Offsets& of(const idx::Bitmask& mask, const idx::Point& extent, int bits) {
    const auto key = std::make_pair(extent, bits);
    const auto at = known_.find(key);
    if (at != known_.end()) return at->second;
    const idx::Point strides{1, extent[0], extent[0] * extent[1]};
    return known_.emplace(key, idx::Offsets(mask, bits, strides)).first->second;
  }

 private:
  std::map<std::pair<idx::Point, int>, idx::Offsets> known_;
};

/// Elements of an array, `stride` bytes apart, of which one field takes `size` bytes, the next
/// field the next as many, and so on.
struct Elements {
  const std::byte* first = nullptr;
  size_t stride = 0, size = 0;
};

namespace detail {

/// `known` is the size if that is known when this is compiled, or 0.
template <size_t known>
void encode(const Elements& from, const idx::Offsets& offsets, int bits,
            const std::vector<std::byte*>& to) {
  const auto stride = static_cast<int64_t>(from.stride);
  const size_t size = known == 0 ? from.size : known;
  std::array<size_t, 64> next{};  // byte of the next sample of each level
  for (int j = 1; j <= bits; ++j) next[static_cast<size_t>(j)] = (size_t{1} << (j - 1)) * size;
  const int64_t count = int64_t{1} << bits;
  for (int64_t z = 0; z < count; ++z) {
    const auto level =
        z == 0 ? 0 : static_cast<size_t>(bits - std::countr_zero(static_cast<uint64_t>(z)));
    const std::byte* sample = from.first + offsets[z] * stride;
    for (std::byte* field : to) {
      std::memcpy(field + next[level], sample, size);
      sample += size;
    }
    next[level] += size;
  }
}

}  // namespace detail

/// Puts a cell's samples in order, for as many fields as there are places.
inline void encode(const Elements& from, const idx::Offsets& offsets, int bits,
                   const std::vector<std::byte*>& to) {
  switch (from.size) {
    case 4: return detail::encode<4>(from, offsets, bits, to);
    case 8: return detail::encode<8>(from, offsets, bits, to);
    case 12: return detail::encode<12>(from, offsets, bits, to);
    case 24: return detail::encode<24>(from, offsets, bits, to);
    default: return detail::encode<0>(from, offsets, bits, to);
  }
}

}  // namespace pillion::stages
