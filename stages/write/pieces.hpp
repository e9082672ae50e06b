// SPDX-License-Identifier: BSD-3-Clause
// The second phase: which samples of this peer's boxes go where in which block. A piece is a run
// of HZ addresses within one block; its samples are gathered from the box in that order.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <pillion/idx/blocks.hpp>
#include <pillion/idx/runs.hpp>
#include <span>
#include <vector>

#include "box.hpp"

namespace pillion::stages {

struct Piece {
  int64_t block = 0;
  int64_t slot = 0, count = 0;  ///< samples of the block
  size_t box = 0;
  int64_t corner = 0;  ///< of its cell, in samples of the box's array
  int bits = 0;        ///< of its cell
  int64_t first = 0;   ///< number of its first sample in the cell's run
  int number = 0;      ///< of that run
};

/// Where in a box's array the samples of cells are, for cells of all sizes.
class CellOffsets {
 public:
  const idx::Offsets& of(const idx::Bitmask& mask, const idx::Point& extent, int bits) {
    const auto key = std::make_pair(extent, bits);
    auto at = known_.find(key);
    if (at == known_.end())
      at = known_.emplace(key, idx::Offsets(mask, bits, {1, extent[0], extent[0] * extent[1]}))
               .first;
    return at->second;
  }

 private:
  std::map<std::pair<idx::Point, int>, idx::Offsets> known_;
};

/// Calls use(Piece) for all pieces of a box, up to a level.
template <class Use>
void for_each_piece(const idx::Dataset& dataset, const SampleBox& box, size_t number, Use&& use) {
  const auto& mask = dataset.mask;
  const auto extent = box.extent();
  for (const auto& cell : idx::cells_of(mask, box.lo, box.hi)) {
    const int64_t corner =
        (cell.corner[0] - box.lo[0]) +
        extent[0] * ((cell.corner[1] - box.lo[1]) + extent[1] * (cell.corner[2] - box.lo[2]));
    for (int n = 0; n <= cell.bits; ++n) {
      const auto run = idx::run_of(mask, cell, n);
      if (idx::Bitmask::level_of(run.address) > dataset.finest()) continue;
      for (int64_t done = 0; done < run.count;) {
        const int64_t address = run.address + done;
        const int64_t slot = address & (dataset.block_samples() - 1);
        const int64_t count = std::min(run.count - done, dataset.block_samples() - slot);
        use(Piece{address >> dataset.bits_per_block, slot, count, number, corner, cell.bits, done,
                  n});
        done += count;
      }
    }
  }
}

/// Samples of a field in a box's array: `size` bytes of every `stride`.
struct Elements {
  const std::byte* array = nullptr;
  size_t stride = 0, size = 0;
};

namespace detail {

template <size_t size>
void gather(const Elements& from, const idx::Offsets& offsets, int64_t z, int64_t step,
            int64_t count, std::byte* to) {
  const auto stride = static_cast<int64_t>(from.stride);
  const size_t bytes = size == 0 ? from.size : size;
  for (int64_t t = 0; t < count; ++t, z += step, to += bytes)
    std::memcpy(to, from.array + offsets[z] * stride, bytes);
}

}  // namespace detail

/// Puts the samples of a piece one after the other.
inline void gather(const Piece& piece, Elements from, const idx::Offsets& offsets, std::byte* to) {
  from.array += piece.corner * static_cast<int64_t>(from.stride);
  const int shift = piece.bits - piece.number;
  const int64_t z = piece.number == 0 ? 0 : (2 * piece.first + 1) << shift;
  const int64_t step = piece.number == 0 ? 1 : int64_t{2} << shift;
  switch (from.size) {
    case 4: return detail::gather<4>(from, offsets, z, step, piece.count, to);
    case 8: return detail::gather<8>(from, offsets, z, step, piece.count, to);
    case 12: return detail::gather<12>(from, offsets, z, step, piece.count, to);
    case 24: return detail::gather<24>(from, offsets, z, step, piece.count, to);
    default: return detail::gather<0>(from, offsets, z, step, piece.count, to);
  }
}

}  // namespace pillion::stages
