// SPDX-License-Identifier: BSD-3-Clause
// When an analysis is due. A schedule is plain data, and whether a step is due is a pure function
// of it, the step, and one saved number, so that every rank and every restart makes the same
// decision.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "base/value.hpp"

namespace pillion::model {

/// "every: N steps" (due when N divides the step) or "every: T time" (due when the time has reached
/// or passed another multiple of T).
struct Schedule {
  int64_t steps = 1;
  double interval = 0;  ///< 0: the schedule counts steps

  [[nodiscard]] bool in_time() const { return interval > 0; }
  [[nodiscard]] std::string text() const;
};

/// Which multiple of the interval was reached last; unset before the first step.
using Reached = std::optional<int64_t>;

Schedule read_schedule(const base::Value& value);

/// The multiple of the interval that `time` has reached, forgiving round-off.
int64_t multiple_reached(const Schedule& schedule, double time);

/// Whether a step is due. The first step of a run in time is due only if it lies on a multiple.
bool is_due(const Schedule& schedule, const Reached& reached, int64_t step, double time);

/// The state after a step was offered.
Reached advance(const Schedule& schedule, const Reached& reached, double time);

/// A step and a time before which nothing can be due, given the step offered last.
struct Horizon {
  int64_t step = std::numeric_limits<int64_t>::max();
  double time = std::numeric_limits<double>::infinity();
};
Horizon horizon(const Schedule& schedule, const Reached& reached, int64_t step);

}  // namespace pillion::model
