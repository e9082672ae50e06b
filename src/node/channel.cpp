// SPDX-License-Identifier: BSD-3-Clause
// Both ends of a channel. Stores are sequentially consistent where a reader that is about to sleep
// and a writer that looks whether anyone sleeps must see each other; the cost of it is far below
// that of what is published.
#include "node/channel.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace pillion::node {

ChannelWriter::ChannelWriter(ChannelWords& words, bool primary_in_use)
    : words_(words),
      primary_in_use_(primary_in_use),
      values_offset_(words.values_offset),
      heads_offset_(words.heads_offset),
      values_(words.values_size),
      heads_(words.heads_size) {}

std::optional<uint64_t> ChannelWriter::reserve(size_t size) {
  const auto at = values_.place(size, published_);
  if (!at) return {};
  return values_offset_ + *at;
}

std::optional<uint64_t> ChannelWriter::reserve_head(size_t size) {
  if (published_ - freed_ >= record_count) return {};
  const auto at = heads_.place(size, published_);
  if (!at) return {};
  return heads_offset_ + *at;
}

// A quarter of the records stays for words that must get through: that this rank had no room, a
// checkpoint, the end.
bool ChannelWriter::fits(size_t size) const {
  return published_ - freed_ < record_count * 3 / 4 && values_.find(size).has_value();
}

bool ChannelWriter::fits_head() const {
  return published_ - freed_ + 4 < record_count && heads_.find(heads_.capacity() / 8).has_value();
}

void ChannelWriter::publish(const Record& record) {
  if (published_ - freed_ >= record_count)
    base::fail(ErrorCode::Internal, "message {} has no record to go to", published_);
  words_.records[static_cast<size_t>(published_ % record_count)] = record;
  words_.published.store(++published_);
  words_.call.fetch_add(1);
  if (words_.sleepers.load() != 0) base::clock().wake(words_.call);
}

void ChannelWriter::close() {
  words_.closed.store(1);
  words_.call.fetch_add(1);
  base::clock().wake(words_.call);
}

bool ChannelWriter::in_use(int slot) const {
  if (slot == primary) return primary_in_use_;
  return words_.slots[static_cast<size_t>(slot)].state == SlotPhase::Active;
}

int64_t ChannelWriter::done(int slot) const {
  return std::clamp(done_in(words_.slots[static_cast<size_t>(slot)].progress), freed_, published_);
}

int64_t ChannelWriter::begun(int slot) const {
  return std::clamp(words_.slots[static_cast<size_t>(slot)].begun.load(), freed_, published_);
}

bool ChannelWriter::is_held(int slot) {
  return watches_[static_cast<size_t>(slot)].lives(this->slot(slot).holder);
}

// The holder is cleared last: a process that finds no holder may claim the slot.
void ChannelWriter::clear_deserted() {
  for (int s = primary + 1; s < slot_count; ++s) {
    if (!vacating_[static_cast<size_t>(s)] || !is_deserted(s)) continue;
    auto& slot = this->slot(s);
    vacating_[static_cast<size_t>(s)] = false;
    words_.sleepers.fetch_and(~(uint32_t{1} << s));
    for (auto& word : slot.disabled) word = 0;
    slot.state = SlotPhase::Free;
    slot.holder = 0;
    words_.attached_jobs.fetch_sub(1);
  }
}

int64_t ChannelWriter::reclaim() {
  int64_t needed = in_use(primary) ? done(primary) : published_;
  if (has_attached_jobs()) {
    clear_deserted();
    for (int s = primary + 1; s < slot_count; ++s)
      if (in_use(s) && is_held(s)) needed = std::min(needed, done(s));
  }
  freed_ = std::max(freed_, needed);
  values_.free_before(freed_);
  heads_.free_before(freed_);
  return freed_;
}

void ChannelWriter::wait(double patience) {
  words_.asleep.store(1);
  const uint32_t seen = words_.bell.load();
  const int64_t before = freed_;
  if (reclaim() == before) base::clock().sleep_while(words_.bell, seen, patience);
  words_.asleep.store(0);
}

bool ChannelWriter::is_deserted(int number) {
  if (slot(number).holder == 0) return false;
  return slot(number).state == SlotPhase::Leaving || !is_held(number);
}

