// SPDX-License-Identifier: BSD-3-Clause
// What is due at a step. Knows schedules and their state; takes no message and no lock, and answers
// for a step at which nothing is due in a few nanoseconds.
//
// It also numbers the steps of the run. These always increase, while the program's own counter may
// go back: LAMMPS's `reset_timestep` sets it to 0 between two runs, and Nek5000 counts from 0 after
// each restart. Every rank is offered the same steps, so every rank gives them the same numbers.
#pragma once

#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include "model/configuration.hpp"

namespace pillion::run {

/// The state of one analysis that is kept from step to step, and from run to run.
struct ScheduleState {
  model::Reached reached;
  bool fired = false;    ///< its condition held at the last check
  bool was_due = false;  ///< the schedule was met in this execution, conditions not asked
};

/// A step of the program, as the run numbers it.
struct NumberedStep {
  int64_t step = 0;
  bool known = false;           ///< offered before, in this run or the one that it resumes
  bool begins_segment = false;  ///< the program's counter went back, or stood still
  bool turns_back = false;      ///< its time is earlier than that of the step before
};

class Agenda {
 public:
  explicit Agenda(const std::deque<model::AnalysisSpec>& analyses);

  /// Whether certainly nothing is due at a step of the program. Compares without a floating-point
  /// exception, for a time that is not a number, too: the program may trap these.
  [[nodiscard]] bool idle(int64_t step, double time) const {
    const int64_t numbered = step + offset_;
    return started_ && numbered > last_step_ && numbered < next_.step &&
           std::isgreaterequal(time, last_time_) && std::isless(time, next_.time);
  }
  /// The number of a step of the program. A step is known if the run stands at it or at its time.
  /// In a run that resumes it is known up to the time of the checkpoint, and one with a later time
  /// continues the run, whatever its number.
  [[nodiscard]] NumberedStep number(int64_t step, double time) const;
  /// How the run numbers steps from here on, where a step begins a segment or turns back in time.
  [[nodiscard]] std::string explain(const NumberedStep& numbered, int64_t step, double time) const;
  /// Analyses whose schedule is due at a numbered step, conditions not asked.
  [[nodiscard]] std::vector<size_t> scheduled(int64_t step, double time) const;
  /// Whether one is.
  [[nodiscard]] bool is_scheduled(size_t analysis, int64_t step, double time) const;
  /// How many steps after the one offered last, at `time`, an analysis is due again, or may be. If
  /// it is due in time, steps are assumed to be as long as the last one.
  [[nodiscard]] int64_t steps_until_due(size_t analysis, double time) const;
  /// Takes note of a step of the program that is not known.
  void offer(int64_t step, double time);
  /// The same for a step at which idle() was true.
  void offer_idle(int64_t step, double time) {
    last_step_ = step + offset_;
    last_time_ = time;
  }

  [[nodiscard]] ScheduleState& schedule_state(size_t analysis) { return states_[analysis]; }
  [[nodiscard]] const ScheduleState& schedule_state(size_t analysis) const {
    return states_[analysis];
  }
  /// Why an analysis was at no step of this execution: its schedule met none of the steps that the
  /// program offered, which are `count`. "" if it met one, or if there were none.
  [[nodiscard]] std::string never_due(size_t analysis, int64_t count) const;
  /// Whether the program's time has never been another than at its first step.
  [[nodiscard]] bool time_stands() const { return started_ && last_time_ == first_time_; }
  [[nodiscard]] int64_t last_step() const { return last_step_; }
  [[nodiscard]] double last_time() const { return last_time_; }
  /// What is added to the program's step.
  [[nodiscard]] int64_t offset() const { return offset_; }
  /// Takes in analyses that were appended to those it was made with. Their schedules count from the
  /// step offered last, whose time is `time`.
  void extend(double time);
  /// Continues after a step of an earlier run, whose program's steps had that offset.
  void resume(int64_t step, double time, int64_t offset = 0);

 private:
  /// Saves the state of the schedules, and finds the next step at which one can be due.
  void dry_run(double time);
  [[nodiscard]] int64_t aligned(int64_t offset) const;

  const std::deque<model::AnalysisSpec>& analyses_;
  std::vector<ScheduleState> states_;
  model::Horizon next_;
  int64_t offset_ = 0;
  int64_t last_step_ = 0;
  double last_time_ = 0;
  int64_t first_step_ = 0;  ///< that was offered in this execution, as the program counts
  double first_time_ = 0;
  double looked_ = 0;        ///< time of the last step that was not idle
  int64_t looked_step_ = 0;  ///< and its number
  double per_step_ = 0;      ///< time that a step takes, as it was last
  bool started_ = false;
  bool resumed_ = false;  ///< and no step after the checkpoint has been offered
  bool offered_ = false;  ///< a step of this execution
};

}  // namespace pillion::run
