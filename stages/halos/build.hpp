// SPDX-License-Identifier: BSD-3-Clause
// The merge tree of a mesh that many ranks have pieces of. Each rank finds its own part, after one
// exchange with its neighbours of the cells that paths end in; then parts are merged pairwise, in
// as many rounds as the number of ranks has binary digits, each rank keeping what was decided.
// Messages are arrays of 8-byte words, in which lists of values follow each other.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tree.hpp"

namespace pillion::stages::halos {

using Words = std::vector<int64_t>;
using WordSpan = std::span<const int64_t>;

/// Adds values to the end of words; they must consist of whole words.
template <class R>
void pack(Words& words, const std::vector<R>& values) {
  static_assert(sizeof(R) % sizeof(int64_t) == 0 && std::is_trivially_copyable_v<R>);
  const size_t at = words.size(), count = values.size() * (sizeof(R) / sizeof(int64_t));
  words.resize(at + 1 + count);
  words[at] = static_cast<int64_t>(values.size());
  if (count != 0) std::memcpy(words.data() + at + 1, values.data(), count * sizeof(int64_t));
}

/// Reads values that were packed, and moves `at` behind them.
template <class R>
std::vector<R> unpack(WordSpan words, size_t& at) {
  std::vector<R> values(static_cast<size_t>(words[at++]));
  const size_t count = values.size() * (sizeof(R) / sizeof(int64_t));
  if (count != 0)
    std::memcpy(static_cast<void*>(values.data()), words.data() + at, count * sizeof(int64_t));
  at += count;
  return values;
}

/// A message begins where memory was allocated, so its words are aligned.
inline WordSpan words_of(const stage::Message& message) {
  return {reinterpret_cast<const int64_t*>(message.bytes.data()),
          message.bytes.size() / sizeof(int64_t)};
}

/// The same number of words from every peer, in their order, on all peers. [peers]
inline Words all_words(const stage::Step& step, const Words& mine) {
  Words out(mine.size() * static_cast<size_t>(step.peers()));
  std::copy(mine.begin(), mine.end(),
            out.begin() + static_cast<std::ptrdiff_t>(mine.size()) * step.peer());
  step.sum(std::span(out));
  return out;
}

/// Sends words to some peers, each with its number; calls use(words) with what came from each, in
/// ascending order of peers. [peers]
template <class Use>
void exchange_words(const stage::Step& step, const std::vector<std::pair<int, Words>>& out,
                    Use&& use) {
  std::vector<stage::Message> sent;
  for (const auto& [peer, words] : out) sent.push_back({peer, std::as_bytes(std::span(words))});
  for (const auto& message : step.exchange(sent)) use(words_of(message));
}

/// Who has which cells, as far as the ranks beside this one are concerned, itself included.
class Neighbourhood {
 public:
  Neighbourhood(const stage::Step& step, const Grid& grid, const Piece& piece) : grid_(grid) {
    Words mine(piece.inner_lo.begin(), piece.inner_lo.end());
    mine.insert(mine.end(), piece.inner_hi.begin(), piece.inner_hi.end());
    const Words all = all_words(step, mine);
    for (int r = 0; r < step.peers(); ++r) {
      Piece other;
      for (size_t d = 0; d < 3; ++d) {
        other.inner_lo[d] = all[static_cast<size_t>(r) * 6 + d];
        other.inner_hi[d] = all[static_cast<size_t>(r) * 6 + 3 + d];
      }
      if (!are_beside(piece, other)) continue;
      ranks_.push_back(r);
      pieces_.push_back(other);
    }
  }

  [[nodiscard]] const std::vector<int>& ranks() const { return ranks_; }
  /// Which of them has a cell.
  [[nodiscard]] size_t owner(int64_t id) const {
    const Cell at = grid_.cell(id);
    for (size_t i = 0; i < pieces_.size(); ++i)
      if (pieces_[i].owns(at)) return i;
    throw Error(ErrorCode::Internal, "no rank beside this one has cell " + std::to_string(id));
  }

 private:
  [[nodiscard]] bool are_beside(const Piece& a, const Piece& b) const {
    for (size_t d = 0; d < 3; ++d) {
      if (a.inner_lo[d] >= a.inner_hi[d] || b.inner_lo[d] >= b.inner_hi[d]) return false;
      bool near = false;
      for (int64_t mesh = grid_.periodic[d] ? -1 : 0; mesh <= (grid_.periodic[d] ? 1 : 0); ++mesh) {
        const int64_t shift = mesh * grid_.cells[d];
        near = near ||
               (b.inner_lo[d] + shift <= a.inner_hi[d] && b.inner_hi[d] + shift >= a.inner_lo[d]);
      }
      if (!near) return false;
    }
    return true;
  }

