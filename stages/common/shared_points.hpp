// SPDX-License-Identifier: BSD-3-Clause
// Points that several blocks of an unstructured mesh have, on any peers: each of them counts in one
// block alone, so that counts do not depend on how the mesh is divided. They are found by their
// ids, and again only when cells have changed.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <pillion/stage.hpp>
#include <span>
#include <unordered_set>
#include <vector>

#include "cells.hpp"

namespace pillion::stages {

class SharedPoints {
 public:
  /// Sees to it that `repeated` knows the blocks of an input, at the first call of a publication.
  /// `weights(block)` says by flags which of its points count. [peers]
  template <class Weights>
  void look(const stage::Step& step, int32_t input, Weights&& weights) {
    if (step_ == step.index()) return;
    step_ = step.index();
    // All peers have to meet again if the blocks of one have changed.
    std::vector<int32_t> changed{are_known(step, input) ? 0 : 1};
    step.sum(std::span(changed));
    if (changed[0] == 0) return;
    of_blocks_.clear();
    ask(step, input, weights);
  }

  /// By point of a block: 1 if the point counts in another one. Empty if all of them count.
  [[nodiscard]] std::span<const uint8_t> repeated(int64_t block) const {
    const auto at = of_blocks_.find(block);
    return at == of_blocks_.end() ? std::span<const uint8_t>() : at->second.repeated;
  }

 private:
  struct OfBlock {
    int64_t version = 0;
    std::vector<uint8_t> repeated;
  };

  [[nodiscard]] bool are_known(const stage::Step& step, int32_t input) const {
    if (static_cast<size_t>(step.block_count(input)) != of_blocks_.size()) return false;
    for (int32_t b = 0; b < step.block_count(input); ++b) {
      const auto block = step.block(input, b);
      const auto at = of_blocks_.find(block.id());
      const int64_t version = block.raw().topology_version;
      if (at == of_blocks_.end() || version == 0 || at->second.version != version) return false;
    }
    return true;
  }

  /// The peer that decides which of the blocks with a point has it.
  static size_t judge_of(int64_t id, int32_t peers) {
    // Spread over all bits by a multiple of 2^64 over the golden ratio.
    return static_cast<size_t>((static_cast<uint64_t>(id) * 0x9e3779b97f4a7c15u >> 32) %
                               static_cast<uint64_t>(peers));
  }

  template <class Weights>
  void ask(const stage::Step& step, int32_t input, Weights& weights) {
    const auto peers = static_cast<size_t>(step.peers());
    std::vector<std::vector<int64_t>> ids(peers);
    std::vector<std::vector<uint8_t*>> places(peers);
    for (int32_t b = 0; b < step.block_count(input); ++b) {
      const auto block = step.block(input, b);
      auto& of = of_blocks_[block.id()];
      of.version = block.raw().topology_version;
      const auto* known =
          block.raw().connectivity == nullptr ? nullptr : block.raw().connectivity->point_ids;
      if (known == nullptr) continue;  // without ids a point counts in each block
      of.repeated.assign(static_cast<size_t>(block.point_count()), 0);
      const CellWeights own = weights(block);
      for (int64_t p = 0; p < block.point_count(); ++p) {
        if (own.flags != nullptr && !own.counts(p, 0, 0)) continue;
        const size_t judge = judge_of(known[p], step.peers());
        ids[judge].push_back(known[p]);
        places[judge].push_back(&of.repeated[static_cast<size_t>(p)]);
      }
    }
    const auto verdicts = judged(step, ids);
    for (size_t peer = 0; peer < peers; ++peer)
      for (size_t i = 0; i < places[peer].size(); ++i) *places[peer][i] = verdicts[peer][i];
  }

  /// For each id that went to a peer, whether another block, of a lower peer or before it, has it.
  static std::vector<std::vector<uint8_t>> judged(const stage::Step& step,
                                                  const std::vector<std::vector<int64_t>>& ids) {
    std::vector<stage::Message> questions;
    for (size_t peer = 0; peer < ids.size(); ++peer)
      if (!ids[peer].empty())
        questions.push_back({static_cast<int32_t>(peer), std::as_bytes(std::span(ids[peer]))});
    // Behind this exchange every peer has all questions about its ids; messages come in the order
    // of peers.
    std::map<int32_t, std::vector<uint8_t>> answers;
    std::unordered_set<int64_t> seen;
    for (const auto& [peer, bytes] : step.exchange(questions)) {
      auto& to = answers[peer];
      for (size_t at = 0; at < bytes.size(); at += sizeof(int64_t)) {
        int64_t id = 0;
        std::memcpy(&id, bytes.data() + at, sizeof id);
        to.push_back(seen.insert(id).second ? 0 : 1);
      }
    }
    std::vector<stage::Message> out;
    for (const auto& [peer, of] : answers) out.push_back({peer, std::as_bytes(std::span(of))});
    std::vector<std::vector<uint8_t>> verdicts(ids.size());
    for (const auto& [peer, bytes] : step.exchange(out)) {
      const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
      verdicts[static_cast<size_t>(peer)].assign(data, data + bytes.size());
    }
    return verdicts;
  }

  int64_t step_ = -1;
  std::map<int64_t, OfBlock> of_blocks_;
};

}  // namespace pillion::stages
