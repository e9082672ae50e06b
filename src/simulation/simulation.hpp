// SPDX-License-Identifier: BSD-3-Clause
// A simulation rank's part of a run: what happens at a step. The policy decides; the publisher, the
// agreement, the migration and the subscribers carry out what it decides about sidecars, and this
// class what it decides about stages in the simulation.
#pragma once

#include <array>

#include "run/saved_state.hpp"
#include "simulation/agreement.hpp"
#include "simulation/meetings.hpp"
#include "simulation/migration.hpp"
#include "simulation/publisher.hpp"
#include "simulation/scalars.hpp"
#include "simulation/shared_data.hpp"
#include "simulation/simulation_stages.hpp"

namespace pillion::simulation {

/// How the run is doing, for the program.
struct Progress {
  int64_t step = 0;
  double time = 0;
  double steps_per_second = 0;
  int64_t publications = 0;
  int64_t skipped = 0;
  int64_t behind = 0;
  double stall_seconds = 0;
  int64_t disabled = 0;
};

/// The chains of a simulation rank, and what crosses the cut.
struct Parts {
  run::Chains front;             ///< stages in the simulation
  run::Chains migrating;         ///< stages behind the cut of analyses with `at: auto`
  run::ProducedFields produced;  ///< by stages in the simulation
  run::CutFields cut_fields;
};

class Simulation {
 public:
  Simulation(run::Run& run, Parts parts, Link link, run::Supervisor supervisor);

  [[nodiscard]] SharedData& data() { return data_; }
  /// Whether the program has to share a field: an analysis or a condition needs it, or a field that
  /// has it as a component.
  [[nodiscard]] bool uses(const std::string& field) const;
  /// Units that are known at run time only; false if there is no such thing.
  bool set_units(const std::string& name, const std::string& units);
  /// A scalar as of now. What does not fit is a fault of sharing until the first step, and a
  /// warning later.
  void set_scalar(const std::string& name, double value) {
    scalars_.set(name, value, ready_ ? nullptr : &data_.sharing());
  }
  /// Resumes where a checkpoint ended.
  void resume(const run::SavedState& state);

  /// Checks what is shared, once. Throws Late if another rank does not come. [collective]
  void ready();
  [[nodiscard]] bool is_due(int64_t step, double time) const;
  /// A step at which nothing is due runs in the program's own environment: it compares numbers, so
  /// that none raises a floating-point exception, and nothing else. The first step that counts is
  /// none of these, since the time of the run begins with it.
  void step(int64_t step, double time) {
    if (steps_ > 0 && !agreement_.is_due(steps_) && agenda_.idle(step, time)) {
      agenda_.offer_idle(step, time);
      run_.mark.set(agenda_.last_step(), time);
      ++steps_;
    } else {
      busy_step(step, time);
    }
    if (publisher_) publisher_->progress();
  }
  /// Saves the state of all stages, or throws the same error on every rank. [collective]
  void checkpoint(const char* path);
  /// Ends the analyses here and in the sidecars. Throws Late if another rank does not come within
  /// `seconds`; the session is open as before then. [collective]
  void close(double seconds);
  /// Ends what this rank alone can end, after the ranks have parted: sidecars finish.
  void end_alone() noexcept;
  [[nodiscard]] bool have_parted() const { return meetings_.have_parted(); }

  [[nodiscard]] Progress progress() const;
  [[nodiscard]] run::Outcome outcome() const;
  /// Of all executions of the run.
  [[nodiscard]] run::StepCounts step_counts() const;
  /// What this rank knows for the report.
  [[nodiscard]] base::Bytes summary() const;
  /// Tells readers of the progress file how the run is doing.
  void tell();
  /// Why the run could not start; "" if it could.
  [[nodiscard]] std::string refusal() const { return refused_ ? refused_->what() : ""; }
  /// After close(): what all ranks found of the run's own sidecars.
  [[nodiscard]] const policy::SidecarsAnswered& answer() const { return answer_; }
  /// Bills what this rank has waited for its sidecars to come to their own end.
  void bill_end(const run::Stopwatch& watch);
  /// When the waits of the last call end, in monotonic seconds.
  [[nodiscard]] double call_deadline() const { return policy_.call_deadline(); }

