// SPDX-License-Identifier: BSD-3-Clause
// Copies of values in memory: past the caches, tile by tile, and counted.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pillion::base {

// Copies for memory that another core has read and will read again. A plain store must first take
// the cache line away from that core, which costs some 30 ns a line, ten times the copy itself;
// stores that go past the caches need not.

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

// Copies between two arrangements in memory, where one is along rows and the other along columns.

/// One loop of a copy: how many times, and the strides on both sides.
struct Loop {
  int64_t count, to, from;
};

/// Copies all elements of two loops, whose strides are in bytes: `here` is in one piece at the
/// target, `there` at the source. Returns false, having done nothing, if it does not know elements
/// of that size; it knows 1, 2, 4 and 8 bytes, and groups of three and pairs of the last two.
bool copy_tiles(std::byte* to, const std::byte* from, const Loop& here, const Loop& there,
                size_t bytes);

// The bytes of values that are copied on their way from where they were shared to where stages
// read them. Every place that copies values reports them here, region by region; where no counter
// is set on the thread that costs one look at a variable. Tests hold the engine to the number of
// copies that docs/architecture.md promises.

enum class CopyKind {
  Pack,    ///< into a message, or into memory that ranks share
  Unpack,  ///< out of it
  Local    ///< from array to array on one rank
};

/// Counts what its thread copies while it lives; the innermost one counts.
class CopyCounter {
 public:
  CopyCounter() : outer_(current()) { current() = this; }
  CopyCounter(const CopyCounter&) = delete;
  CopyCounter& operator=(const CopyCounter&) = delete;
  ~CopyCounter() { current() = outer_; }

  [[nodiscard]] size_t bytes(CopyKind kind) const { return bytes_[static_cast<size_t>(kind)]; }
  void reset() { bytes_ = {}; }

 private:
  friend void count_copy(CopyKind kind, size_t bytes);
  static CopyCounter*& current() {
    static thread_local CopyCounter* counter = nullptr;
    return counter;
  }
  CopyCounter* outer_;
  std::array<size_t, 3> bytes_{};
};

inline void count_copy(CopyKind kind, size_t bytes) {
  if (auto* counter = CopyCounter::current()) counter->bytes_[static_cast<size_t>(kind)] += bytes;
}

}  // namespace pillion::base
