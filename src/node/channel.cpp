// SPDX-License-Identifier: BSD-3-Clause
// Both ends of a channel. Stores are sequentially consistent where a reader that is about to sleep
// and a writer that looks whether anyone sleeps must see each other; the cost of it is far below
// that of what is published.
#include "node/channel.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pillion::node {

ChannelWriter::ChannelWriter(ChannelWords& words, const SlotsOfChannel& slots, bool primary_in_use)
    : words_(words),
      slots_(slots),
      primary_in_use_(primary_in_use),
      values_offset_(words.values_offset),
      heads_offset_(words.heads_offset),
      values_size_(words.values_size),
      values_(words.values_size),
      heads_(words.heads_size) {}

std::optional<uint64_t> ChannelWriter::reserve(size_t size) {
  const auto at = values_.place(size, published_);
  if (!at) return {};
  return values_offset_ + *at;
}

std::optional<uint64_t> ChannelWriter::reserve_head(size_t size, int64_t last) {
  if (last - freed_ >= record_count) return {};
  const auto at = heads_.place(size, last);
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
  // A reader says that it sleeps before it looks for the last time, so one of the two sees the
  // other. A slot without a holder may have the same word set, which costs a call in vain.
  const bool sleeps = std::any_of(slots_.begin(), slots_.end(),
                                  [](const SlotWords* s) { return s->sleeping.load() != 0; });
  if (sleeps) base::clock().wake(words_.call);
}

void ChannelWriter::call_readers() {
  words_.call.fetch_add(1);
  base::clock().wake(words_.call);
}

void ChannelWriter::close() {
  words_.closed.store(1);
  call_readers();
}

// What this rank has decided counts, and not the state, which says more only of one that leaves.
bool ChannelWriter::in_use(int slot) const {
  if (slot == primary) return primary_in_use_;
  return is_active(slot) && !is_evicted(slot) && this->slot(slot).state != SlotPhase::Leaving;
}

bool ChannelWriter::has_attached_jobs() const {
  return std::any_of(slots_.begin() + primary + 1, slots_.end(),
                     [](const SlotWords* s) { return s->holder.load() != 0; }) ||
         std::any_of(active_.begin(), active_.end(), [](bool active) { return active; });
}

uint32_t ChannelWriter::changes() const {
  uint32_t sum = 0;
  for (const auto* slot : slots_) sum += slot->changes.load();
  return sum;
}

int64_t ChannelWriter::done(int slot) const {
  return std::clamp(done_in(this->slot(slot).progress), freed_, published_);
}

int64_t ChannelWriter::begun(int slot) const {
  return std::clamp(this->slot(slot).begun.load(), freed_, published_);
}

int64_t ChannelWriter::worked(int slot) const {
  if (!in_use(slot)) return published_;
  return std::clamp<int64_t>(this->slot(slot).worked.load(), 0, published_);
}

std::string ChannelWriter::failure(int number) const {
  const auto& text = slot(number).failure[static_cast<size_t>(done(number) % 2)];
  std::string copy(text.data(), strnlen(text.data(), text.size()));
  if (!base::unprintable_part(copy).empty()) copy = "the reason cannot be read: it is no text";
  return copy;
}

bool ChannelWriter::is_held(int slot) {
  return watches_[static_cast<size_t>(slot)].lives(this->slot(slot).holder);
}

// A name that was never seen alive is not a death: a stray store of the job may have put it there.
JobNumber ChannelWriter::lost_job(int number) {
  auto& seen = seen_[static_cast<size_t>(number)];
  const Token holder = slot(number).holder;
  if (holder == 0) return 0;
  if (watches_[static_cast<size_t>(number)].lives(holder)) {
    seen = holder;
    return 0;
  }
  if (holder != seen || slot(number).state == SlotPhase::Leaving) return 0;
  return slot(number).job;
}

void ChannelWriter::expel(JobNumber job) {
  for (int s = 0; s < slot_count; ++s)
    if (slot(s).holder != 0 && slot(s).job == job) words_.expelled[static_cast<size_t>(s)] = job;
}

// The holder is cleared last: a process that finds no holder may claim the slot. One that was
// evicted and lives keeps it: it may be stopped, and write to the slot when it wakes up.
void ChannelWriter::clear_deserted() {
  for (int s = primary + 1; s < slot_count; ++s) {
    if (!vacating_[static_cast<size_t>(s)] || !is_deserted(s)) continue;
    auto& slot = this->slot(s);
    vacating_[static_cast<size_t>(s)] = active_[static_cast<size_t>(s)] = false;
    evicted_[static_cast<size_t>(s)] = false;
    words_.evicted[static_cast<size_t>(s)] = 0;
    slot.sleeping = 0;
    for (auto& word : slot.disabled) word = 0;
    slot.state = SlotPhase::Free;
    slot.holder = 0;
  }
}

