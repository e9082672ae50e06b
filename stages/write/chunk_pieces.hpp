// SPDX-License-Identifier: BSD-3-Clause
// What a peer has of the chunks of a dataset: whole ones of meshes; of particles, rows of them.
#pragma once

#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "../common/messages.hpp"
#include "chunking.hpp"

namespace pillion::stages {

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

}  // namespace pillion::stages
