// SPDX-License-Identifier: BSD-3-Clause
// A status as numbers, reduced by their maximum.
#include "simulation/agreement.hpp"

#include <algorithm>
#include <array>

#include "base/clock.hpp"
#include "simulation/step_numbers.hpp"

namespace pillion::simulation {

using policy::RankStatus;

namespace {

constexpr size_t fixed = 13 + 3 * policy::attached_slots;  ///< numbers beside those of analyses

// A slot is ready if it is on every rank, so the maximum is taken of its negation; the time that
// the run has taken is a minimum.
void put_numbers(const RankStatus& mine, double seconds_per_step, int64_t steps,
                 std::span<double> out) {
  auto at = out.begin();
  const auto put = [&](double value) { *at++ = value; };
  const auto flag = [&](bool holds) { put(holds ? 1.0 : 0.0); };
  flag(mine.no_room_for_last);
  flag(mine.no_room_for_waiting);
  flag(mine.no_room_for_both);
  flag(mine.dropped);
  flag(mine.blocked);
  put(static_cast<double>(mine.level));
  put(seconds_per_step);
  flag(mine.attached_full);
  put(mine.attached_seconds);
  put(-mine.running);
  put(static_cast<double>(steps));
  flag(mine.sidecars_failed);
  put(static_cast<double>(mine.messages));
  for (const bool ready : mine.slot_ready) flag(!ready);
  for (const bool lost : mine.slot_lost) flag(lost);
  for (const bool evicted : mine.slot_evicted) flag(evicted);
  const auto analyses = static_cast<size_t>(out.end() - at);
  for (const int32_t a : mine.disabled)
    if (static_cast<size_t>(a) < analyses) at[a] = 1;
}

RankStatus status_of(std::span<const double> numbers) {
  auto at = numbers.begin();
  const auto flag = [&] { return *at++ != 0; };
  RankStatus all;
  all.no_room_for_last = flag();
  all.no_room_for_waiting = flag();
  all.no_room_for_both = flag();
  all.dropped = flag();
  all.blocked = flag();
  all.level = static_cast<int32_t>(*at++);
  all.seconds_per_step = *at++;
  all.attached_full = flag();
  all.attached_seconds = *at++;
  all.running = -*at++;
  all.steps = static_cast<int64_t>(*at++);
  all.sidecars_failed = flag();
  all.messages = static_cast<int64_t>(*at++);
  for (bool& ready : all.slot_ready) ready = !flag();
  for (bool& lost : all.slot_lost) lost = flag();
  for (bool& evicted : all.slot_evicted) evicted = flag();
  for (int32_t a = 0; at != numbers.end(); ++a)
    if (flag()) all.disabled.insert(a);
  return all;
}

}  // namespace

void Agreement::reserve(size_t analyses, size_t scalars) {
  reduction_.reserve(StepNumbers::width(scalars) + fixed + analyses);
}

void Agreement::start(const RankStatus& mine, size_t analyses, int64_t steps,
                      std::span<const double> numbers) {
  const double now = base::monotonic_seconds();
  double seconds_per_step = mine.seconds_per_step;
  if (steps > steps_ && time_ > 0)
    seconds_per_step = (now - time_) / static_cast<double>(steps - steps_);
  steps_ = steps;
  time_ = now;
  if (next_ != std::numeric_limits<int64_t>::max())
    next_ = steps + policy::steps_to_next_agreement(seconds_per_step_);
  const auto values = reduction_.prepare(numbers.size() + fixed + analyses);
  width_ = numbers.size();
  numbers_ = {};
  std::copy(numbers.begin(), numbers.end(), values.begin());
  put_numbers(mine, seconds_per_step, steps, values.subspan(width_));
  reduction_.start();
}

std::optional<RankStatus> Agreement::settle() {
  const auto values = reduction_.settle();
  if (!values) return {};
  numbers_ = values->first(width_);
  auto all = status_of(values->subspan(width_));
  seconds_per_step_ = all.seconds_per_step;
  return all;
}

}  // namespace pillion::simulation
