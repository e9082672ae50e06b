// SPDX-License-Identifier: BSD-3-Clause
// Both ends of a lane. Stores are sequentially consistent where a reader that is about to sleep and
// a writer that looks whether anyone sleeps must see each other; the cost of it is far below that
// of what is published.
#include "node/lane.hpp"

#include <algorithm>
#include <thread>

#include "base/error.hpp"

namespace pillion::node {

LaneWriter::LaneWriter(LaneWords& words, bool home_in_use)
    : words_(words),
      home_in_use_(home_in_use),
      values_offset_(words.values_offset),
      heads_offset_(words.heads_offset),
      values_(words.values_size),
      heads_(words.heads_size) {}

std::optional<uint64_t> LaneWriter::reserve(size_t size) {
  const auto at = values_.place(size, published_);
  if (!at) return {};
  return values_offset_ + *at;
}

std::optional<uint64_t> LaneWriter::reserve_head(size_t size) {
  if (published_ - freed_ >= record_count) return {};
  const auto at = heads_.place(size, published_);
  if (!at) return {};
  return heads_offset_ + *at;
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
  if (words_.sleepers.load() != 0) wake(words_.call);
}

void LaneWriter::close() {
  words_.closed.store(1);
  words_.call.fetch_add(1);
  wake(words_.call);
}

bool LaneWriter::in_use(int seat) const {
  if (seat == home) return home_in_use_;
  return words_.seats[static_cast<size_t>(seat)].state == SeatState::Active;
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
    words_.sleepers.fetch_and(~(uint32_t{1} << s));
    for (auto& word : seat.disabled) word = 0;
    seat.state = SeatState::Free;
    seat.holder = 0;
    words_.guests.fetch_sub(1);
  }
}

int64_t LaneWriter::reclaim() {
  int64_t needed = in_use(home) ? done(home) : published_;
  if (has_guests()) {
    clear_deserted();
    for (int s = home + 1; s < seat_count; ++s)
      if (in_use(s) && is_held(s)) needed = std::min(needed, done(s));
  }
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

bool LaneWriter::retire() {
  Token holder = seat(home).holder;
  if (watches_[home].lives(holder)) return false;
  if (!seat(home).holder.compare_exchange_strong(holder, this_process())) return false;
  seat(home).state = SeatState::Leaving;
  return true;
}

// The guest may have left since it said that it was ready.
void LaneWriter::activate(int number) {
  auto& seat = this->seat(number);
  seat.begun = published_;
  seat.progress = progress_of(published_, 0);
  vacating_[static_cast<size_t>(number)] = false;
  auto ready = SeatState::Ready;
  seat.state.compare_exchange_strong(ready, SeatState::Active);
  words_.call.fetch_add(1);
  wake(words_.call);
}

void LaneWriter::turn_away(int number) {
  auto ready = SeatState::Ready;
  seat(number).state.compare_exchange_strong(ready, SeatState::Claimed);
  vacate(number);
  words_.call.fetch_add(1);
  wake(words_.call);
}

bool LaneReader::claim() {
  me_ = this_process();
  Token holder = seat().holder;
  // A dead guest's seat is cleared by the simulation; the home seat goes from hand to hand.
  if (seat_ == home ? is_alive(holder) : holder != 0) return false;
  // A guest is counted before it sits, so that none sits uncounted.
  if (seat_ != home) words_.guests.fetch_add(1);
  if (!seat().holder.compare_exchange_strong(holder, me_)) {
    if (seat_ != home) words_.guests.fetch_sub(1);
    return false;
  }
  words_.sleepers.fetch_and(~bit());
  if (seat_ != home) seat().state = SeatState::Claimed;
  return true;
}

void LaneReader::leave() {
  if (me_ == 0 || !is_mine()) return;
  Token mine = me_;
  words_.sleepers.fetch_and(~bit());
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

namespace {

constexpr std::chrono::microseconds shortest_nap{20}, longest_nap{500};
constexpr std::chrono::seconds dozing{2};

}  // namespace

// Waking somebody is dear for the one who does it, so for the first seconds a reader only dozes: it
// looks now and then of its own accord, and the simulation need not wake it.
bool LaneReader::doze(int64_t index, std::chrono::microseconds patience) {
  const auto begin = std::chrono::steady_clock::now();
  if (index != dozing_for_) {
    dozing_for_ = index;
    dozing_since_ = begin;
    nap_ = shortest_nap;
  }
  while (words_.published.load() <= index && words_.closed.load() == 0) {
    const auto now = std::chrono::steady_clock::now();
    if (now - dozing_since_ > dozing) return false;
    if (now - begin >= patience) return true;
    std::this_thread::sleep_for(nap_);
    nap_ = std::min(2 * nap_, longest_nap);
  }
  return true;
}

LaneReader::Next LaneReader::wait(int64_t index, std::chrono::microseconds patience) {
  if (words_.published.load() > index) return Next::Message;
  if (!doze(index, patience)) sleep(index, patience);
  // Whatever the writer published before it died or closed comes first.
  const bool over = words_.closed.load() != 0 || !writer_.lives(words_.writer);
  if (words_.published.load() > index) return Next::Message;
  return over ? Next::End : Next::Nothing;
}

void LaneReader::sleep(int64_t index, std::chrono::microseconds patience) {
  words_.sleepers.fetch_or(bit());
  const uint32_t seen = words_.call.load();
  if (words_.published.load() <= index && words_.closed.load() == 0)
    sleep_on(words_.call, seen, patience);
  words_.sleepers.fetch_and(~bit());
}

Record LaneReader::record(int64_t index) const {
  return words_.records[static_cast<size_t>(index % record_count)];
}

void LaneReader::finish(int64_t index) {
  seat().progress = progress_of(index + 1, lost_in(seat().progress));
  ring();
}

}  // namespace pillion::node
