// SPDX-License-Identifier: BSD-3-Clause
// Chunks of the datasets of a step: how a mesh or a list of particles or elements is divided into
// them, which bytes of a peer's blocks belong to which, and rows of particles made whole chunks,
// which alone can be compressed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "../../common/messages.hpp"

namespace pillion::stages::write_hdf5 {

using Cells = std::vector<int64_t>;

inline int64_t product(const Cells& cells) {
  int64_t out = 1;
  for (const auto n : cells) out *= n;
  return out;
}

/// The cells that one file has.
struct PartShape {
  int64_t first = 0;  ///< of its planes, among those of the whole
  Cells cells;
  Cells chunk;

  /// Number of the chunk in which a cell of the whole lies; the last axis varies fastest.
  [[nodiscard]] int64_t chunk_of(const Cells& cell) const {
    int64_t number = 0;
    for (size_t d = 0; d < cells.size(); ++d)
      number = number * ((cells[d] + chunk[d] - 1) / chunk[d]) +
               (cell[d] - (d == 0 ? first : 0)) / chunk[d];
    return number;
  }
  /// The first cell of a chunk, among those of this part.
  [[nodiscard]] Cells corner(int64_t number) const {
    Cells out(cells.size());
    for (size_t d = cells.size(); d-- > 0;) {
      const int64_t chunks = (cells[d] + chunk[d] - 1) / chunk[d];
      out[d] = number % chunks * chunk[d];
      number /= chunks;
    }
    return out;
  }
};

struct Chunking {
  Cells cells, chunk;
  Cells cuts;  ///< part p has the planes from cuts[p] to cuts[p + 1]

  /// `parts` files, or as many as there are planes of chunks.
  Chunking(Cells all, Cells sides, int64_t parts) : cells(std::move(all)), chunk(std::move(sides)) {
    for (size_t d = 0; d < cells.size(); ++d)
      chunk[d] = std::min(chunk[d], std::max<int64_t>(cells[d], 1));
    const int64_t planes = (cells[0] + chunk[0] - 1) / chunk[0];
    parts = std::clamp<int64_t>(parts, 1, std::max<int64_t>(planes, 1));
    for (int64_t p = 0; p <= parts; ++p)
      cuts.push_back(std::min(planes * p / parts * chunk[0], cells[0]));
  }

  [[nodiscard]] size_t parts() const { return cuts.size() - 1; }
  [[nodiscard]] size_t part_of(int64_t plane) const {
    return static_cast<size_t>(std::upper_bound(cuts.begin(), cuts.end() - 1, plane) -
                               cuts.begin()) -
           1;
  }
  [[nodiscard]] PartShape part(size_t p) const {
    PartShape out{cuts[p], cells, chunk};
    out.cells[0] = cuts[p + 1] - cuts[p];
    out.chunk[0] = std::min(chunk[0], std::max<int64_t>(out.cells[0], 1));
    return out;
  }
  [[nodiscard]] PartShape whole() const { return {0, cells, chunk}; }
};

/// Cells that a peer has, with an array for each field: packed in the order of files.
struct StoredBlock {
  Cells lo, extent;
  std::vector<const std::byte*> arrays;
};

struct ChunkPiece {
  size_t field = 0, part = 0;
  int64_t chunk = 0;
  int64_t begin = 0;  ///< byte of the chunk at which it begins
  std::span<const std::byte> bytes;
};

class ChunkPieces {
 public:
  /// `element_sizes` are those of the fields; `whole`: what a chunk has beyond the mesh is there,
  /// as 0.
  ChunkPieces(const Chunking& chunking, const std::vector<StoredBlock>& blocks,
              std::vector<size_t> element_sizes, bool whole)
      : chunking_(chunking), blocks_(blocks), sizes_(std::move(element_sizes)), whole_(whole) {
    for (size_t b = 0; b < blocks.size(); ++b) list(b);
  }

  /// Those of the first field, then those of the next.
  [[nodiscard]] size_t count() const { return places_.size() * sizes_.size(); }
  /// Its bytes are good until the next call.
  [[nodiscard]] ChunkPiece operator[](size_t n) {
    const size_t field = n / places_.size();
    const auto& place = places_[n % places_.size()];
    const auto& block = blocks_[place.block];
    const auto part = chunking_.part(place.part);
    const size_t size = sizes_[field];
    const auto first = static_cast<size_t>(place.first - block.lo[0]);
    Cells extent = block.extent;
    extent[0] = place.rows;
    const size_t row = static_cast<size_t>(product(extent) / place.rows) * size;
    ChunkPiece out{field,
                   place.part,
                   place.chunk,
                   0,
                   {block.arrays[field] + first * row, row * static_cast<size_t>(place.rows)}};
    const bool is_line = extent.size() == 1;
    if (is_line) out.begin = (place.first - part.first) % part.chunk[0] * static_cast<int64_t>(row);
    if (extent != part.chunk && (whole_ || !is_line)) out.bytes = padded(out, extent, part, size);
    return out;
  }

 private:
  struct Place {
    size_t block, part;
    int64_t chunk, first, rows;
  };

