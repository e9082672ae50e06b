// SPDX-License-Identifier: BSD-3-Clause
// The agenda of a run.
#include "runtime/agenda.hpp"

#include <algorithm>

namespace pillion::runtime {

Agenda::Agenda(const std::deque<model::AnalysisSpec>& analyses)
    : analyses_(analyses), memories_(analyses.size()) {}

std::vector<size_t> Agenda::scheduled(int64_t step, double time) const {
  std::vector<size_t> due;
  for (size_t a = 0; a < analyses_.size(); ++a)
    if (model::is_due(analyses_[a].every, memories_[a].reached, step, time)) due.push_back(a);
  return due;
}

void Agenda::offer(int64_t step, double time) {
  if (started_ && step <= last_step_)
    base::fail(ErrorCode::Argument, "step {} was offered after step {}; steps must increase", step,
               last_step_);
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