int64_t ChannelWriter::reclaim() {
  int64_t needed = needed_by_primary();
  if (has_attached_jobs()) {
    clear_deserted();
    for (int s = primary + 1; s < slot_count; ++s)
      if (in_use(s) && is_held(s)) needed = std::min(needed, done(s));
  }
  if (needed > freed_) words_.freed.store(freed_ = needed);
  values_.free_before(freed_);
  heads_.free_before(freed_);
  return freed_;
}

AttachedHold ChannelWriter::attached_hold(size_t size, size_t beside) {
  AttachedHold hold{.oldest = freed_};
  const int64_t needed = needed_by_primary();
  if (reclaim() >= needed) return hold;
  hold.oldest = freed_;
  hold.bytes = values_.in_use_before(needed) + beside;
  Arena values = values_, heads = heads_;
  values.set_capacity(values.capacity() + beside);
  values.free_before(needed);
  heads.free_before(needed);
  hold.decides = published_ - needed < record_count * 3 / 4 && values.find(size) &&
                 heads.find(heads.capacity() / 8);
  return hold;
}

void ChannelWriter::evict_slowest() {
  const int slot = slowest();
  if (slot != primary) evict(slot);
}

// The job must see that before it can see memory that is used again. Stores that go past the caches
// are not ordered by the store itself.
void ChannelWriter::evict(int slot) {
  finished_[static_cast<size_t>(slot)] = finished(slot);
  evicted_[static_cast<size_t>(slot)] = true;
  words_.evicted[static_cast<size_t>(slot)].store(1);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  call_readers();
}

// On another rank the job may have been evicted, or have died.
void ChannelWriter::vacate(int slot) {
  vacating_[static_cast<size_t>(slot)] = true;
  if (is_active(slot) && !is_deserted(slot)) evict(slot);
}

int ChannelWriter::slowest() {
  for (int s = 0; s < slot_count; ++s)
    if (in_use(s) && done(s) == freed_ && (s == primary || is_held(s))) return s;
  return primary;
}

// Each slot has a bell of its own, and only one can be slept on: that of a reader without which
// nothing more is freed. It must not have finished anything before the bell was read, or another
// reader might be the one that is left.
void ChannelWriter::wait(double patience) {
  const int64_t before = freed_;
  const int number = slowest();
  auto& bell = slot(number).bell;
  words_.asleep.store(static_cast<uint32_t>(number) + 1);
  const uint32_t seen = bell.load();
  if (reclaim() == before && done(number) == before)
    // The reader changes its bell after it has finished a message: one that it finished since the
    // bell was read ends the sleep at once.
    base::clock().sleep_while(bell, seen, patience);
  words_.asleep.store(0);
}

bool ChannelWriter::is_deserted(int number) {
  // One that gets messages does not go without a word: a stray store has wiped its name out.
  if (slot(number).holder == 0) return is_active(number);
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
  slot.begun = slot.worked = published_;
  slot.progress = progress_of(published_, 0);
  vacating_[static_cast<size_t>(number)] = false;
  active_[static_cast<size_t>(number)] = true;
  auto ready = SlotPhase::Ready;
  slot.state.compare_exchange_strong(ready, SlotPhase::Active);
  call_readers();
}

void ChannelWriter::turn_away(int number) {
  auto ready = SlotPhase::Ready;
  slot(number).state.compare_exchange_strong(ready, SlotPhase::Claimed);
  vacate(number);
  call_readers();
}

bool ChannelReader::claim(JobNumber job) {
  me_ = this_process();
  job_ = job;
  Token holder = slot_.holder;
  // A dead attached job's slot is cleared by the simulation; the primary slot goes from hand to
  // hand.
  if (number_ == primary ? is_alive(holder) : holder != 0) return false;
  if (!slot_.holder.compare_exchange_strong(holder, me_)) return false;
  slot_.job = job;
  slot_.sleeping = 0;
  if (number_ != primary) slot_.state = SlotPhase::Claimed;
  return true;
}

void ChannelReader::leave() {
  if (me_ == 0 || !is_mine()) return;
  Token mine = me_;
  slot_.sleeping = 0;
  if (number_ == primary) slot_.holder.compare_exchange_strong(mine, 0);
  else slot_.state = SlotPhase::Leaving;
  ring();
}

// A stray store of this job may have spoilt the name of the holder, which is put right. If another
// process has taken the slot since, it is lost.
bool ChannelReader::keep_slot() {
  Token holder = slot_.holder;
  if (holder == me_) return true;
  // The simulation clears the slots of attached jobs, and then the slot is lost.
  const bool free = holder == 0 ? number_ == primary : !is_alive(holder);
  return free && slot_.holder.compare_exchange_strong(holder, me_);
}

void ChannelReader::start_at(Progress progress) {
  progress_ = progress;
  slot_.begun = done_in(progress);
  slot_.progress = progress;
  ring();
}

