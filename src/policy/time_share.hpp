// SPDX-License-Identifier: BSD-3-Clause
// How much of the simulation's time attached jobs may take. Their credit grows with the time that
// the run has taken, by the share that its owner allows, and what they cost is deducted from it:
// the evaluation of their conditions, and the copies of their publications. Without credit, their
// analyses are left out. Every rank keeps the same account, from what all know: the cost of the
// rank that they cost most, and the time of the rank that has run for the shortest.
#pragma once

#include <cstdint>

namespace pillion::policy {

class TimeShare {
 public:
  /// Credit for longer than this, in seconds of the run, is not kept: after hours without attached
  /// jobs, one could otherwise stop the simulation for minutes.
  static constexpr double window = 60;

  /// `share` is of the run's time; 1 or more sets none.
  explicit TimeShare(double share) : share_(share) {}

  /// What all ranks agreed on when the program had made `steps` steps: seconds that attached jobs
  /// have cost, and seconds that the run has taken, both since it began. What is older than the
  /// last is ignored.
  void settle(double spent, double running, int64_t steps);
  /// Whether attached jobs may cost something now. Between agreements, steps are assumed to take as
  /// long as before.
  [[nodiscard]] bool allows(int64_t steps) const;

 private:
  double share_;
  double credit_ = 0;   ///< seconds
  double spent_ = 0;    ///< as it was agreed last
  double running_ = 0;  ///< and so are these
  int64_t steps_ = 0;
  double seconds_per_step_ = 0;
};

}  // namespace pillion::policy
