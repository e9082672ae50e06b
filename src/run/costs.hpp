// SPDX-License-Identifier: BSD-3-Clause
// What an analysis costs one rank, and what became of its publications. run/summary.hpp adds up the
// numbers of ranks.
//
// A number in Counts or StepCounts is of all executions of a run: a checkpoint holds it, and the
// heads of tables, the report and the progress of a run that is resumed show it with what came
// before. Every other number is of this execution alone, for it depends on the ranks and the
// machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>

namespace pillion::run {

/// What became of the publications of an analysis.
struct Counts {
  int64_t publications = 0;  ///< worked on, or handed on by a simulation rank
  int64_t here = 0;          ///< of an analysis that may move: worked on in the simulation
  int64_t skipped = 0;
  int64_t dropped = 0;    ///< published by some ranks, but not by all
  int64_t withdrawn = 0;  ///< of an analysis with sidecars: dropped before they were published
  int64_t coarsened = 0;  ///< published as a subsample
  int64_t spilled = 0;    ///< that went to disk, at some rank
  int64_t thinned = 0;    ///< left out because the attached jobs' share was used up
  int64_t lost = 0;       ///< published, and worked on by no sidecar, or by one that died

  /// Publications that its products lack although they were due and not skipped.
  [[nodiscard]] int64_t missing() const { return lost + dropped + withdrawn; }
  bool operator==(const Counts&) const = default;

  static constexpr auto members() {
    using C = Counts;
    return std::tuple{&C::publications, &C::here,    &C::skipped, &C::dropped, &C::withdrawn,
                      &C::coarsened,    &C::spilled, &C::thinned, &C::lost};
  }
};

/// The same of the run's steps.
struct StepCounts {
  int64_t first_step = 0;
  int64_t steps = 0;
  int64_t publications = 0;
  int64_t skipped = 0;

  bool operator==(const StepCounts&) const = default;

  static constexpr auto members() {
    using C = StepCounts;
    return std::tuple{&C::first_step, &C::steps, &C::publications, &C::skipped};
  }
};

struct CostCounters : Counts {
  double simulation_seconds = 0;  ///< of a simulation rank, for this analysis: stages and copies
  double waiting = 0;             ///< of a simulation rank, in stages, for other simulation ranks
  double copy_seconds = 0;        ///< the part of these that only publishing costs
  double sidecar_seconds = 0;
  double sidecar_waiting = 0;  ///< of a sidecar, in stages, for other sidecars
  double stall_seconds = 0;    ///< of a simulation rank, waiting for sidecars
  double closing_seconds = 0;  ///< the same at the end, when the session closes
  double lag_seconds = 0;      ///< sum over publications: from publishing to having finished
  double longest_lag = 0;
  double last_lag = 0;
  int64_t last_step = 0;  ///< that was worked on, or handed on; if any was
  int64_t bytes = 0;      ///< sent to sidecars

  static constexpr auto members() {
    using C = CostCounters;
    return std::tuple_cat(
        std::tuple{&C::simulation_seconds, &C::waiting, &C::copy_seconds, &C::sidecar_seconds,
                   &C::sidecar_waiting, &C::stall_seconds, &C::closing_seconds, &C::lag_seconds,
                   &C::longest_lag, &C::last_lag, &C::last_step, &C::bytes},
        Counts::members());
  }

  /// Adds what an analysis of the same name had cost in an earlier job.
  void add_earlier(const CostCounters& earlier) {
    const CostCounters now = *this;
    std::apply([&](auto... member) { ((this->*member += earlier.*member), ...); }, members());
    longest_lag = std::max(now.longest_lag, earlier.longest_lag);
    last_lag = now.last_lag;
    last_step = now.last_step;
  }
};

/// Whether every member of a struct of numbers is in its list, so that none is forgotten when the
/// struct is saved, sent or added up.
template <class Numbers>
constexpr bool lists_all_members = std::tuple_size_v<decltype(Numbers::members())> *
                                       sizeof(int64_t) ==
                                   sizeof(Numbers);
static_assert(lists_all_members<Counts>);
static_assert(lists_all_members<StepCounts>);
static_assert(lists_all_members<CostCounters>);

/// Adds numbers of another execution, or of another part of the run.
inline void add(Counts& to, const Counts& more) {
  std::apply([&](auto... member) { ((to.*member += more.*member), ...); }, Counts::members());
}

}  // namespace pillion::run
