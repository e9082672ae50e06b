// SPDX-License-Identifier: BSD-3-Clause
// Admission of publications, and the fair scheduler.
#include "policy/backlog.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/coarsen.hpp"

namespace pillion::policy {

using model::WhenFull;

namespace {

/// A quarter more than the average: particles come with their ids when they are chosen by id.
size_t coarse_size(size_t whole, int32_t level) { return (whole + whole / 4) >> level; }

}  // namespace

FairScheduler::Entry& FairScheduler::entry(size_t analysis) {
  if (analysis >= entries_.size()) entries_.resize(analysis + 1);
  return entries_[analysis];
}

void FairScheduler::published(const std::vector<size_t>& due, int64_t number) {
  for (const size_t a : due) entry(a) = {.published = number, .window = entry(a).window / 2};
}

// Only the one that had priority, and found no room, needs more of it: the others yielded, or had
// no priority.
void FairScheduler::skipped(const std::vector<size_t>& due) {
  constexpr int64_t widest = int64_t{1} << 30;
  const auto first = waiting();
  for (const size_t a : due) {
    Entry& own = entry(a);
    if (first == a || !own.waits) own.window = std::clamp<int64_t>(2 * own.window, 1, widest);
    own.waits = true;
  }
}

// What is dropped again and again may be too large for any room: others need not yield for it.
void FairScheduler::dropped(const std::vector<size_t>& due) {
  constexpr int64_t most = 3;
  skipped(due);
  for (const size_t a : due)
    if (++entry(a).drops > most) withdraw(a);
}

void FairScheduler::withdraw(size_t analysis) {
  if (analysis < entries_.size()) entries_[analysis].waits = false;
}

std::optional<size_t> FairScheduler::waiting() const {
  std::optional<size_t> best;
  for (size_t a = 0; a < entries_.size(); ++a)
    if (entries_[a].waits && (!best || entries_[a].published < entries_[*best].published)) best = a;
  return best;
}

bool FairScheduler::yields(const std::vector<size_t>& due, int64_t steps_until_waiting) const {
  const auto first = waiting();
  return first && std::find(due.begin(), due.end(), *first) == due.end() &&
         steps_until_waiting <= entries_[*first].window;
}

Admission admit(WhenFull when_full, const RankStatus& before, Priority priority) {
  if (before.blocked) return {.skip = true};
  if (when_full == WhenFull::Skip && priority == Priority::Waiting)
    return {.skip = before.no_room_for_waiting};
  if (when_full == WhenFull::Skip && priority == Priority::Yields && before.no_room_for_both)
    return {.skip = true};
  if (!before.no_room_for_last) return {};
  if (when_full == WhenFull::Coarsen)
    return {.skip = before.level > model::max_coarsening, .level = before.level};
  return {.skip = when_full == WhenFull::Skip};
}

int64_t steps_to_next_agreement(double seconds_per_step) {
  constexpr double between = 0.5;
  constexpr double most_steps = 100000;
  if (!(seconds_per_step > 0)) return 1;
  return static_cast<int64_t>(std::clamp(std::floor(between / seconds_per_step), 1.0, most_steps));
}

// Every publication is followed by an agreement, in which ranks say whether they dropped it.
void Backlog::settle(const RankStatus& all, const std::vector<bool>& wants) {
  before_ = all;
  if (all.dropped) scheduler_.dropped(last_due_);
  else scheduler_.published(last_due_, ++published_);
  last_due_.clear();
  for (size_t a = 0; a < wants.size(); ++a)
    if (!wants[a]) withdraw(a);
}

Priority Backlog::priority_of(const PublicationReady& ready) const {
  const auto waiting = scheduler_.waiting();
  if (!waiting) return Priority::None;
  const auto& due = ready.analyses;
  if (std::find(due.begin(), due.end(), *waiting) != due.end()) return Priority::Waiting;
  return scheduler_.yields(due, ready.steps_until_waiting) ? Priority::Yields : Priority::None;
}

std::vector<CollectiveAction> Backlog::publish(PublicationReady ready,
                                               const std::vector<bool>& needs_whole) {
  const auto priority = priority_of(ready);
  std::vector<size_t> due = std::move(ready.analyses);
  const auto whole = [&](size_t a) { return needs_whole[a]; };
  // If no analysis can use a coarse publication, `coarsen` is `skip`.
  const bool may_coarsen = !std::all_of(due.begin(), due.end(), whole);
  const auto when_full =
      when_full_ == WhenFull::Coarsen && !may_coarsen ? WhenFull::Skip : when_full_;
  const auto [skip, level] = admit(when_full, before_, priority);
  std::vector<size_t> skipped;
  if (skip) {
    skipped.swap(due);
  } else if (level > 0) {
    const auto kept =
        std::stable_partition(due.begin(), due.end(), [&](size_t a) { return !whole(a); });
    skipped.assign(kept, due.end());
    due.erase(kept, due.end());
  }
  scheduler_.skipped(skipped);
  std::vector<CollectiveAction> actions;
  if (!skipped.empty()) actions.push_back(Skip{std::move(skipped)});
  if (due.empty()) return actions;
  last_due_ = due;
  actions.push_back(Publish{std::move(due), level});
  return actions;
}

void Backlog::on(const MessageReady& event) {
  last_size_ = event.own_bytes > 0 ? event.own_bytes : event.bytes;
  last_with_attached_ = event.own_bytes > 0 ? event.bytes : 0;
  for (const size_t a : event.analyses) sizes_[a] = event.bytes;
}

std::vector<LocalAction> Backlog::on(const NoRoom& event) {
  switch (when_full_) {
    case WhenFull::Wait:
      if (stalled_) return {Drop{}};
      return {Wait{.until = Until::MessageBudget, .deadline = event.now + deadline_}};
    case WhenFull::Spill:
      if (!event.spill_is_busy) return {Spill{}};
      if (stalled_) return {Drop{}};
      return {Wait{.until = Until::SpillRoom, .deadline = event.now + deadline_}};
    default: return {Drop{}};
  }
}

void Backlog::contribute(RankStatus& mine, const MessageBudget& room) {
  mine.no_room_for_last = !room.fits(last_size_);
  // The run's own analyses go alone where they would be left out together with attached jobs'.
  const bool leaves_out = when_full_ == WhenFull::Skip || when_full_ == WhenFull::Coarsen;
  const bool was_mixed = last_with_attached_ > 0;
  mine.attached_full =
      !room.fits_attached() || (leaves_out && was_mixed && !room.fits(last_with_attached_));
  mine.dropped = std::exchange(dropped_, false);
  if (const auto next = waiting()) {
    // The size of what was never tried is not known. Taken as that of the last one, it is soon
    // tried; without a guess the others would leave room for it also while there is plenty.
    const auto known = sizes_.find(*next);
    const size_t size = known != sizes_.end() ? known->second : last_size_;
    mine.no_room_for_waiting = !room.fits(size);
    mine.no_room_for_both = !room.fits(last_size_ + size);
  }
  const bool can_spill = when_full_ == WhenFull::Spill && room.fits_spill_now(last_size_);
  stalled_ = stalled_ && mine.no_room_for_last && !can_spill;
  mine.blocked =
      !room.fits_header() || stalled_ ||
      (when_full_ == WhenFull::Spill && mine.no_room_for_last && !room.fits_spill(last_size_));
  if (!mine.no_room_for_last || when_full_ != WhenFull::Coarsen) return;
  for (mine.level = 1; mine.level <= model::max_coarsening; ++mine.level)
    if (room.fits(coarse_size(last_size_, mine.level))) break;
}

}  // namespace pillion::policy
