// SPDX-License-Identifier: BSD-3-Clause
// Buffers and their budget.
#include "transport/staging.hpp"

#include <algorithm>
#include <new>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace pillion::transport {
namespace {

constexpr std::align_val_t cache_line{64};

}  // namespace

void Buffer::Free::operator()(std::byte* p) const { ::operator delete(p, cache_line); }

Buffer::Buffer(size_t capacity)
    : memory_(static_cast<std::byte*>(::operator new(std::max<size_t>(capacity, 1), cache_line))),
      capacity_(capacity) {}

void Buffer::touch() {
  constexpr size_t page = 4096;
  for (size_t at = 0; at < capacity_; at += page)
    *static_cast<volatile std::byte*>(memory_.get() + at) = std::byte{0};
}

void Buffer::abandon() {
  [[maybe_unused]] const std::byte* kept = memory_.release();
#ifdef __SANITIZE_ADDRESS__
  __lsan_ignore_object(kept);
#endif
}

std::optional<Buffer> Staging::take(size_t size) {
  if (in_use_ + size > budget_) return {};
  // The smallest idle buffer that fits, if it does not burst the budget by being too large.
  auto best = free_.end();
  for (auto at = free_.begin(); at != free_.end(); ++at)
    if (at->capacity() >= size && in_use_ + at->capacity() <= budget_ &&
        (best == free_.end() || at->capacity() < best->capacity()))
      best = at;
  std::optional<Buffer> buffer;
  if (best != free_.end()) {
    buffer.emplace(std::move(*best));
    idle_ -= buffer->capacity();
    free_.erase(best);
  } else {
    while (!free_.empty() && in_use_ + idle_ + size > budget_) {
      idle_ -= free_.back().capacity();
      free_.pop_back();
    }
    buffer.emplace(size);
  }
  in_use_ += buffer->capacity();
  peak_ = std::max(peak_, in_use_);
  return buffer;
}

void Staging::set_budget(size_t bytes) {
  budget_ = bytes;
  while (!free_.empty() && in_use_ + idle_ > budget_) {
    idle_ -= free_.back().capacity();
    free_.pop_back();
  }
}

void Staging::give_back(Buffer buffer) {
  in_use_ -= buffer.capacity();
  if (in_use_ + idle_ + buffer.capacity() > budget_) return;
  const size_t capacity = buffer.capacity();
  free_.push_back(std::move(buffer));
  idle_ += capacity;
}

}  // namespace pillion::transport
