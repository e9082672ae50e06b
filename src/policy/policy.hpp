// SPDX-License-Identifier: BSD-3-Clause
// What a simulation rank does, decided in one place: no MPI, no clock, no memory but its own. The
// driver feeds it events and carries out the actions in order. Every rank has a replica; those get
// the same agreed events, and different local ones, which change only the status that the rank
// contributes to the next agreement, and local actions.
#pragma once

#include <limits>

#include "policy/backlog.hpp"
#include "policy/migration.hpp"
#include "policy/slots.hpp"
#include "policy/time_share.hpp"

namespace pillion::policy {

struct Settings {
  model::WhenFull when_full = model::WhenFull::Skip;
  double deadline = 60;            ///< seconds that the simulation waits at most
  bool has_sidecars = false;       ///< or slots for attached jobs
  bool separate_job = false;       ///< sidecars are processes of jobs of their own
  bool restarts_sidecars = false;  ///< Pillion starts them again when they die
  double attached_share = 1;       ///< of the simulation's time, for attached jobs
};

/// What the engine knows of an analysis when it is added.
struct AnalysisTraits {
  bool in_sidecars = false;
  bool needs_whole = false;  ///< its stages in sidecars cannot use coarse publications
  bool may_migrate = false;  ///< `at: auto`: it begins in the simulation
};

class Policy {
 public:
  Policy(const Settings& settings, const std::vector<AnalysisTraits>& analyses);

  /// The first number for the analyses of an attached job that is admitted now.
  [[nodiscard]] size_t place_for(size_t count) const { return first_free(slots_, own_, count); }
  /// An analysis of an attached job, before SlotAdmitted counts it. It may have the number of one
  /// whose job has left, or the next one.
  void set(size_t number, const AnalysisTraits& analysis);
  /// Keeps memory for as many analyses.
  void reserve(size_t analyses) {
    analyses_.reserve(analyses);
    needs_whole_.reserve(analyses);
    backlog_.reserve(analyses);
  }
  std::vector<CollectiveAction> on(const AgreedEvent& event);
  std::vector<LocalAction> on(const LocalEvent& event);
  /// What this rank contributes to an agreement that starts now.
  RankStatus status(const MessageBudget& room);

  [[nodiscard]] bool is_enabled(size_t analysis) const { return !analyses_[analysis].ended; }
  /// Whether publications of the analysis go to sidecars now.
  [[nodiscard]] bool is_in_sidecars(size_t analysis) const;
  /// Whether an analysis may cost the simulation anything when it has made `steps` steps: one of an
  /// attached job may not if the share of these is used up.
  [[nodiscard]] bool may_cost(size_t analysis, int64_t steps) const {
    return analysis < own_ || time_share_.allows(steps);
  }
  /// The analysis that has waited for longest, whose due step is in PublicationReady.
  [[nodiscard]] std::optional<size_t> waiting() const { return backlog_.waiting(); }
  [[nodiscard]] const SlotState& slot(int number) const {
    return slots_[static_cast<size_t>(number)];
  }
  [[nodiscard]] size_t analyses() const { return analyses_.size(); }
  [[nodiscard]] size_t own_analyses() const { return own_; }
  /// Whether analyses of the configuration need sidecars.
  [[nodiscard]] bool has_own_in_sidecars() const;
  [[nodiscard]] bool is_closed() const { return phase_ == Phase::Closed; }
  /// When the last wait of the call under way ends, in monotonic seconds.
  [[nodiscard]] double call_deadline() const { return call_deadline_; }

 private:
  enum class Phase { Running, Closing, Closed };
  struct Analysis {
    AnalysisTraits traits;
    std::optional<MigrationState> migration;
    bool ended = false;
  };
  using Actions = std::vector<CollectiveAction>;

  Actions act(const AgreementReady& event);
  Actions act(const PublicationReady& event);
  Actions act(const MigrationDue& event);
  Actions act(const PublicationDone& event);
  Actions act(const CheckpointRequested& event);
  Actions act(const CloseRequested& event);
  Actions act(const SidecarsAnswered& event);

  [[nodiscard]] std::vector<LocalAction> wait_for_answer(const WaitBegins& event) const;
  [[nodiscard]] std::vector<LocalAction> find_room(const NoRoom& event);
  /// Ends an analysis for good.
  void end(size_t analysis);
  [[nodiscard]] std::vector<bool> wants() const;

  Settings settings_;
  std::vector<Analysis> analyses_;
  std::vector<bool> needs_whole_;  ///< by analysis
  size_t own_;                     ///< those of the configuration; the others are of attached jobs
  std::array<SlotState, attached_slots> slots_;
  Backlog backlog_;
  TimeShare time_share_;
  bool attached_full_ = false;  ///< on some rank, as agreed last
  bool failure_known_ = false;  ///< all ranks know that sidecars of this job have failed
  Phase phase_ = Phase::Running;
  // What only this rank knows.
  double call_deadline_ = std::numeric_limits<double>::infinity();  ///< of all waits in a call
  bool sidecars_failed_here_ = false;  ///< as it heard itself, or as all agreed
  std::set<int32_t> failed_here_;
  bool all_failed_here_ = false;
};

}  // namespace pillion::policy
