// SPDX-License-Identifier: BSD-3-Clause
// Buffers that rotate. Of n buffers sidecars may hold n - 1; if they hold them when the simulation
// swaps, one more is made, so that a swap never waits. There are never more than n + 1.
#include "simulation/allocations.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "node/room.hpp"
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
      -1;               ///< number of the last message that is in it; -1 if no sidecar reads it
  size_t bytes = 0;     ///< of memory
  bool is_free = true;  ///< its memory goes back when it is no longer kept
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

Allocations::Allocations(const node::Segment* segment, transport::Sender* sender)
    : pool_(segment == nullptr ? nullptr : std::make_unique<node::RegionPool>(*segment)),
      account_(sender) {}

// A program must get memory as long as the machine has any, and MPI needs some of the node's.
std::shared_ptr<Allocations::Piece> Allocations::make(size_t size, Place place) {
  auto piece = std::make_shared<Piece>();
  if (pool_ && place != Place::Private) try {
      node::check_shared_room(size);
      piece->region = pool_->take(size);
      piece->bytes = piece->region.size();
      return piece;
    } catch (const std::exception&) {
      if (place == Place::Shared) throw;
    }
  piece->own = std::make_unique<transport::Buffer>(size);
  piece->bytes = size;
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
  check_free(field, block);
  Slot slot{.size = size, .wanted = static_cast<size_t>(buffers)};
  for (int32_t b = 0; b < buffers; ++b) slot.pieces.push_back(make(size, Place::Any));
  return put(field, block, std::move(slot));
}

void* Allocations::allocate_constant(const std::string& field, int32_t block, size_t size) {
  check_free(field, block);
  if (!account_.may_keep(size, moved_bytes_ + size))
    base::fail(ErrorCode::State, "a copy of {} has no room in 'sidecars: {{memory}}'",
               base::format_bytes(static_cast<int64_t>(size)));
  Slot slot{.size = size, .is_copy = true};
  slot.pieces.push_back(make(size, pool_ ? Place::Shared : Place::Private));
  moved_bytes_ += size;
  return put(field, block, std::move(slot));
}

// What lies in private memory is in messages, and then is not.
void* Allocations::renew_copy(const std::string& field, int32_t block, size_t size) {
  Slot* known = find_slot(field, block);
  if (known != nullptr && known->size == size) {
    turn(*known);
    return known->pieces[known->current]->data();
  }
  const bool was_private = known != nullptr && known->pieces[known->current]->own;
  free(field, block);
  Slot slot{.size = size, .is_copy = true};
  const bool has_room = account_.may_keep(size, was_private ? size : 0);
  slot.pieces.push_back(make(size, has_room ? Place::Any : Place::Private));
  return put(field, block, std::move(slot));
}

void Allocations::check_free(std::string_view field, int32_t block) {
  if (find_slot(field, block) != nullptr)
    base::fail(ErrorCode::State,
               "block {} of field '{}' has memory already; take it back with pillion_unshare first",
               block, field);
}

void* Allocations::put(const std::string& field, int32_t block, Slot slot) {
  auto pieces = std::exchange(slot.pieces, {});
  Slot& there = slots_[field][block];
  there = std::move(slot);
  for (auto& piece : pieces) add_piece(there, std::move(piece));
  return there.pieces.front()->data();
}

// From here on the memory stays when this ends, for sidecars may read it.
void Allocations::add_piece(Slot& slot, std::shared_ptr<Piece> piece) {
  slot.pieces.push_back(std::move(piece));
  auto& added = *slot.pieces.back();
  added.slot = &slot;
  added.is_free = false;
  if (slot.is_copy) account_.add_copy(added.bytes, added.own == nullptr);
  is_sorted_ = false;
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
  add_piece(slot, make(slot.size, Place::Any));
  slot.current = count;
  return {before, slot.pieces.back()->data(), slot.size};
}

