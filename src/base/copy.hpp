// SPDX-License-Identifier: BSD-3-Clause
// Copies for memory that another core has read and will read again. A plain store must first take
// the cache line away from that core, which costs some 30 ns a line, ten times the copy itself;
// stores that go past the caches need not.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace pillion::base {

enum class Copy {
  Plain,     ///< this core uses the copy next
  Streaming  ///< another core does
};

/// Copies past the caches, where the processor can; the copy is visible to any thread that sees a
/// later store.
void stream(std::byte* to, const std::byte* from, size_t size);

/// Collects small pieces that follow each other, and copies them in larger ones.
class Streamer {
 public:
  explicit Streamer(std::byte* to) : to_(to) {}
  Streamer(const Streamer&) = delete;
  Streamer& operator=(const Streamer&) = delete;
  ~Streamer() { flush(); }

  void put(const std::byte* from, size_t size) {
    while (size > 0) {
      const size_t piece = std::min(size, pieces_.size() - filled_);
      std::memcpy(pieces_.data() + filled_, from, piece);
      filled_ += piece, from += piece, size -= piece;
      if (filled_ == pieces_.size()) flush();
    }
  }

 private:
  void flush() {
    stream(to_, pieces_.data(), filled_);
    to_ += filled_;
    filled_ = 0;
  }
  std::byte* to_;
  size_t filled_ = 0;
  alignas(64) std::array<std::byte, 8192> pieces_;
};

}  // namespace pillion::base
