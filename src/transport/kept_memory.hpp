// SPDX-License-Identifier: BSD-3-Clause
// What a rank has beside messages and what that leaves for messages, so that both together stay
// within its part of the node's budget. Only numbers.
#pragma once

#include <algorithm>
#include <cstddef>

namespace pillion::transport {

/// Bytes beside messages that are Pillion's, and not the program's.
struct KeptMemory {
  size_t shared = 0;   ///< copies that stay, in memory that receivers see
  size_t own = 0;      ///< copies that stay, in memory of this process alone
  size_t retired = 0;  ///< what the program has given back and receivers still read
  bool operator==(const KeptMemory&) const = default;

  [[nodiscard]] size_t copies() const { return shared + own; }
  [[nodiscard]] size_t all() const { return shared + own + retired; }
};

/// The most that messages may take of a part of the budget when nothing is retired. Copies in
/// memory of this process alone cannot be refused, for the program may give up what they are copies
/// of; so they leave at least `need`, the bytes of the largest message.
constexpr size_t left_for_messages(size_t part, size_t need, const KeptMemory& kept) {
  const size_t left = part - std::min(part, kept.shared);
  return left - std::min(kept.own, left - std::min(left, need));
}

/// Whether `bytes` more may be kept beside the largest message, and beside what receivers read now:
/// `held` bytes of messages.
constexpr bool may_keep(size_t part, size_t need, size_t held, const KeptMemory& kept,
                        size_t bytes) {
  const size_t used = kept.shared + kept.retired + std::max(need, held);
  return used <= part && bytes <= part - used;
}

}  // namespace pillion::transport