  const Grid& grid_;
  std::vector<int> ranks_;
  std::vector<Piece> pieces_;
};

/// Tells the owners of cells that paths of this rank end in them; returns those of its own that
/// others', or its own across a periodic face, end in.
inline std::vector<Vertex> exchange_asks(const stage::Step& step, const Neighbourhood& beside,
                                         const std::vector<Vertex>& asks) {
  std::vector<std::vector<Vertex>> of(beside.ranks().size());
  for (const auto& cell : asks) of[beside.owner(cell.id)].push_back(cell);
  std::vector<std::pair<int, Words>> out;
  for (size_t i = 0; i < of.size(); ++i)
    pack(out.emplace_back(beside.ranks()[i], Words{}).second, of[i]);
  std::vector<Vertex> asked;
  exchange_words(step, out, [&](WordSpan words) {
    size_t at = 0;
    const auto cells = unpack<Vertex>(words, at);
    asked.insert(asked.end(), cells.begin(), cells.end());
  });
  return asked;
}

/// Merges the parts of all ranks and collects what is decided of the regions that this one is in.
class Merging {
 public:
  Merging(const stage::Step& step, PartialTree part) : step_(step), part_(std::move(part)) {
    const int paired = static_cast<int>(std::bit_floor(static_cast<unsigned>(step.peers())));
    const int rank = step.peer(), beyond = step.peers() - paired;
    // Ranks beyond the greatest power of two are merged with one that takes part in the rounds.
    if (rank >= paired) give(rank - paired);
    else meet(rank < beyond ? rank + paired : -1, false);
    for (int distance = 1; distance < paired; distance *= 2)
      meet(rank < paired ? rank ^ distance : -1, 2 * distance == paired);
    report(rank >= paired ? rank - paired : rank < beyond ? rank + paired : -1, rank >= paired);
  }
  [[nodiscard]] const std::vector<Decided>& decided() const { return decided_; }
  [[nodiscard]] const std::vector<Wrap>& wraps() const { return wraps_; }

 private:
  /// Sends words to one peer, or to none if `with` is -1; calls use(words) if one has sent any
  /// here.
  template <class Use>
  void swap(int with, Words out, Use&& use) const {
    std::vector<std::pair<int, Words>> messages;
    if (with >= 0) messages.emplace_back(with, std::move(out));
    exchange_words(step_, messages, use);
  }
  [[nodiscard]] Words packed() const {
    Words words;
    pack(words, part_.nodes);
    pack(words, part_.edges);
    return words;
  }
  void give(int to) {
    swap(to, packed(), [](WordSpan) {});
  }
  void meet(int with, bool is_last) {
    PartialTree other;
    bool has_other = false;
    swap(with, with < 0 ? Words{} : packed(), [&](WordSpan words) {
      size_t at = 0;
      other.nodes = unpack<Node>(words, at);
      other.edges = unpack<Edge>(words, at);
      has_other = true;
    });
    if (!has_other) return;
    auto merged = merge(part_, other, is_last);
    part_ = std::move(merged.part);
    decided_.insert(decided_.end(), merged.decided.begin(), merged.decided.end());
    wraps_.insert(wraps_.end(), merged.wraps.begin(), merged.wraps.end());
  }
  /// Sends what was decided to the ranks that took no part in the rounds.
  void report(int with, bool is_listening) {
    Words words;
    if (!is_listening) {
      pack(words, decided_);
      pack(words, wraps_);
    }
    swap(with, std::move(words), [&](WordSpan received) {
      if (!is_listening) return;
      size_t at = 0;
      decided_ = unpack<Decided>(received, at);
      wraps_ = unpack<Wrap>(received, at);
    });
  }

  const stage::Step& step_;
  PartialTree part_;
  std::vector<Decided> decided_;
  std::vector<Wrap> wraps_;
};

/// The tree of values that are nowhere NaN, first axis fastest. [peers]
template <class T>
Tree build_tree(const stage::Step& step, const Grid& grid, const Piece& piece, const T* values) {
  TreeBuilder builder(grid, piece, find_basins(grid, piece, values));
  const Neighbourhood beside(step, grid, piece);
  auto part = builder.part(exchange_asks(step, beside, builder.asks()));
  const Merging merging(step, std::move(part));
  return std::move(builder).tree(merging.decided(), merging.wraps());
}

}  // namespace pillion::stages::halos