  // Blocks of meshes are chunks; blocks of particles are any rows.
  void list(size_t b) {
    const auto& block = blocks_[b];
    const int64_t end = block.lo[0] + block.extent[0];
    for (Cells at = block.lo; at[0] < end;) {
      const size_t p = chunking_.part_of(at[0]);
      const auto part = chunking_.part(p);
      const int64_t beyond = at[0] - (at[0] - part.first) % part.chunk[0] + part.chunk[0];
      const int64_t next = std::min({end, beyond, chunking_.cuts[p + 1]});
      places_.push_back({b, p, part.chunk_of(at), at[0], next - at[0]});
      at[0] = next;
    }
  }
  std::span<const std::byte> padded(const ChunkPiece& piece, const Cells& extent,
                                    const PartShape& part, size_t size) {
    scratch_.assign(static_cast<size_t>(product(part.chunk)) * size, std::byte{0});
    Cells from = extent, to = part.chunk;
    from.insert(from.begin(), 3 - from.size(), 1);
    to.insert(to.begin(), 3 - to.size(), 1);
    const size_t row = static_cast<size_t>(from[2]) * size;
    const std::byte* source = piece.bytes.data();
    for (int64_t k = 0; k < from[0]; ++k)
      for (int64_t j = 0; j < from[1]; ++j, source += row)
        std::memcpy(scratch_.data() + static_cast<size_t>((k * to[1] + j) * to[2]) * size, source,
                    row);
    return scratch_;
  }

  const Chunking& chunking_;
  const std::vector<StoredBlock>& blocks_;
  std::vector<size_t> sizes_;
  bool whole_;
  std::vector<Place> places_;
  Bytes scratch_;
};

class WholeChunks {
 public:
  /// [peers]
  WholeChunks(const stage::Step& step, const Chunking& chunking,
              const std::vector<StoredBlock>& blocks, const std::vector<size_t>& element_sizes)
      : rows_(chunking.cells[0]),
        side_(chunking.chunk[0]),
        peers_(static_cast<size_t>(step.peers())) {
    if (chunking.cells.size() > 1) {
      blocks_ = blocks;
      return;
    }
    std::map<int32_t, Bytes> out;
    for (const auto& block : blocks) send(block, element_sizes, out);
    const auto in = step.exchange(messages_of(out));
    out.clear();
    const auto me = static_cast<size_t>(step.peer());
    take(first_row(me), first_row(me + 1), element_sizes, in);
  }

  [[nodiscard]] const std::vector<StoredBlock>& blocks() const { return blocks_; }

 private:
  struct Head {
    int64_t first, rows;
  };

  [[nodiscard]] int64_t first_row(size_t peer) const {
    const int64_t chunks = (rows_ + side_ - 1) / side_;
    const auto chunk = chunks * static_cast<int64_t>(peer) / static_cast<int64_t>(peers_);
    return std::min(chunk * side_, rows_);
  }
  void send(const StoredBlock& block, const std::vector<size_t>& sizes,
            std::map<int32_t, Bytes>& out) const {
    const int64_t end = block.lo[0] + block.extent[0];
    for (size_t p = peer_of(block.lo[0]); p < peers_ && first_row(p) < end; ++p) {
      const int64_t lo = std::max(block.lo[0], first_row(p));
      const int64_t hi = std::min(end, first_row(p + 1));
      if (lo >= hi) continue;
      const Head head{lo, hi - lo};
      auto& to = out[static_cast<int32_t>(p)];
      append(to, reinterpret_cast<const std::byte*>(&head), sizeof head);
      for (size_t f = 0; f < sizes.size(); ++f)
        append(to, block.arrays[f] + static_cast<size_t>(lo - block.lo[0]) * sizes[f],
               static_cast<size_t>(hi - lo) * sizes[f]);
    }
  }
  /// The peer that has a row: the first that ends behind it.
  [[nodiscard]] size_t peer_of(int64_t row) const {
    size_t first = 0;
    for (size_t count = peers_; count > 0;) {
      const size_t half = count / 2;
      if (first_row(first + half + 1) <= row) first += half + 1, count -= half + 1;
      else count = half;
    }
    return first;
  }
  void take(int64_t lo, int64_t hi, const std::vector<size_t>& sizes,
            const std::vector<stage::Message>& in) {
    if (lo == hi) return;
    auto& block = blocks_.emplace_back(StoredBlock{{lo}, {hi - lo}, {}});
    for (const auto size : sizes) {
      values_.emplace_back(static_cast<size_t>(hi - lo) * size);
      block.arrays.push_back(values_.back().data());
    }
    for (const auto& [peer, bytes] : in)
      for (size_t at = 0; at < bytes.size();) {
        Head head{};
        std::memcpy(&head, bytes.data() + at, sizeof head);
        at += sizeof head;
        for (size_t f = 0; f < sizes.size(); ++f) {
          const size_t length = static_cast<size_t>(head.rows) * sizes[f];
          std::memcpy(values_[f].data() + static_cast<size_t>(head.first - lo) * sizes[f],
                      bytes.data() + at, length);
          at += length;
        }
      }
  }
  static void append(Bytes& to, const std::byte* data, size_t size) {
    to.insert(to.end(), data, data + size);
  }

  int64_t rows_, side_;
  size_t peers_;
  std::vector<StoredBlock> blocks_;
  std::vector<Bytes> values_;  ///< by field
};

}  // namespace pillion::stages::write_hdf5
