// SPDX-License-Identifier: BSD-3-Clause
// Buffers that rotate. Of n buffers sidecars may hold n - 1; if they hold them when the simulation
// swaps, one more is made, so that a swap never waits. There are never more than n + 1.
#include "simulation/allocations.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "node/segment.hpp"
#include "transport/staging.hpp"

namespace pillion::simulation {

using transport::Lent;

namespace {

constexpr int32_t most_buffers = 16;
// Rounded up to whole pages, sizes near the largest number would become small ones.
constexpr size_t most_bytes = size_t{1} << 62;

bool is_read(const auto& piece) { return piece->last_reader >= 0; }

}  // namespace

struct Allocations::Piece {
  node::Segment::Region region;
  std::unique_ptr<transport::Buffer> own;
  int64_t last_reader =
      -1;                ///< number of the last message that is in it; -1 if no sidecar reads it
  bool is_free = false;  ///< its memory goes back when it is no longer kept

  Piece() = default;
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;
  ~Piece() {
    if (is_free) region.memory.give_back();
  }
  [[nodiscard]] std::byte* data() const { return own ? own->data() : region.memory.data(); }
};

std::shared_ptr<Allocations::Piece> Allocations::make(size_t size) const {
  auto piece = std::make_shared<Piece>();
  if (segment_ != nullptr) piece->region = segment_->add_region(size);
  else piece->own = std::make_unique<transport::Buffer>(size);
  return piece;
}

std::shared_ptr<Allocations::Piece> Allocations::Slot::holding(const void* data) const {
  const auto* at = static_cast<const std::byte*>(data);
  const auto piece = std::find_if(pieces.begin(), pieces.end(), [&](const auto& p) {
    return at >= p->data() && at < p->data() + size;
  });
  return piece == pieces.end() ? nullptr : *piece;
}

std::shared_ptr<const void> Allocations::keep(const void* data) const {
  for (const auto& [key, slot] : slots_)
    if (auto piece = slot.holding(data)) return piece;
  base::fail(ErrorCode::Argument, "memory was to be kept that pillion_allocate has not given");
}

Allocations::Slot& Allocations::slot(const std::string& field, int32_t block) {
  const auto at = slots_.find({field, block});
  if (at == slots_.end())
    base::fail(ErrorCode::State, "block {} of field '{}' has no memory from pillion_allocate",
               block, field);
  return at->second;
}

void* Allocations::allocate(const std::string& field, int32_t block, size_t size, int32_t buffers) {
  if (buffers < 2 || buffers > most_buffers)
    base::fail(ErrorCode::Argument, "{} buffers were asked for; 2 to {} make sense", buffers,
               most_buffers);
  if (size > most_bytes)
    base::fail(ErrorCode::Argument, "{} bytes were asked for field '{}', more than there can be",
               size, field);
  if (slots_.contains({field, block}))
    base::fail(ErrorCode::State,
               "block {} of field '{}' has memory already; take it back with pillion_unshare first",
               block, field);
  Slot slot{.size = size, .wanted = static_cast<size_t>(buffers), .current = 0, .pieces = {}};
  for (int32_t b = 0; b < buffers; ++b) slot.pieces.push_back(make(size));
  return (slots_[{field, block}] = std::move(slot)).pieces.front()->data();
}

Allocations::Swapped Allocations::swap(const std::string& field, int32_t block) {
  Slot& slot = this->slot(field, block);
  const size_t count = slot.pieces.size();
  std::byte* before = slot.pieces[slot.current]->data();
  for (size_t step = 1; step < count; ++step) {
    const size_t next = (slot.current + step) % count;
    if (is_read(slot.pieces[next])) continue;
    slot.current = next;
    return {before, slot.pieces[next]->data(), slot.size};
  }
  slot.pieces.push_back(make(slot.size));
  slot.current = count;
  return {before, slot.pieces.back()->data(), slot.size};
}

void Allocations::free(const std::string& field, int32_t block) {
  const auto at = slots_.find({field, block});
  if (at == slots_.end()) return;
  for (auto& piece : at->second.pieces) {
    if (is_read(piece)) retired_.push_back(std::move(piece));
    else piece->is_free = true;
  }
  slots_.erase(at);
}

// Beyond n - 1 buffers in sidecars' hands the values are copied instead.
std::optional<Lent> Allocations::find(const void* data) const {
  if (segment_ == nullptr) return {};
  for (const auto& [key, slot] : slots_) {
    const auto piece = slot.holding(data);
    if (piece == nullptr) continue;
    const auto held = std::count_if(slot.pieces.begin(), slot.pieces.end(),
                                    [](const auto& p) { return is_read(p); });
    if (!is_read(piece) && static_cast<size_t>(held) + 1 >= slot.wanted) return {};
    asked_.push_back(piece.get());
    return Lent{piece->region.offset, piece->region.memory.size(),
                static_cast<uint64_t>(static_cast<const std::byte*>(data) - piece->data())};
  }
  return {};
}

void Allocations::lend(int64_t index) {
  for (auto* piece : asked_) piece->last_reader = index;
  asked_.clear();
}

void Allocations::reclaim(int64_t freed) {
  const auto free_if_read = [&](auto& piece) {
    if (piece->last_reader < freed) piece->last_reader = -1;
  };
  for (auto& [key, slot] : slots_)
    std::for_each(slot.pieces.begin(), slot.pieces.end(), free_if_read);
  std::for_each(retired_.begin(), retired_.end(), free_if_read);
  std::erase_if(retired_, [&](auto& piece) {
    if (is_read(piece)) return false;
    piece->is_free = true;
    return true;
  });
}

}  // namespace pillion::simulation
