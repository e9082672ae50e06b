// SPDX-License-Identifier: BSD-3-Clause
// A budget of bytes that the processes of a node share as they need it: what each needs, and what
// it holds. Every word has one writer, nothing is ever locked, and each process may die at any
// point.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "node/process.hpp"
#include "node/shared_file.hpp"

namespace pillion::node {

/// What one process says of its part of a budget.
struct BudgetWords {
  alignas(64) std::atomic<Token> owner;
  std::atomic<uint64_t> need;  ///< bytes of a message
  std::atomic<uint64_t> held;  ///< bytes that it has, or is asking for
};

/// One process's view of it. One thread uses it.
class SharedBudget {
 public:
  /// `first` are the words of process 0 of `count`; those of the next ones follow every `stride`
  /// bytes. They begin as zeros, and stay as long as this; `memory` may hold them. This process is
  /// number `mine`.
  SharedBudget(BudgetWords* first, size_t stride, size_t count, size_t mine, size_t budget,
               Mapping memory = {})
      : memory_(std::move(memory)),
        first_(reinterpret_cast<std::byte*>(first)),
        stride_(stride),
        count_(count),
        mine_(words(mine)),
        budget_(budget) {
    mine_.owner = this_process();
  }

  /// Sets the size of this process's messages. A little is needed for headers in any case.
  void set_need(size_t bytes) {
    constexpr size_t headers = size_t{16} << 10;
    mine_.need.store(std::max(bytes, std::min(headers, budget_ / 16 / count_)));
  }
  /// The part of the budget that is this process's by what all need: at least its own need if all
  /// needs have room together. Even parts as long as no process has set its need. The parts of
  /// all, for the same needs, never exceed the budget together.
  [[nodiscard]] size_t share() const {
    if (count_ == 1) return budget_;
    uint64_t all = 0;
    for (size_t w = 0; w < count_; ++w) all += words(w).need.load(std::memory_order_relaxed);
    if (all == 0) return budget_ / count_;
    const uint64_t sure = all <= budget_ ? need() : 0, rest = budget_ - (all <= budget_ ? all : 0);
    __extension__ using Wide = unsigned __int128;
    return sure + static_cast<size_t>(Wide{rest} * need() / all);
  }
  /// Whether it is time to hold a part that has become larger or smaller. Small changes are not
  /// worth the pages, unless they must be `exact`, or a process lacks them.
  [[nodiscard]] bool should_grow(size_t part, bool exact) const {
    return part > held_ && (exact || part - held_ > held_ / 16 || need() > held_);
  }
  [[nodiscard]] bool should_shrink(size_t part, bool exact) const {
    return part < held_ && (exact || held_ - part > held_ / 16 || somebody_lacks());
  }

  /// Holds up to `bytes` in all, as much as there is room for; false if that is no more than
  /// before.
  bool grow_up_to(size_t bytes) {
    const uint64_t others = all_held() - held_;
    const size_t most = std::min<uint64_t>(bytes, budget_ - std::min<uint64_t>(others, budget_));
    return grow(most > held_ ? most : bytes);
  }
  /// Holds `bytes` in all, more than before; false if there would be no room for what all hold.
  /// This process writes the new sum before it adds up the sums of all. So of two processes that
  /// ask at once, one sees the other at least, and never do both get what has room for one alone.
  bool grow(size_t bytes) {
    mine_.held.store(bytes);
    const bool lacks = need() > held_;
    if (all_held() <= budget_ || (lacks && all_held_by_living() <= budget_)) {
      held_ = bytes;
      return true;
    }
    mine_.held.store(held_);
    return false;
  }
  /// Holds that many: fewer when the memory has been given back, or more than there is room for
  /// where that has been taken already, which other processes then see.
  void hold(size_t bytes) {
    if (bytes != held_) mine_.held.store(held_ = bytes);
  }

  [[nodiscard]] size_t held() const { return held_; }
  [[nodiscard]] size_t need() const { return mine_.need.load(std::memory_order_relaxed); }
  [[nodiscard]] size_t budget() const { return budget_; }

 private:
  [[nodiscard]] BudgetWords& words(size_t number) const {
    return *reinterpret_cast<BudgetWords*>(first_ + number * stride_);
  }
  [[nodiscard]] bool somebody_lacks() const {
    for (size_t w = 0; w < count_; ++w)
      if (words(w).need.load(std::memory_order_relaxed) >
          words(w).held.load(std::memory_order_relaxed))
        return true;
    return false;
  }
  [[nodiscard]] uint64_t all_held() const {
    uint64_t sum = 0;
    for (size_t w = 0; w < count_; ++w) sum += words(w).held.load();
    return sum;
  }
  /// What a dead process held is free: its memory has gone with it.
  [[nodiscard]] uint64_t all_held_by_living() {
    uint64_t sum = 0;
    for (size_t w = 0; w < count_; ++w) {
      const uint64_t held = words(w).held.load();
      if (held > 0 && (&words(w) == &mine_ || watches_[w].lives(words(w).owner))) sum += held;
    }
    return sum;
  }

  Mapping memory_;
  std::byte* first_;
  size_t stride_, count_;
  BudgetWords& mine_;
  size_t budget_;
  size_t held_ = 0;
  std::map<size_t, Watch> watches_;  ///< of others, once this process lacks memory
};

}  // namespace pillion::node
