// SPDX-License-Identifier: BSD-3-Clause
// The agenda of a run.
#include "runtime/agenda.hpp"

#include <algorithm>
#include <cmath>

namespace pillion::runtime {

Agenda::Agenda(const std::deque<model::AnalysisSpec>& analyses)
    : analyses_(analyses), memories_(analyses.size()) {}

std::vector<size_t> Agenda::scheduled(int64_t step, double time) const {
  std::vector<size_t> due;
  for (size_t a = 0; a < analyses_.size(); ++a)
    if (model::is_due(analyses_[a].every, memories_[a].reached, step, time)) due.push_back(a);
  return due;
}

int64_t Agenda::steps_until_due(size_t analysis, double time) const {
  const auto& every = analyses_[analysis].every;
  const auto next = model::horizon(every, memories_[analysis].reached, last_step_);
  if (!every.in_time()) return next.step - last_step_;
  const double steps = per_step_ > 0 ? std::ceil((next.time - time) / per_step_) : 1;
  return static_cast<int64_t>(std::clamp(steps, 1.0, 1e9));
}

void Agenda::offer(int64_t step, double time) {
  if (started_ && step <= last_step_)
    base::fail(ErrorCode::Argument, "step {} was offered after step {}; steps must increase", step,
               last_step_);
  if (started_ && step > looked_step_)
    per_step_ = (time - looked_) / static_cast<double>(step - looked_step_);
  looked_ = time;
  looked_step_ = step;
  started_ = true;
  last_step_ = step;
  look_ahead(time);
}

void Agenda::extend(double time) {
  memories_.resize(analyses_.size());
  if (started_) look_ahead(time);
}

void Agenda::look_ahead(double time) {
  next_ = {};
  for (size_t a = 0; a < analyses_.size(); ++a) {
    auto& reached = memories_[a].reached;
    reached = model::advance(analyses_[a].every, reached, time);
    const auto horizon = model::horizon(analyses_[a].every, reached, last_step_);
    next_.step = std::min(next_.step, horizon.step);
    next_.time = std::min(next_.time, horizon.time);
  }
}

void Agenda::resume(int64_t step, double time) {
  restored_ = step;
  offer(step, time);
}

}  // namespace pillion::runtime
