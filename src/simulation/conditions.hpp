// SPDX-License-Identifier: BSD-3-Clause
// Conditions on the state of the simulation. The statistics that the conditions of a step need are
// computed once, however many conditions use them, and reduced over the ranks together, without
// waiting. The result is read when the next check comes: so a condition holds as of the check
// before, the same on every rank, and no rank waits for another in between. Step, time and scalars
// in it are those of the first rank. A condition on step and time alone needs no reduction and is
// evaluated immediately.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "comm/message.hpp"
#include "model/expression.hpp"
#include "policy/events.hpp"
#include "run/agenda.hpp"
#include "run/run.hpp"
#include "simulation/sharing.hpp"
#include "simulation/step_numbers.hpp"
#include "stagehost/weighed_field.hpp"

namespace pillion::simulation {

/// The conditions of all analyses of a run.
class Conditions {
 public:
  /// Analyses from number `own` on are those of attached jobs.
  Conditions(run::Run& run, size_t own)
      : run_(run),
        own_(own),
        sums_(run.for_conditions, comm::Operation::Sum),
        maxima_(run.for_conditions, comm::Operation::Max) {}

  /// The condition of an analysis, if it has one. It may have the number of one that has ended, or
  /// the next one. Takes all memory that checks need, but for
  /// the statistics themselves: a rank that lacks it later still takes part in the reductions.
  void set(size_t number, const model::AnalysisSpec& analysis);
  void add(const model::AnalysisSpec& analysis) { set(conditions_.size(), analysis); }
  /// Forgets those from number `analyses` on.
  void resize(size_t analyses);
  /// Whether an analysis has a condition on values of fields or on scalars.
  [[nodiscard]] bool is_checked(size_t analysis) const {
    const auto& condition = conditions_[analysis];
    return condition && !(condition->quantities().empty() && condition->scalars().empty());
  }
  /// The scalars that conditions of the run itself use, by their places in the catalogue.
  [[nodiscard]] std::set<size_t> scalars() const;
  /// Whether an analysis that is scheduled at a step may be due there: false if its condition is on
  /// step and time alone and does not hold.
  [[nodiscard]] bool may_hold(size_t analysis, int64_t step, double time) const;
  /// The fields whose values the condition of an analysis looks at.
  [[nodiscard]] std::set<std::string> fields(size_t analysis) const;

  /// Starts a check of the conditions of `analyses`, which are on values. The one before must be
  /// settled. `cost` is what attached jobs have cost this rank so far; the part of this check that
  /// only they need is added. [collective, does not wait]
  void start(const std::vector<size_t>& analyses, const Sharing& sharing, int64_t step, double time,
             policy::AttachedCost& cost);
  /// Ends the check that is under way, and notes in `agenda` which of its conditions held. Returns
  /// what attached jobs had cost by then, as all ranks know; nothing if no check was under way.
  /// Waits for ranks that have not yet come to that check. [collective]
  std::optional<policy::AttachedCost> settle(run::Agenda& agenda);
  /// Whether only attached jobs wanted the last check.
  [[nodiscard]] bool was_for_attached() const {
    return !check_.analyses.empty() && check_.analyses.front() >= own_;
  }
  /// What ranks found to differ when the last check was settled, if anything.
  [[nodiscard]] const std::optional<StepNumbers::Difference>& difference() const {
    return difference_;
  }
  /// What ranks may wait for each other in.
  [[nodiscard]] std::array<comm::LaggedReduction*, 2> reductions() { return {&sums_, &maxima_}; }
  /// How often the values of a field were gone through so far.
  [[nodiscard]] int64_t passes() const { return passes_; }

 private:
  /// The quantities that conditions of the analyses need, each once. The ones that only attached
  /// jobs need come last.
  struct Check {
    std::vector<size_t> analyses;    ///< in order
    std::vector<size_t> quantities;  ///< numbers of them
    size_t own = 0;                  ///< how many of these conditions of the run itself need
    int64_t step = 0;
    double time = 0;
    int64_t steps = 0;
  };
  void begin_check(const std::vector<size_t>& analyses);
  /// Keeps memory for a check of all conditions, which any check contributes to the reductions.
  void reserve();
  /// Statistics of quantities from `first` to `last` of the check, on this rank.
  void compute(size_t first, size_t last, const Sharing& sharing);
  void compute_fields(size_t first, size_t last, const Sharing& sharing);
  void bill(double seconds, std::span<const size_t> analyses);

  run::Run& run_;
  size_t own_;
  std::vector<std::optional<model::Expression>> conditions_;
  std::vector<model::Quantity> quantities_;                 ///< of all conditions, each once
  std::vector<std::vector<size_t>> needs_;                  ///< by analysis: numbers of quantities
  std::map<std::string, stagehost::WeighedField> readers_;  ///< by field
  comm::LaggedReduction sums_, maxima_;                     ///< of all quantities, checked or not
  Check check_;                                             ///< the last one
  std::vector<size_t> places_;                              ///< in it, by quantity
  std::vector<model::Moments> moments_;                     ///< by place
  std::vector<model::Moments> needed_;                      ///< by one condition
  StepNumbers of_first_;                                    ///< of the check that was settled last
  std::optional<StepNumbers::Difference> difference_;
  int64_t passes_ = 0;
};

}  // namespace pillion::simulation
