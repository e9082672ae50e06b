// SPDX-License-Identifier: BSD-3-Clause
// What is due at a step. Knows schedules and what they remember; takes no message and no lock, and
// answers for a step at which nothing is due in a few nanoseconds.
#pragma once

#include <deque>
#include <vector>

#include "model/configuration.hpp"

namespace pillion::runtime {

/// What is remembered of one analysis from step to step, and from run to run.
struct Memory {
  model::Reached reached;
  bool fired = false;  ///< its condition held at the last check
  int64_t skipped = 0;
};

class Agenda {
 public:
  explicit Agenda(const std::deque<model::AnalysisSpec>& analyses);

  /// Whether certainly nothing is due.
  [[nodiscard]] bool idle(int64_t step, double time) const {
    return started_ && step > last_step_ && step < next_.step && time < next_.time;
  }
  /// Whether the step was offered before, in this run or the one that it resumes.
  [[nodiscard]] bool known(int64_t step) const {
    return step <= restored_ || (started_ && step == last_step_);
  }
  /// Analyses whose schedule is due, conditions not asked.
  [[nodiscard]] std::vector<size_t> scheduled(int64_t step, double time) const;
  /// How many steps after the one offered last, at `time`, an analysis is due again, or may be.
  /// Steps are taken to go on as the last one did where it is due in time.
  [[nodiscard]] int64_t steps_until_due(size_t analysis, double time) const;
  /// Takes note of a step. Throws ErrorCode::Argument if steps do not increase.
  void offer(int64_t step, double time);
  /// The same for a step at which idle() was true.
  void offer_idle(int64_t step) { last_step_ = step; }

  [[nodiscard]] Memory& memory(size_t analysis) { return memories_[analysis]; }
  [[nodiscard]] const Memory& memory(size_t analysis) const { return memories_[analysis]; }
  [[nodiscard]] int64_t last_step() const { return last_step_; }
  /// Takes in analyses that were appended to those it was made with. Their schedules count from the
  /// step offered last, whose time is `time`.
  void extend(double time);
  /// Goes on after a step of an earlier run.
  void resume(int64_t step, double time);

 private:
  /// Remembers what the schedules have reached, and finds when the next can be due.
  void look_ahead(double time);

  const std::deque<model::AnalysisSpec>& analyses_;
  std::vector<Memory> memories_;
  model::Horizon next_;
  int64_t last_step_ = 0;
  double looked_ = 0;        ///< time of the last step that was not idle
  int64_t looked_step_ = 0;  ///< and its number
  double per_step_ = 0;      ///< time that a step takes, as it was last
  int64_t restored_ = std::numeric_limits<int64_t>::min();
  bool started_ = false;
};

}  // namespace pillion::runtime