 private:
  void busy_step(int64_t step, double time);
  void offer(int64_t step, double time);
  /// What a step works with. The memory is kept from step to step: a rank that can get none decides
  /// as the others do, which would wait for it otherwise.
  struct StepLists {
    std::vector<size_t> scheduled, over_share, due, checked, unchecked, for_sidecars, measured,
        dropped;
    StageOutputs outputs;
    void clear();
    void reserve(size_t analyses);
  };
  /// Keeps failures of `body`, a part of a step, from the program: the policy has `analyses`
  /// disabled on every rank.
  static constexpr std::array<size_t, 0> nothing{};
  template <class Analyses, class F>
  void contain(const Analyses& analyses, F&& body);
  /// The same for what every rank decides in the same way: all analyses are disabled.
  template <class F>
  void contain_decision(F&& body);
  void note_contained(const std::exception& failure);
  /// Of the analyses that are scheduled, finds those whose conditions hold. Starts the next check
  /// of conditions on values. [collective]
  void check(int64_t step, double time);
  /// Analyses of attached jobs whose share is used up; `were_due` if their conditions hold.
  void leave_out(const std::vector<size_t>& analyses, bool were_due = false);
  /// What attached jobs have cost this rank.
  [[nodiscard]] policy::AttachedCost attached_cost() const;
  /// The part of it that copies and waiting have cost so far.
  [[nodiscard]] double published_for_attached() const;
  /// Runs the stages that are due here, and publishes what the others need.
  void work(int64_t step, double time);
  void publish(int64_t step, double time);
  /// Reads the last agreement and acts on it. [collective]
  void hear();
  /// Contributes to the next one. [collective, does not wait]
  void agree();
  /// Carries out actions in order. [collective]
  void carry_out(const std::vector<policy::CollectiveAction>& actions);
  void disable(const policy::Disable& action);
  void note_evicted(size_t analysis, int slot);
  /// A stage failed here, on every rank: what its analysis has computed is written.
  void fail(size_t analysis, const std::optional<run::Failure>& failure);
  void admit(int slot);
  void release(const policy::Release& action);
  /// Attached jobs that have died since ranks agreed last: what they had not done is lost.
  void release_dead();
  /// What an attached job that is admitted brings.
  struct Admitted {
    std::string job;
    size_t first = 0;  ///< the number of the first of its analyses
    std::deque<model::AnalysisSpec> analyses;
    std::vector<run::DepartedAnalysis> departed;  ///< that had these numbers before
  };
  /// Takes all memory for it, and changes nothing that counts before all ranks have.
  [[nodiscard]] Admitted prepare_analyses_of(int slot);
  void take_analyses(Admitted& admitted);
  void forget_analyses_from(size_t first);
  void warn_of_schedules();
  void settle_all();
  void send_end();
  /// After sidecars have answered or the deadline has passed. [collective]
  void end_with_sidecars();
  void agree_on_spilled();
  [[nodiscard]] run::CheckpointScope checkpoint_scope() const;
  /// All waits until the next call end by one deadline.
  void begin_call();

  run::Run& run_;
  Link link_;
  run::CutFields cut_fields_;
  policy::Policy policy_;
  SharedData data_;
  run::Agenda agenda_;
  Conditions conditions_;
  Agreement agreement_;
  Meetings meetings_;
  SimulationStages stages_;
  Subscribers subscribers_;
  std::unique_ptr<Publisher> publisher_;  ///< null without sidecars, and so is
  std::unique_ptr<Migration> migration_;  ///< where nothing may move
  std::optional<Error> refused_;          ///< why the run cannot start
  bool ready_ = false;
  bool contained_ = false;  ///< a step failed on this rank
  bool has_sent_end_ = false;
  bool is_provisional_ = false;  ///< sidecars continue after the end
  bool answered_ = false;        ///< sidecars did, when this rank last waited for all of them
  policy::SidecarsAnswered answer_;
  int64_t steps_ = 0;
  int64_t first_step_ = 0;
  int64_t known_steps_ = 0;  ///< that were offered and known
  int64_t segments_ = 0;     ///< that were begun after the first
  int64_t published_ = 0;
  int64_t skipped_ = 0;
  double first_offer_ = 0;  ///< monotonic seconds
  double attached_seconds_ = 0;
  bool said_over_share_ = false;
  Scalars scalars_;
  std::vector<double> numbers_;  ///< of the last step, for the next agreement
  StepLists lists_;
};

// The other ranks wait for this one at the next agreement. So it keeps taking part.
template <class Analyses, class F>
void Simulation::contain(const Analyses& analyses, F&& body) {
  try {
    body();
  } catch (const std::exception& e) {
    try {
      (void)policy_.on(
          policy::LocalEvent(policy::AnalysesFailed{{analyses.begin(), analyses.end()}}));
    } catch (const std::bad_alloc&) {
      (void)policy_.on(policy::LocalEvent(policy::AllFailed{}));
    }
    note_contained(e);
  }
}

template <class F>
void Simulation::contain_decision(F&& body) {
  try {
    body();
  } catch (const std::exception& e) {
    (void)policy_.on(policy::LocalEvent(policy::AllFailed{}));
    note_contained(e);
  }
}

}  // namespace pillion::simulation
