// SPDX-License-Identifier: BSD-3-Clause
// A status as numbers, reduced by their maximum.
#include "simulation/agreement.hpp"

#include <array>

#include "base/clock.hpp"

namespace pillion::simulation {

using policy::RankStatus;

namespace {

// A slot is ready if it is on every rank, so the maximum is taken of its negation; the time that
// the run has taken is a minimum.
std::vector<double> numbers_of(const RankStatus& mine, size_t analyses) {
  const auto flag = [](bool holds) { return holds ? 1.0 : 0.0; };
  const std::array first_numbers{flag(mine.no_room_for_last),
                                 flag(mine.no_room_for_waiting),
                                 flag(mine.no_room_for_both),
                                 flag(mine.dropped),
                                 flag(mine.blocked),
                                 static_cast<double>(mine.level),
                                 mine.seconds_per_step,
                                 flag(mine.attached_full),
                                 mine.attached_seconds,
                                 -mine.running,
                                 static_cast<double>(mine.steps)};
  std::vector<double> out;
  out.reserve(first_numbers.size() + mine.slot_ready.size() + mine.slot_lost.size() + analyses);
  out.assign(first_numbers.begin(), first_numbers.end());
  for (const bool ready : mine.slot_ready) out.push_back(flag(!ready));
  for (const bool lost : mine.slot_lost) out.push_back(flag(lost));
  const size_t first = out.size();
  out.resize(first + analyses);
  for (const int32_t a : mine.disabled)
    if (static_cast<size_t>(a) < analyses) out[first + static_cast<size_t>(a)] = 1;
  return out;
}

RankStatus status_of(const std::vector<double>& numbers) {
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
  for (bool& ready : all.slot_ready) ready = !flag();
  for (bool& lost : all.slot_lost) lost = flag();
  for (int32_t a = 0; at != numbers.end(); ++a)
    if (flag()) all.disabled.insert(a);
  return all;
}

}  // namespace

void Agreement::start(RankStatus mine, size_t analyses, int64_t steps) {
  const double now = base::monotonic_seconds();
  if (steps > steps_ && time_ > 0)
    mine.seconds_per_step = (now - time_) / static_cast<double>(steps - steps_);
  steps_ = mine.steps = steps;
  time_ = now;
  if (next_ != std::numeric_limits<int64_t>::max())
    next_ = steps + policy::steps_to_next_agreement(seconds_per_step_);
  reduction_.start(numbers_of(mine, analyses));
}

std::optional<RankStatus> Agreement::settle() {
  const auto numbers = reduction_.settle();
  if (!numbers) return {};
  auto all = status_of(*numbers);
  seconds_per_step_ = all.seconds_per_step;
  return all;
}

}  // namespace pillion::simulation
