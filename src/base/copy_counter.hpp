// SPDX-License-Identifier: BSD-3-Clause
// Counts the bytes of values that are copied on their way from where they were shared to where
// stages read them. Every place that copies values reports them here, region by region; where no
// counter is set on the thread that costs one look at a variable. Tests hold the engine to the
// number of copies that docs/architecture.md promises.
#pragma once

#include <array>
#include <cstddef>

namespace pillion::base {

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
