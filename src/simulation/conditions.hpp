// SPDX-License-Identifier: BSD-3-Clause
// Conditions on the state of the simulation. The statistics of a check are reduced over the ranks
// without waiting, and looked at when the next check comes; so a condition speaks of the check
// before, the same on every rank, and no rank waits for another in between. A condition on step and
// time alone needs no reduction and is looked at where it stands.
#pragma once

#include <vector>

#include "comm/message.hpp"
#include "model/expression.hpp"
#include "run/run.hpp"
#include "simulation/sharing.hpp"

namespace pillion::simulation {

/// Statistics of one quantity over blocks. Values that are not finite count, and spread to the
/// sums.
/// `points`: how many values of a component each item has.
model::Moments moments_of(const model::Quantity& quantity, const std::vector<model::Block>& blocks,
                          int32_t points);

class ConditionCheck {
 public:
  ConditionCheck(const model::Expression& condition, const model::Catalogue& catalogue,
                 const comm::Communicator& simulation)
      : condition_(condition),
        catalogue_(catalogue),
        sums_(simulation, comm::Operation::Sum),
        maxima_(simulation, comm::Operation::Max) {}

  /// Whether it speaks of step and time alone.
  [[nodiscard]] bool is_immediate() const { return condition_.quantities().empty(); }
  /// Whether a condition on step and time holds there; true for others, which may.
  [[nodiscard]] bool may_hold(int64_t step, double time) const {
    return !is_immediate() || condition_.holds({}, step, time);
  }
  /// The fields whose values are looked at.
  [[nodiscard]] std::set<std::string> fields() const;
  /// Starts the reduction of a check. The one before must be settled. [collective, does not wait]
  void start(const stagehost::Publication& publication);
  /// Whether the condition held at the check that was started last; `before` if there is none.
  /// Waits for ranks that have not yet come to that check. [collective]
  [[nodiscard]] bool settle(bool before);

 private:
  const model::Expression& condition_;
  const model::Catalogue& catalogue_;
  comm::LaggedReduction sums_, maxima_;
  int64_t step_ = 0;
  double time_ = 0;
};

/// The conditions of all analyses of a run.
class Conditions {
 public:
  explicit Conditions(run::Run& run) : run_(run) {}

  /// The condition of the next analysis, if it has one.
  void add(const model::AnalysisSpec& analysis);
  /// Whether an analysis that is scheduled at a step may be due there.
  [[nodiscard]] bool may_hold(size_t analysis, int64_t step, double time) const;
  /// Whether it is due; `fired` is whether its condition held when it was checked last, and is
  /// brought up to date. [collective, waits for the check before]
  bool check(size_t analysis, bool& fired, const Sharing& sharing, int64_t step, double time);
  /// Ends the check that is under way. [collective]
  void settle(size_t analysis, bool& fired);
  /// The fields whose values the condition of an analysis looks at.
  [[nodiscard]] std::set<std::string> fields(size_t analysis) const;

 private:
  run::Run& run_;
  std::vector<std::unique_ptr<ConditionCheck>> checks_;  ///< null without a condition
};

}  // namespace pillion::simulation
