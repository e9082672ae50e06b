// SPDX-License-Identifier: BSD-3-Clause
// Placing and freeing.
#include "node/arena.hpp"

#include <algorithm>

namespace pillion::node {
namespace {

constexpr size_t alignment = 64;

size_t align(size_t size) {
  return (std::max<size_t>(size, 1) + alignment - 1) / alignment * alignment;
}

}  // namespace

// An empty ring starts again at 0, where the caches know the memory best.
std::optional<size_t> Arena::find(size_t size) const {
  size = align(size);
  if (pieces_.empty()) return size <= capacity_ ? std::optional<size_t>(0) : std::nullopt;
  const size_t first = pieces_.front().begin;
  const size_t last = pieces_.back().end;
  const bool wrapped = pieces_.back().begin < first;
  if (wrapped) return first - last >= size ? std::optional(last) : std::nullopt;
  if (capacity_ - last >= size) return last;
  return first >= size ? std::optional<size_t>(0) : std::nullopt;
}

std::optional<size_t> Arena::place(size_t size, int64_t index) {
  const auto begin = find(size);
  if (!begin) return {};
  pieces_.push_back({index, *begin, *begin + align(size)});
  in_use_ += align(size);
  peak_ = std::max(peak_, in_use_);
  return begin;
}

void Arena::free_before(int64_t index) {
  while (!pieces_.empty() && pieces_.front().index < index) {
    in_use_ -= pieces_.front().end - pieces_.front().begin;
    pieces_.pop_front();
  }
}

}  // namespace pillion::node
