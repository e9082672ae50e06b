// SPDX-License-Identifier: BSD-3-Clause
// The parts of blocks that the boxes of a peer have, and the writer of each block. A box is made of
// cells of the bitmask's tree; an encoded cell has its levels one after the other, and for each
// level the samples of one run of HZ addresses. A peer that has every sample of a block has it
// whole; any other block is put together by a peer that follows from the block's number, to which
// others send their parts of it. Peers announce the parts that they will send when boxes change.
#pragma once

#include <algorithm>
#include <map>
#include <pillion/idx/blocks.hpp>
#include <pillion/idx/runs.hpp>
#include <utility>
#include <vector>

#include "../../common/messages.hpp"
#include "boxes.hpp"

namespace pillion::stages::write_idx {

/// Part of a block: samples that follow each other in it, and in their encoded cell.
struct BlockRun {
  int64_t block = 0, slot = 0, count = 0;  ///< the samples of a block
  int64_t at = 0;                          ///< where they begin in the cell
};

/// A cell of one of this peer's boxes.
struct BoxCell {
  size_t box = 0;
  idx::Point corner{};
  int bits = 0;
};

/// Calls use(BoxCell, std::vector<BlockRun>) for all cells of a box, with their pieces up to the
/// finest level that is stored.
template <class Use>
void for_each_cell(const idx::Dataset& dataset, const BoxShape& box, size_t number, Use&& use) {
  // Smaller ones than could be need less memory while they are encoded.
  const int most_bits = dataset.bits_per_block + dataset.left_out + 3;
  std::vector<idx::Cell> cells;
  for (const auto& large : idx::cells_of(dataset.mask, box.first, box.hi))
    for (const auto& cell : idx::split(dataset.mask, large, most_bits)) cells.push_back(cell);
  for (const auto& cell : cells) {
    std::vector<BlockRun> pieces;
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

/// Samples of a block that are in [lo, hi).
inline int64_t samples_in(const idx::Dataset& dataset, int64_t block, const idx::Point& lo,
                          const idx::Point& hi) {
  const auto grid = idx::grid_of(dataset, block);
  int64_t count = 1;
  for (size_t a = 0; a < 3; ++a) {
    const auto below = [&](int64_t edge) {  // of the grid's points, those below an edge
      const int64_t k = (edge - grid.origin[a] + grid.stride[a] - 1) / grid.stride[a];
      return std::clamp<int64_t>(edge <= grid.origin[a] ? 0 : k, 0, grid.extent[a]);
    };
    count *= below(hi[a]) - below(lo[a]);
  }
  return count;
}

/// Deals out blocks that several peers have parts of: evenly, neighbours together.
struct BlockOwners {
  size_t peers = 1;
  int64_t blocks = 1;  ///< below which there are such blocks, as a rule; they repeat after that

  [[nodiscard]] size_t of(int64_t block) const {
    return static_cast<size_t>(block % blocks * static_cast<int64_t>(peers) / blocks);
  }
};

/// Files of 256 MiB; of less if there would be fewer than 16, but not of less than 32 MiB; and of
/// more if there would be more than 512. The data alone decide: a run on more ranks makes no more
/// files. Blocks are counted with those beyond the mesh, and bytes of data without.
inline int64_t usual_blocks_per_file(int64_t data_bytes, int64_t blocks, int64_t block_bytes) {
  constexpr int64_t least = int64_t{32} << 20, target = int64_t{256} << 20;
  constexpr int64_t least_files = 16, most_files = 512;
  const int64_t size = std::clamp(data_bytes / least_files, least, target);
  int64_t out = 1;
  while (out < blocks && (2 * out * block_bytes <= size || blocks / out > most_files)) out *= 2;
  return out;
}

/// Part of a block that comes from a peer.
struct Landing {
  int64_t block = 0, slot = 0, count = 0;  ///< in samples
  int64_t peer = 0, at = 0;                ///< where in which peer's message, in samples
};

/// Part of a message to the peer that puts a block together.
struct Sent {
  size_t peer = 0;
  int64_t at = 0, count = 0;  ///< which samples of the cell
  int64_t to = 0;             ///< where in the message, in samples
};

struct CellPlan {
  BoxCell cell;
  std::vector<int32_t> parts_of_cubes;
  std::vector<BlockRun> whole;  ///< blocks that the cell has all of
  std::vector<BlockRun> parts;  ///< of other blocks that this peer writes
  std::vector<Sent> sent;
};

struct BlockPlan {
  std::vector<CellPlan> cells;
  std::vector<int64_t> samples_sent;  ///< by peer
  std::vector<int64_t> samples_come;  ///< by peer
  std::vector<Landing> landing;       ///< what comes, by block
};

/// Tells peers what they will get. [peers]
inline void tell(const std::vector<std::vector<Landing>>& sent, const stage::Step& step,
                 BlockPlan& plan) {
  plan.samples_come.assign(sent.size(), 0);
  plan.landing = exchange_values(step, sent);
  for (const auto& landing : plan.landing)
    plan.samples_come[static_cast<size_t>(landing.peer)] += landing.count;
  std::stable_sort(plan.landing.begin(), plan.landing.end(),
                   [](const Landing& a, const Landing& b) { return a.block < b.block; });
}

/// `direct`: every peer writes its samples, also of blocks that it has in part. [peers]
inline BlockPlan plan_blocks(const idx::Dataset& dataset, const std::vector<BoxShape>& boxes,
                             const BlockOwners& owners, bool direct, const stage::Step& step) {
  const auto peers = static_cast<size_t>(step.peers());
  BlockPlan plan;
  std::vector<std::vector<BlockRun>> pieces;
  std::map<int64_t, int64_t> held;  // samples of each block
  for (size_t b = 0; b < boxes.size(); ++b) {
    std::map<int64_t, int64_t> of_box;
    for_each_cell(dataset, boxes[b], b, [&](const BoxCell& cell, std::vector<BlockRun>& found) {
      for (const auto& piece : found)
        of_box.try_emplace(piece.block,
                           samples_in(dataset, piece.block, boxes[b].lo, boxes[b].end));
      // Of some blocks a box has nothing but what is beyond the mesh; others write these.
      std::erase_if(found, [&](const BlockRun& p) { return of_box[p.block] == 0; });
      plan.cells.push_back({cell, {}, {}, {}, {}});
      pieces.push_back(std::move(found));
    });
    for (const auto& [block, count] : of_box) held[block] += count;
  }
  plan.samples_sent.assign(peers, 0);
  std::vector<std::vector<Landing>> sent(peers);
  for (size_t c = 0; c < pieces.size(); ++c)
    for (const auto& piece : pieces[c]) {
      if (piece.count == dataset.block_samples()) {
        plan.cells[c].whole.push_back(piece);
      } else if (direct ||
                 held[piece.block] == samples_in(dataset, piece.block, dataset.lo, dataset.hi)) {
        plan.cells[c].parts.push_back(piece);
      } else {
        const size_t peer = owners.of(piece.block);
        int64_t& to = plan.samples_sent[peer];
        plan.cells[c].sent.push_back({peer, piece.at, piece.count, to});
        sent[peer].push_back({piece.block, piece.slot, piece.count, step.peer(), to});
        to += piece.count;
      }
    }
  tell(sent, step, plan);
  return plan;
}

}  // namespace pillion::stages::write_idx