void ChannelReader::ring() {
  slot_.bell.fetch_add(1);
  if (words_.asleep.load() == static_cast<uint32_t>(number_) + 1) base::clock().wake(slot_.bell);
}

namespace {

// Pauses take some 50 microseconds longer than asked for, which the system uses to join wake-ups.
constexpr base::Pauses naps{.shortest = 20e-6, .longest = 50e-6};
constexpr double dozing = 2e-3;  // seconds

}  // namespace

// Waking a process costs the one that does it some microseconds, so where messages come every
// millisecond a reader only dozes: it looks now and then of its own accord, and the simulation need
// not wake it. Where they come more seldom it sleeps, so that an idle reader does not disturb
// others.
bool ChannelReader::doze(int64_t index, double patience) {
  const double begin = base::monotonic_seconds();
  if (index != dozing_for_) {
    dozing_for_ = index;
    dozing_since_ = begin;
  }
  const double until = std::min(dozing_since_ + dozing, begin + patience);
  const auto is_there = [&] {
    return words_.published.load() > index || words_.closed.load() != 0;
  };
  // Short naps until a message is there: a writer that publishes often needs no call then.
  if (base::wait_until(is_there, until, naps)) return true;
  return until < dozing_since_ + dozing;
}

// What was read before must not be read later than this.
bool ChannelReader::is_evicted() const {
  std::atomic_thread_fence(std::memory_order_acquire);
  return words_.evicted[static_cast<size_t>(number_)].load() != 0;
}

bool ChannelReader::is_expelled() const {
  return job_ != 0 && words_.expelled[static_cast<size_t>(number_)].load() == job_;
}

ChannelReader::Next ChannelReader::wait(int64_t index, double patience, bool may_doze) {
  if (!keep_slot() || is_evicted()) return Next::End;
  if (words_.published.load() > index) return Next::Message;
  // Waits for at most `patience`, then looks whether the writer lives.
  if (!may_doze || !doze(index, patience)) sleep(index, patience);
  // Whatever the writer published before it died or closed comes first.
  const bool over = words_.closed.load() != 0 || !writer_.lives(words_.writer);
  if (words_.published.load() > index) return Next::Message;
  return over ? Next::End : Next::Nothing;
}

void ChannelReader::sleep(int64_t index, double patience) {
  slot_.sleeping.store(1);
  const uint32_t seen = words_.call.load();
  if (words_.published.load() <= index && words_.closed.load() == 0)
    // The writer changes `call` after it has published, and only for readers that are marked as
    // sleeping: the mark is set before the words are read, so that no call is missed.
    base::clock().sleep_while(words_.call, seen, patience);
  slot_.sleeping.store(0);
}

// A stray store in the slot may have told the simulation that more is finished than is.
Record ChannelReader::record(int64_t index) const {
  const int64_t freed = words_.freed;
  if (index < freed)
    base::fail(ErrorCode::Internal, "message {} was freed: the slot says that {} are finished",
               index, freed);
  return words_.records[static_cast<size_t>(index % record_count)];
}

int64_t ChannelReader::published_part(int64_t index) const {
  const int64_t freed = words_.freed;
  return std::clamp(index, freed, std::max(freed, words_.published.load()));
}

Progress ChannelReader::progress() const {
  const Progress progress = slot_.progress;
  const int64_t done = published_part(done_in(progress));
  return progress_of(done, std::min(lost_in(progress), done));
}

// The simulation reads the other one until the message is finished.
void ChannelReader::set_failure(const std::string& text, int64_t index) {
  auto& to = slot_.failure[static_cast<size_t>((index + 1) % 2)];
  const size_t length = std::min(text.size(), to.size() - 1);
  std::memcpy(to.data(), text.data(), length);
  to[length] = '\0';
}

void ChannelReader::finish(int64_t index) {
  progress_ = progress_of(index + 1, lost_in(progress_));
  slot_.progress = progress_;
  ring();
}

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
  const auto fits = [&](size_t begin, size_t end) { return begin <= end && end - begin >= size; };
  const bool wrapped = pieces_.back().begin < first;
  // The first piece may lie beyond a capacity that has become smaller.
  const size_t before = std::min(first, capacity_);
  if (wrapped) return fits(last, before) ? std::optional(last) : std::nullopt;
  if (fits(last, capacity_)) return last;
  return fits(0, before) ? std::optional<size_t>(0) : std::nullopt;
}

size_t Arena::in_use_before(int64_t index) const {
  size_t bytes = 0;
  for (const auto& piece : pieces_)
    if (piece.index < index) bytes += piece.end - piece.begin;
  return bytes;
}

size_t Arena::end() const {
  size_t end = 0;
  for (const auto& piece : pieces_) end = std::max(end, piece.end);
  return end;
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
