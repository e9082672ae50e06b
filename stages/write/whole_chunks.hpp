// SPDX-License-Identifier: BSD-3-Clause
// Rows of particles in whole chunks, which alone can be compressed: each peer gets as many chunks
// as the next. Blocks of meshes are whole chunks already.
#pragma once

#include <cstring>
#include <vector>

#include "chunk_pieces.hpp"

namespace pillion::stages {

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
    std::vector<Bytes> out(peers_);
    for (const auto& block : blocks) send(block, element_sizes, out);
    const auto in = exchange_bytes(step, out);
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
            std::vector<Bytes>& out) const {
    for (size_t p = 0; p < peers_; ++p) {
      const int64_t lo = std::max(block.lo[0], first_row(p));
      const int64_t hi = std::min(block.lo[0] + block.extent[0], first_row(p + 1));
      if (lo >= hi) continue;
      const Head head{lo, hi - lo};
      append(out[p], reinterpret_cast<const std::byte*>(&head), sizeof head);
      for (size_t f = 0; f < sizes.size(); ++f)
        append(out[p], block.arrays[f] + static_cast<size_t>(lo - block.lo[0]) * sizes[f],
               static_cast<size_t>(hi - lo) * sizes[f]);
    }
  }
  void take(int64_t lo, int64_t hi, const std::vector<size_t>& sizes,
            const std::vector<ByteSpan>& in) {
    if (lo == hi) return;
    auto& block = blocks_.emplace_back(StoredBlock{{lo}, {hi - lo}, {}});
    for (const auto size : sizes) {
      values_.emplace_back(static_cast<size_t>(hi - lo) * size);
      block.arrays.push_back(values_.back().data());
    }
    for (const auto& bytes : in)
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

}  // namespace pillion::stages