bool ChannelWriter::retire() {
  Token holder = slot(primary).holder;
  if (watches_[primary].lives(holder)) return false;
  if (!slot(primary).holder.compare_exchange_strong(holder, this_process())) return false;
  slot(primary).state = SlotPhase::Leaving;
  return true;
}

// The attached job may have left since it said that it was ready.
void ChannelWriter::activate(int number) {
  auto& slot = this->slot(number);
  slot.begun = published_;
  slot.progress = progress_of(published_, 0);
  vacating_[static_cast<size_t>(number)] = false;
  auto ready = SlotPhase::Ready;
  slot.state.compare_exchange_strong(ready, SlotPhase::Active);
  words_.call.fetch_add(1);
  base::clock().wake(words_.call);
}

void ChannelWriter::turn_away(int number) {
  auto ready = SlotPhase::Ready;
  slot(number).state.compare_exchange_strong(ready, SlotPhase::Claimed);
  vacate(number);
  words_.call.fetch_add(1);
  base::clock().wake(words_.call);
}

bool ChannelReader::claim() {
  me_ = this_process();
  Token holder = slot().holder;
  // A dead attached job's slot is cleared by the simulation; the primary slot goes from hand to
  // hand.
  if (slot_ == primary ? is_alive(holder) : holder != 0) return false;
  // An attached job is counted before it sits, so that none sits uncounted.
  if (slot_ != primary) words_.attached_jobs.fetch_add(1);
  if (!slot().holder.compare_exchange_strong(holder, me_)) {
    if (slot_ != primary) words_.attached_jobs.fetch_sub(1);
    return false;
  }
  words_.sleepers.fetch_and(~bit());
  if (slot_ != primary) slot().state = SlotPhase::Claimed;
  return true;
}

void ChannelReader::leave() {
  if (me_ == 0 || !is_mine()) return;
  Token mine = me_;
  words_.sleepers.fetch_and(~bit());
  if (slot_ == primary) slot().holder.compare_exchange_strong(mine, 0);
  else slot().state = SlotPhase::Leaving;
  ring();
}

void ChannelReader::start_at(Progress progress) {
  slot().begun = done_in(progress);
  slot().progress = progress;
  ring();
}

void ChannelReader::ring() {
  words_.bell.fetch_add(1);
  if (words_.asleep.load() != 0) base::clock().wake(words_.bell);
}

namespace {

constexpr double shortest_nap = 20e-6, longest_nap = 500e-6, dozing = 2;  // seconds

}  // namespace

// Waking a process is expensive for the one that does it, so for the first seconds a reader only
// dozes: it looks now and then of its own accord, and the simulation need not wake it.
bool ChannelReader::doze(int64_t index, double patience) {
  const double begin = base::monotonic_seconds();
  if (index != dozing_for_) {
    dozing_for_ = index;
    dozing_since_ = begin;
    nap_ = shortest_nap;
  }
  while (words_.published.load() <= index && words_.closed.load() == 0) {
    const double now = base::monotonic_seconds();
    if (now - dozing_since_ > dozing) return false;
    if (now - begin >= patience) return true;
    base::clock().sleep(nap_);
    nap_ = std::min(2 * nap_, longest_nap);
  }
  return true;
}

ChannelReader::Next ChannelReader::wait(int64_t index, double patience) {
  if (words_.published.load() > index) return Next::Message;
  if (!doze(index, patience)) sleep(index, patience);
  // Whatever the writer published before it died or closed comes first.
  const bool over = words_.closed.load() != 0 || !writer_.lives(words_.writer);
  if (words_.published.load() > index) return Next::Message;
  return over ? Next::End : Next::Nothing;
}

void ChannelReader::sleep(int64_t index, double patience) {
  words_.sleepers.fetch_or(bit());
  const uint32_t seen = words_.call.load();
  if (words_.published.load() <= index && words_.closed.load() == 0)
    base::clock().sleep_while(words_.call, seen, patience);
  words_.sleepers.fetch_and(~bit());
}

Record ChannelReader::record(int64_t index) const {
  return words_.records[static_cast<size_t>(index % record_count)];
}

void ChannelReader::finish(int64_t index) {
  slot().progress = progress_of(index + 1, lost_in(slot().progress));
  ring();
}

// The futex system call, for words that several processes map.

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
