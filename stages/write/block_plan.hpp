// SPDX-License-Identifier: BSD-3-Clause
// Who writes which block. A block of which one peer has every sample is written by that one; any
// other by an aggregator, to which those that have parts of it send them. Aggregators follow from
// the block's number, so nobody has to ask; what they will get, they are told when boxes change.
#pragma once

#include <algorithm>
#include <map>
#include <pillion/idx/blocks.hpp>
#include <vector>

#include "exchange.hpp"
#include "pieces.hpp"

namespace pillion::stages {

/// Samples of the dataset's box in a block.
inline int64_t samples_in(const idx::Dataset& dataset, int64_t block) {
  const auto grid = idx::grid_of(dataset, block);
  int64_t count = 1;
  for (size_t a = 0; a < 3; ++a) {
    const auto below = [&](int64_t edge) {  // of the grid's points, those below an edge
      const int64_t k = (edge - grid.origin[a] + grid.stride[a] - 1) / grid.stride[a];
      return std::clamp<int64_t>(edge <= grid.origin[a] ? 0 : k, 0, grid.extent[a]);
    };
    count *= below(dataset.hi[a]) - below(dataset.lo[a]);
  }
  return count;
}

/// Deals out blocks that several peers have parts of: evenly, neighbours together.
struct Aggregators {
  size_t count = 1;    ///< of aggregators
  size_t peers = 1;    ///< over which they are spread
  int64_t blocks = 1;  ///< below which there are such blocks, as a rule; they repeat after that

  [[nodiscard]] size_t of(int64_t block) const {
    const auto n = static_cast<int64_t>(count);
    const auto number = static_cast<size_t>(block % blocks * n / blocks);
    return number * peers / count;
  }
};

/// Part of a block that comes from a peer.
struct Landing {
  int64_t block = 0, slot = 0, count = 0;  ///< in samples
  int64_t peer = 0, at = 0;                ///< where in which peer's message, in samples
};

struct BlockPlan {
  std::vector<Piece> own;                ///< of blocks that this peer writes alone, by block
  std::vector<std::vector<Piece>> sent;  ///< by aggregator, in order of blocks
  std::vector<Landing> landing;          ///< what comes from peers, by block
};

/// Tells aggregators what they will get. [peers]
inline std::vector<Landing> tell(const std::vector<std::vector<Piece>>& sent,
                                 const Exchange& exchange) {
  std::vector<Bytes> out(exchange.size());
  for (size_t p = 0; p < out.size(); ++p) {
    int64_t at = 0;
    for (const auto& piece : sent[p]) {
      const Landing landing{piece.block, piece.slot, piece.count, exchange.rank(), at};
      const auto* bytes = reinterpret_cast<const std::byte*>(&landing);
      out[p].insert(out[p].end(), bytes, bytes + sizeof landing);
      at += piece.count;
    }
  }
  std::vector<Landing> landing;
  for (const auto& bytes : exchange(out)) {
    const size_t before = landing.size();
    landing.resize(before + bytes.size() / sizeof(Landing));
    if (!bytes.empty()) std::memcpy(landing.data() + before, bytes.data(), bytes.size());
  }
  std::stable_sort(landing.begin(), landing.end(),
                   [](const Landing& a, const Landing& b) { return a.block < b.block; });
  return landing;
}

/// `direct`: every peer writes what it has, whoever else has the rest of a block. [peers]
inline BlockPlan plan_blocks(const idx::Dataset& dataset, const std::vector<SampleBox>& boxes,
                             const Aggregators& aggregators, bool direct,
                             const Exchange& exchange) {
  std::map<int64_t, std::vector<Piece>> by_block;
  for (size_t b = 0; b < boxes.size(); ++b)
    for_each_piece(dataset, boxes[b], b, [&](const Piece& p) { by_block[p.block].push_back(p); });
  BlockPlan plan;
  plan.sent.resize(exchange.size());
  for (const auto& [block, pieces] : by_block) {
    int64_t held = 0;
    for (const auto& piece : pieces) held += piece.count;
    const bool alone = direct || held == samples_in(dataset, block);
    auto& to = alone ? plan.own : plan.sent[aggregators.of(block)];
    to.insert(to.end(), pieces.begin(), pieces.end());
  }
  plan.landing = tell(plan.sent, exchange);
  return plan;
}

}  // namespace pillion::stages
