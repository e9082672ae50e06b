// SPDX-License-Identifier: BSD-3-Clause
// The agenda of a run.
#include "run/agenda.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace pillion::run {

namespace {

/// Whether a time is later than another by more than round-off: a program that comes to a step
/// again, or reads its time from a restart file, may get other last digits.
bool is_later(double time, double than) {
  constexpr double round_off = 1e-10;
  return time - than > round_off * std::max(std::abs(time), std::abs(than));
}

}  // namespace

Agenda::Agenda(const std::deque<model::AnalysisSpec>& analyses)
    : analyses_(analyses), states_(analyses.size()) {}

// Within a run, a counter that goes back begins a new series of steps. If time advances and the
// first has the time of the last, it is the same state under a new number. A counter that stands
// still, or is another one after a restart, continues the series.
NumberedStep Agenda::number(int64_t step, double time) const {
  NumberedStep out{.step = step + offset_};
  const bool later = started_ && is_later(time, last_time_);
  out.turns_back = started_ && is_later(last_time_, time);
  if (!started_ || out.step > last_step_) return out;
  const bool same_state = out.step == last_step_ || per_step_ > 0;
  out.known = resumed_ ? !later : !later && !out.turns_back && same_state;
  if (out.known) return out;
  out.begins_segment = true;
  const int64_t least = last_step_ + 1 - step;
  const bool goes_back = !resumed_ && out.step < last_step_;
  out.step = step + (goes_back ? aligned(least) : least);
  return out;
}

std::string Agenda::explain(const NumberedStep& numbered, int64_t step, double time) const {
  if (!numbered.begins_segment)
    return fmt::format(
        "the program's time went back from {} to {} at step {}; schedules in time count from there",
        last_time_, time, numbered.step);
  return fmt::format(
      "after step {}, at time {}, the program offered step {}, at time {}; from here on its step n "
      "is step n + {} of this run",
      last_step_ - offset_, last_time_, step, time, numbered.step - step);
}

// With an offset that every schedule divides, what is due at the program's steps 50, 100, … still
// is. Schedules too long for that count from elsewhere.
int64_t Agenda::aligned(int64_t offset) const {
  constexpr int64_t longest = 1000000;
  int64_t multiple = 1;
  for (const auto& analysis : analyses_) {
    if (analysis.every.in_time() || analysis.every.steps > longest) continue;
    const int64_t both = std::lcm(multiple, analysis.every.steps);
    if (both <= longest) multiple = both;
  }
  return (offset + multiple - 1) / multiple * multiple;
}

std::vector<size_t> Agenda::scheduled(int64_t step, double time) const {
  std::vector<size_t> due;
  for (size_t a = 0; a < analyses_.size(); ++a)
    if (is_scheduled(a, step, time)) due.push_back(a);
  return due;
}

bool Agenda::is_scheduled(size_t a, int64_t step, double time) const {
  const bool turned_back = started_ && is_later(last_time_, time);
  const auto reached = turned_back ? model::Reached() : states_[a].reached;
  return model::is_due(analyses_[a].every, reached, step, time);
}

int64_t Agenda::steps_until_due(size_t analysis, double time) const {
  const auto& every = analyses_[analysis].every;
  const auto next = model::horizon(every, states_[analysis].reached, last_step_);
  if (!every.in_time()) return next.step - last_step_;
  const double steps = per_step_ > 0 ? std::ceil((next.time - time) / per_step_) : 1;
  return static_cast<int64_t>(std::clamp(steps, 1.0, 1e9));
}

std::string Agenda::never_due(size_t a, int64_t count) const {
  if (!offered_ || states_[a].was_due) return {};
  const auto& every = analyses_[a].every;
  const auto& name = analyses_[a].name;
  const auto what = fmt::format("analysis '{}' was never due: 'every: {}'", name, every.text());
  if (every.in_time())
    return fmt::format("{} met none of the {} times that the program offered, from {} to {}", what,
                       count, first_time_, last_time_);
  return fmt::format(
      "{} met none of the {} steps that the program offered, from {} to {}; it is "
      "due at steps that {} divides",
      what, count, first_step_, last_step_ - offset_, every.steps);
}

void Agenda::offer(int64_t step, double time) {
  const auto numbered = number(step, time);
  for (size_t a = 0; a < states_.size(); ++a)
    states_[a].was_due = states_[a].was_due || is_scheduled(a, numbered.step, time);
  if (!std::exchange(offered_, true)) {
    first_step_ = step;
    first_time_ = time;
  }
  if (numbered.turns_back)
    for (auto& memory : states_) memory.reached.reset();
  if (numbered.begins_segment || numbered.turns_back) per_step_ = 0;
  else if (started_ && numbered.step > looked_step_)
    per_step_ = (time - looked_) / static_cast<double>(numbered.step - looked_step_);
  offset_ = numbered.step - step;
  looked_ = last_time_ = time;
  looked_step_ = last_step_ = numbered.step;
  started_ = true;
  resumed_ = false;
  dry_run(time);
}

void Agenda::extend(double time) {
  states_.resize(analyses_.size());
  if (started_) dry_run(time);
}

void Agenda::dry_run(double time) {
  next_ = {};
  for (size_t a = 0; a < analyses_.size(); ++a) {
    auto& reached = states_[a].reached;
    reached = model::advance(analyses_[a].every, reached, time);
    const auto horizon = model::horizon(analyses_[a].every, reached, last_step_);
    next_.step = std::min(next_.step, horizon.step);
    next_.time = std::min(next_.time, horizon.time);
  }
}

void Agenda::resume(int64_t step, double time, int64_t offset) {
  offset_ = offset;
  const auto before = states_;
  offer(step - offset, time);
  for (size_t a = 0; a < states_.size(); ++a) states_[a].was_due = before[a].was_due;
  resumed_ = true;
  offered_ = false;
}

}  // namespace pillion::run
