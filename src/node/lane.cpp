// SPDX-License-Identifier: BSD-3-Clause
// Both ends of a lane. Stores are sequentially consistent where a reader that is about to sleep and
// a writer that looks whether anyone sleeps must see each other; the cost of it is far below that
// of what is published.
#include "node/lane.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace pillion::node {

LaneWriter::LaneWriter(LaneWords& words, bool home_in_use)
    : words_(words),
      home_in_use_(home_in_use),
      values_(words.values_size),
      heads_(words.heads_size) {}

std::optional<uint64_t> LaneWriter::reserve(size_t size) {
  const auto at = values_.place(size, published_);
  if (!at) return {};
  return words_.values_offset + *at;
}

std::optional<uint64_t> LaneWriter::reserve_head(size_t size) {
  const auto at = heads_.place(size, published_);
  if (!at) return {};
  return words_.heads_offset + *at;
}

// A quarter of the records stays for words that must get through: that this rank had no room, a
// checkpoint, the end.
bool LaneWriter::fits(size_t size) const {
  return published_ - freed_ < record_count * 3 / 4 && values_.find(size).has_value();
}

bool LaneWriter::fits_head() const {
  return published_ - freed_ + 4 < record_count && heads_.find(heads_.capacity() / 8).has_value();
}

void LaneWriter::publish(const Record& record) {
  if (published_ - freed_ >= record_count)
    base::fail(ErrorCode::Internal, "message {} has no record to go to", published_);
  words_.records[static_cast<size_t>(published_ % record_count)] = record;
  words_.published.store(++published_);
  words_.call.fetch_add(1);
  const bool sleeper = std::any_of(words_.seats.begin(), words_.seats.end(),
                                   [](const SeatWords& s) { return s.asleep.load() != 0; });
  if (sleeper) wake(words_.call);
}

void LaneWriter::close() {
  words_.closed.store(1);
  words_.call.fetch_add(1);
  wake(words_.call);
}

bool LaneWriter::in_use(int seat) const {
  if (seat == home) return home_in_use_;
  const auto state = words_.seats[static_cast<size_t>(seat)].state.load();
  return state == SeatState::Active || state == SeatState::Leaving;
}

int64_t LaneWriter::done(int seat) const {
  return std::clamp(done_in(words_.seats[static_cast<size_t>(seat)].progress), freed_, published_);
}

int64_t LaneWriter::begun(int seat) const {
  return std::clamp(words_.seats[static_cast<size_t>(seat)].begun.load(), freed_, published_);
}

bool LaneWriter::is_held(int seat) {
  return watches_[static_cast<size_t>(seat)].lives(this->seat(seat).holder);
}

// The holder goes last: whoever finds none may sit down.
void LaneWriter::clear_deserted() {
  for (int s = home + 1; s < seat_count; ++s) {
    if (!vacating_[static_cast<size_t>(s)] || !is_deserted(s)) continue;
    auto& seat = this->seat(s);
    vacating_[static_cast<size_t>(s)] = false;
    seat.asleep = 0;
    for (auto& word : seat.disabled) word = 0;
    seat.state = SeatState::Free;
    seat.holder = 0;
  }
}

int64_t LaneWriter::reclaim() {
  clear_deserted();
  int64_t needed = published_;
  for (int s = 0; s < seat_count; ++s)
    if (in_use(s) && (s == home || is_held(s))) needed = std::min(needed, done(s));
  freed_ = std::max(freed_, needed);
  values_.free_before(freed_);
  heads_.free_before(freed_);
  return freed_;
}

void LaneWriter::wait(std::chrono::microseconds patience) {
  words_.asleep.store(1);
  const uint32_t seen = words_.bell.load();
  const int64_t before = freed_;
  if (reclaim() == before) sleep_on(words_.bell, seen, patience);
  words_.asleep.store(0);
}

bool LaneWriter::is_deserted(int number) {
  if (seat(number).holder == 0) return false;
  return seat(number).state == SeatState::Leaving || !is_held(number);
}

// The guest may have left since it said that it was ready.
void LaneWriter::activate(int number) {
  auto& seat = this->seat(number);
  seat.begun = published_;
  seat.progress = progress_of(published_, 0);
  auto ready = SeatState::Ready;
  seat.state.compare_exchange_strong(ready, SeatState::Active);
  words_.call.fetch_add(1);
  wake(words_.call);
}

bool LaneReader::claim() {
  me_ = this_process();
  Token holder = seat().holder;
  // A dead guest's seat is cleared by the simulation; the home seat goes from hand to hand.
  if (seat_ == home ? is_alive(holder) : holder != 0) return false;
  if (!seat().holder.compare_exchange_strong(holder, me_)) return false;
  seat().asleep = 0;
  if (seat_ != home) seat().state = SeatState::Claimed;
  return true;
}

void LaneReader::leave() {
  Token mine = me_;
  seat().asleep = 0;
  if (seat_ == home) seat().holder.compare_exchange_strong(mine, 0);
  else seat().state = SeatState::Leaving;
  ring();
}

void LaneReader::start_at(Progress progress) {
  seat().begun = done_in(progress);
  seat().progress = progress;
  ring();
}

void LaneReader::ring() {
  words_.bell.fetch_add(1);
  if (words_.asleep.load() != 0) wake(words_.bell);
}

LaneReader::Next LaneReader::wait(int64_t index, std::chrono::microseconds patience) {
  if (words_.published.load() > index) return Next::Message;
  seat().asleep.store(1);
  const uint32_t seen = words_.call.load();
  if (words_.published.load() <= index && words_.closed.load() == 0)
    sleep_on(words_.call, seen, patience);
  seat().asleep.store(0);
  // Whatever the writer published before it died or closed comes first.
  const bool over = words_.closed.load() != 0 || !writer_.lives(words_.writer);
  if (words_.published.load() > index) return Next::Message;
  return over ? Next::End : Next::Nothing;
}

Record LaneReader::record(int64_t index) const {
  return words_.records[static_cast<size_t>(index % record_count)];
}

void LaneReader::finish(int64_t index) {
  seat().progress = progress_of(index + 1, lost_in(seat().progress));
  ring();
}

}  // namespace pillion::node
