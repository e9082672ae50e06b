// SPDX-License-Identifier: BSD-3-Clause
// The merge tree of a mesh that many ranks have pieces of. Each rank finds its own part, after one
// exchange with those beside it of the cells that paths end in; then parts are merged pairwise, in
// as many rounds as the number of ranks has binary digits, each rank keeping what was decided.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "peers.hpp"
#include "tree.hpp"

namespace pillion::stages {

/// Who has which cells, as far as the ranks beside this one are concerned, itself included.
class Neighbourhood {
 public:
  Neighbourhood(const Peers& peers, const Grid& grid, const Piece& piece) : grid_(grid) {
    Words mine(piece.inner_lo.begin(), piece.inner_lo.end());
    mine.insert(mine.end(), piece.inner_hi.begin(), piece.inner_hi.end());
    const Words all = peers.all(mine);
    for (int r = 0; r < peers.size(); ++r) {
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
inline std::vector<Vertex> exchange_asks(const Peers& peers, const Neighbourhood& beside,
                                         const std::vector<Vertex>& asks) {
  std::vector<std::vector<Vertex>> of(beside.ranks().size());
  for (const auto& cell : asks) of[beside.owner(cell.id)].push_back(cell);
  std::vector<Words> out(of.size());
  for (size_t i = 0; i < of.size(); ++i) pack(out[i], of[i]);
  std::vector<Vertex> asked;
  for (const auto& words : peers.swap(beside.ranks(), out)) {
    size_t at = 0;
    const auto cells = unpack<Vertex>(words, at);
    asked.insert(asked.end(), cells.begin(), cells.end());
  }
  return asked;
}

/// Merges the parts of all ranks and collects what is decided of the regions that this one is in.
class Merging {
 public:
  Merging(const Peers& peers, Part part) : peers_(peers), part_(std::move(part)) {
    const int paired = static_cast<int>(std::bit_floor(static_cast<unsigned>(peers.size())));
    const int rank = peers.rank(), beyond = peers.size() - paired;
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
  [[nodiscard]] Words swap(int with, Words out) const {
    const auto in = with < 0 ? peers_.swap({}, {}) : peers_.swap({with}, {std::move(out)});
    return in.empty() ? Words{} : in.front();
  }
  [[nodiscard]] Words packed() const {
    Words words;
    pack(words, part_.nodes);
    pack(words, part_.edges);
    return words;
  }
  void give(int to) { static_cast<void>(swap(to, packed())); }
  void meet(int with, bool is_last) {
    const Words words = swap(with, with < 0 ? Words{} : packed());
    if (words.size() < 2) return;
    size_t at = 0;
    Part other;
    other.nodes = unpack<Node>(words, at);
    other.edges = unpack<Edge>(words, at);
    auto merged = merge(part_, other, is_last);
    part_ = std::move(merged.part);
    decided_.insert(decided_.end(), merged.decided.begin(), merged.decided.end());
    wraps_.insert(wraps_.end(), merged.wraps.begin(), merged.wraps.end());
  }
  /// Those who took no part in the rounds hear what was decided in them.
  void report(int with, bool is_listening) {
    Words words;
    if (!is_listening) {
      pack(words, decided_);
      pack(words, wraps_);
    }
    words = swap(with, std::move(words));
    if (!is_listening) return;
    size_t at = 0;
    decided_ = unpack<Decided>(words, at);
    wraps_ = unpack<Wrap>(words, at);
  }

  const Peers& peers_;
  Part part_;
  std::vector<Decided> decided_;
  std::vector<Wrap> wraps_;
};

/// The tree of values that are nowhere NaN, first axis fastest. [peers]
template <class T>
Tree build_tree(const Peers& peers, const Grid& grid, const Piece& piece, const T* values) {
  TreeBuilder builder(grid, piece, find_basins(grid, piece, values));
  const Neighbourhood beside(peers, grid, piece);
  auto part = builder.part(exchange_asks(peers, beside, builder.asks()));
  const Merging merging(peers, std::move(part));
  return std::move(builder).tree(merging.decided(), merging.wraps());
}

}  // namespace pillion::stages
