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

}  // namespace

// What every publication looks at comes first, in one cache line.
struct Allocations::Piece : std::enable_shared_from_this<Piece> {
  Slot* slot = nullptr;  ///< null when the program has freed it
  int64_t last_reader =
      -1;                ///< number of the last message that is in it; -1 if no sidecar reads it
  bool is_free = false;  ///< its memory goes back when it is no longer kept
  node::RegionPool::Region region;
  std::unique_ptr<transport::Buffer> own;

  Piece() = default;
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;
  ~Piece() {
    if (is_free) region.give_back();
  }
  [[nodiscard]] std::byte* data() const { return own ? own->data() : region.data(); }
  [[nodiscard]] bool is_read() const { return last_reader >= 0; }
};

Allocations::Allocations(const node::Segment* segment)
    : pool_(segment == nullptr ? nullptr : std::make_unique<node::RegionPool>(*segment)) {}

std::shared_ptr<Allocations::Piece> Allocations::make(size_t size) {
  auto piece = std::make_shared<Piece>();
  if (pool_) piece->region = pool_->take(size);
  else piece->own = std::make_unique<transport::Buffer>(size);
  return piece;
}

void Allocations::sort() const {
  by_address_.clear();
  for (const auto& [field, blocks] : slots_)
    for (const auto& [number, slot] : blocks)
      for (const auto& piece : slot.pieces) {
        const auto& region = piece->region;
        by_address_.push_back({piece->data(),
                               slot.size,
                               piece.get(),
                               piece->slot,
                               {region.slab_offset(), region.slab_size(), region.offset()}});
      }
  std::sort(by_address_.begin(), by_address_.end(),
            [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  is_sorted_ = true;
  last_ = 0;
}

const Allocations::Stretch* Allocations::holding(const void* data) const {
  const auto* at = static_cast<const std::byte*>(data);
  if (!is_sorted_) sort();
  const auto holds = [&](const Stretch& s) { return at >= s.begin && at < s.begin + s.size; };
  if (last_ + apart_ < by_address_.size() && holds(by_address_[last_ + apart_])) {
    last_ += apart_;
    constexpr size_t ahead = 8;
    if (last_ + ahead * apart_ < by_address_.size()) {
      __builtin_prefetch(by_address_[last_ + ahead * apart_].piece);
      __builtin_prefetch(by_address_[last_ + ahead * apart_].slot);
    }
    return &by_address_[last_];
  }
  constexpr size_t near = most_buffers + 2;
  for (size_t i = last_; i < std::min(last_ + near, by_address_.size()); ++i)
    if (holds(by_address_[i])) {
      apart_ = i - last_;
      return &by_address_[last_ = i];
    }
  const auto after = std::upper_bound(by_address_.begin(), by_address_.end(), at,
                                      [](const auto* a, const Stretch& s) { return a < s.begin; });
  if (after == by_address_.begin() || !holds(*std::prev(after))) return nullptr;
  last_ = static_cast<size_t>(std::prev(after) - by_address_.begin());
  return &by_address_[last_];
}

std::shared_ptr<const void> Allocations::keep(const void* data) const {
  if (const auto* stretch = holding(data)) return stretch->piece->shared_from_this();
  base::fail(ErrorCode::Argument, "memory was to be kept that pillion_allocate has not given");
}

Allocations::Slot* Allocations::find_slot(std::string_view field, int32_t block) {
  const auto blocks = slots_.find(field);
  if (blocks == slots_.end()) return nullptr;
  const auto slot = blocks->second.find(block);
  return slot == blocks->second.end() ? nullptr : &slot->second;
}

Allocations::Slot& Allocations::slot(std::string_view field, int32_t block) {
  if (auto* slot = find_slot(field, block)) return *slot;
  base::fail(ErrorCode::State, "block {} of field '{}' has no memory from pillion_allocate", block,
             field);
}

void* Allocations::allocate(const std::string& field, int32_t block, size_t size, int32_t buffers) {
  if (buffers < 2 || buffers > most_buffers)
    base::fail(ErrorCode::Argument, "{} buffers were asked for; 2 to {} make sense", buffers,
               most_buffers);
  if (size > most_bytes)
    base::fail(ErrorCode::Argument, "{} bytes were asked for field '{}', more than there can be",
               size, field);
  return add(field, block, size, buffers, static_cast<size_t>(buffers));
}

void* Allocations::allocate_constant(const std::string& field, int32_t block, size_t size) {
  constexpr size_t wanted = 2;  // sidecars hold one less
  return add(field, block, size, 1, wanted);
}

void* Allocations::add(const std::string& field, int32_t block, size_t size, int32_t buffers,
                       size_t wanted) {
  if (find_slot(field, block) != nullptr)
    base::fail(ErrorCode::State,
               "block {} of field '{}' has memory already; take it back with pillion_unshare first",
               block, field);
  std::vector<std::shared_ptr<Piece>> pieces;
  for (int32_t b = 0; b < buffers; ++b) pieces.push_back(make(size));
  Slot& slot = slots_[field][block];
  slot.size = size;
  slot.wanted = wanted;
  slot.pieces = std::move(pieces);
  for (const auto& piece : slot.pieces) piece->slot = &slot;
  is_sorted_ = false;
  return slot.pieces.front()->data();
}

Allocations::Swapped Allocations::swap(const std::string& field, int32_t block) {
  Slot& slot = this->slot(field, block);
  const size_t count = slot.pieces.size();
  std::byte* before = slot.pieces[slot.current]->data();
  for (size_t step = 1; step < count; ++step) {
    const size_t next = (slot.current + step) % count;
    if (slot.pieces[next]->is_read()) continue;
    slot.current = next;
    return {before, slot.pieces[next]->data(), slot.size};
  }
  slot.pieces.push_back(make(slot.size));
  slot.pieces.back()->slot = &slot;
  slot.current = count;
  is_sorted_ = false;
  return {before, slot.pieces.back()->data(), slot.size};
}

void Allocations::free(const std::string& field, int32_t block) {
  Slot* slot = find_slot(field, block);
  if (slot == nullptr) return;
  for (auto& piece : slot->pieces) {
    piece->slot = nullptr;
    if (piece->is_read()) retired_.emplace(piece.get(), piece);
    else piece->is_free = true;
  }
  is_sorted_ = false;
  const auto blocks = slots_.find(field);
  blocks->second.erase(block);
  if (blocks->second.empty()) slots_.erase(blocks);
}

// Beyond n - 1 buffers in sidecars' hands the values are copied instead.
std::optional<Lent> Allocations::find(const void* data) const {
  if (!pool_) return {};
  const auto* stretch = holding(data);
  if (stretch == nullptr) return {};
  Piece* const piece = stretch->piece;
  if (!piece->is_read() && stretch->slot->held + 1 >= stretch->slot->wanted) {
    has_refused_ = true;
    return {};
  }
  asked_.push_back(piece);
  Lent lent = stretch->lent;
  lent.offset += static_cast<uint64_t>(static_cast<const std::byte*>(data) - stretch->begin);
  return lent;
}

void Allocations::lend(int64_t index) {
  for (auto* piece : asked_) {
    if (piece->last_reader == index) continue;
    if (!piece->is_read()) ++piece->slot->held;
    piece->last_reader = index;
    readers_.push_back({index, piece});
  }
  forget();
}

// A piece that a message is in is there until its last one is finished.
void Allocations::reclaim(int64_t freed) {
  for (; !readers_.empty() && readers_.front().index < freed; readers_.pop_front()) {
    const auto [index, piece] = readers_.front();
    if (piece->last_reader != index) continue;
    piece->last_reader = -1;
    if (piece->slot != nullptr) {
      --piece->slot->held;
    } else {
      piece->is_free = true;
      retired_.erase(piece);
    }
  }
}

}  // namespace pillion::simulation