void Allocations::turn(Slot& slot) {
  const auto& current = slot.pieces[slot.current];
  const auto is_spare = [&](const auto& piece) {
    return piece != current && !piece->own && !piece->is_read();
  };
  const bool is_own = current->own != nullptr;
  const auto spare = std::find_if(slot.pieces.begin(), slot.pieces.end(), is_spare);
  if (spare != slot.pieces.end()) {
    slot.current = static_cast<size_t>(spare - slot.pieces.begin());
  } else if (pool_ && account_.may_keep(slot.size, is_own ? slot.size : 0)) {
    add_piece(slot, make(slot.size, Place::Any));
    slot.current = slot.pieces.size() - 1;
  } else if (!is_own || current.use_count() > 1) {  // else it is overwritten: only stages see it
    add_piece(slot, make(slot.size, Place::Private));
    slot.current = slot.pieces.size() - 1;
  }
  prune(slot);
}

void Allocations::prune(Slot& slot) {
  const auto current = slot.pieces[slot.current];
  bool has_spare = current->own != nullptr;
  std::erase_if(slot.pieces, [&](const auto& piece) {
    if (piece == current || piece->is_read()) return false;
    if (!piece->own && !std::exchange(has_spare, true)) return false;
    account_.remove_copy(piece->bytes, piece->own == nullptr);
    piece->slot = nullptr;
    return piece->is_free = true;
  });
  slot.current = static_cast<size_t>(std::find(slot.pieces.begin(), slot.pieces.end(), current) -
                                     slot.pieces.begin());
  is_sorted_ = false;
}

void Allocations::free(const std::string& field, int32_t block) {
  Slot* slot = find_slot(field, block);
  if (slot == nullptr) return;
  size_t retired = 0, of_program = 0;
  for (auto& piece : slot->pieces) {
    piece->slot = nullptr;
    if (slot->is_copy) account_.remove_copy(piece->bytes, piece->own == nullptr);
    if (piece->is_read()) {
      retired_.emplace(piece.get(), piece);
      retired += piece->bytes;
      of_program += slot->is_copy ? 0 : piece->bytes;
    } else {
      piece->is_free = true;
    }
  }
  if (retired > 0) account_.retire(retired, of_program);
  is_sorted_ = false;
  const auto blocks = slots_.find(field);
  blocks->second.erase(block);
  if (blocks->second.empty()) slots_.erase(blocks);
}

// Beyond n - 1 buffers in sidecars' hands the values are copied instead, and where the budget would
// not have room for what sidecars read if the program gave it back now. Copies are in the budget.
std::optional<Lent> Allocations::find(const void* data) const {
  if (!pool_) return {};
  const auto* stretch = holding(data);
  if (stretch == nullptr) return {};
  if (stretch->lent.region_size == 0) return {};  // private
  Piece* const piece = stretch->piece;
  const Slot& slot = *stretch->slot;
  if (!piece->is_read() && !slot.is_copy) {
    const size_t bytes = asked_bytes_ + piece->bytes;
    if (slot.held + 1 >= slot.wanted || !account_.may_lend(bytes)) {
      has_refused_ = true;
      return {};
    }
    asked_bytes_ = bytes;
  }
  asked_.push_back(piece);
  Lent lent = stretch->lent;
  lent.offset += static_cast<uint64_t>(static_cast<const std::byte*>(data) - stretch->begin);
  return lent;
}

void Allocations::lend(int64_t index) {
  for (auto* piece : asked_) {
    if (piece->last_reader == index) continue;
    if (!piece->is_read()) {
      ++piece->slot->held;
      if (!piece->slot->is_copy) account_.lend(piece->bytes);
    }
    piece->last_reader = index;
    readers_.push_back({index, piece});
  }
  forget();
}

// A piece that a message is in is there until its last one is finished.
void Allocations::reclaim(int64_t freed) {
  size_t reclaimed = 0;
  for (; !readers_.empty() && readers_.front().index < freed; readers_.pop_front()) {
    const auto [index, piece] = readers_.front();
    if (piece->last_reader != index) continue;
    piece->last_reader = -1;
    if (Slot* slot = piece->slot; slot != nullptr) {
      --slot->held;
      if (slot->is_copy) prune(*slot);
      else account_.take_back(piece->bytes);
    } else {
      piece->is_free = true;
      reclaimed += piece->bytes;
      retired_.erase(piece);
    }
  }
  if (reclaimed > 0) account_.reclaim(reclaimed);
}

size_t Allocations::retired_before(int64_t index) const {
  size_t bytes = 0;
  for (const auto& [piece, kept] : retired_)
    if (piece->last_reader < index) bytes += piece->bytes;
  return bytes;
}

}  // namespace pillion::simulation
