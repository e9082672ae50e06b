// SPDX-License-Identifier: BSD-3-Clause
// What a sidecar rank does, decided in one place: joining a run, working on messages, saving state
// for successors, leaving. No MPI, no clock, no memory but its own. Every sidecar of a job has a
// replica; all of them get the same agreed events. A local event changes only the status that this
// rank contributes to the agreement on the next message.
#pragma once

#include <map>
#include <string>

#include "policy/events.hpp"
#include "policy/losses.hpp"

namespace pillion::policy {

enum class SidecarRole {
  SameJob,      ///< ranks of the simulation's own job
  SeparateJob,  ///< a job of their own that runs the analyses of the run
  AttachedJob   ///< a job that adds analyses to the run
};

/// What a rank contributes to the agreement on a message, or what all have contributed.
struct MessageStatus {
  bool no_message = false;       ///< some source of a rank sends no more, or the rank shall leave
  bool leave_requested = false;  ///< the job was asked to leave
  bool evicted = false;          ///< the simulation waits for the attached job no more
  bool gone = false;             ///< the job was asked to leave, and the simulation has died
  bool dropped = false;          ///< some source could not send the values
  std::set<size_t> unusable{};   ///< analyses that a source could not serve
};

// Agreed events.

/// Sidecars of another job have the run in view and want a slot.
struct JoinRequested {};
/// How a claim ended.
struct ClaimAgreed {
  bool claimed = false;    ///< every rank has the channels that it asked for
  bool run_ended = false;  ///< sidecars before these have finished all work
};
/// The counts of sidecars that worked for this run before, and what they saved last.
struct PredecessorRead {
  int64_t done = 0;   ///< messages that they finished
  int64_t begun = 0;  ///< messages that they began
  std::vector<int64_t>
      ended{};  ///< by analysis: publications finished or lost after `done` messages
  std::vector<std::optional<SavedCounts>> saved{};  ///< by analysis
  std::set<size_t> disabled{};                      ///< analyses that failed there
};
/// A message that sidecars began before they died.
struct InterruptedRead {
  bool is_publication = false;
  std::vector<size_t> analyses{};  ///< due in it
};
/// The simulation has admitted an attached job, or refused it.
struct AdmissionAgreed {
  bool admitted = false;
};
/// The slot is held and the job can work.
struct Joined {};

struct PublicationAgreed {
  MessageStatus all;
  std::vector<size_t> analyses{};  ///< due in it, and of this job
};
struct CheckpointAgreed {};
/// Analyses move to the sidecars, or back to the simulation.
struct MigrationAgreed {
  std::vector<size_t> analyses{};
  bool to_sidecars = false;
};
struct EndAgreed {};
struct NoMessageAgreed {
  bool leave_requested = false;
  bool evicted = false;
  bool gone = false;
};
/// The analysis runs in these sidecars from now on, or its state is saved for the simulation.
struct MigrationEnded {
  size_t analysis = 0;
  bool is_here = false;
};
/// Whether it is time to save the state for successors.
struct SavingAgreed {
  bool wanted = false;
};

using AgreedSidecarEvent =
    std::variant<JoinRequested, ClaimAgreed, PredecessorRead, InterruptedRead, AdmissionAgreed,
                 Joined, PublicationAgreed, CheckpointAgreed, MigrationAgreed, EndAgreed,
                 NoMessageAgreed, AnalysisFailed, MigrationEnded, SavingAgreed>;

// Actions. Every sidecar of the job carries out the same ones in the same order.

/// Try to take channels at a slot, for at most `patience` seconds: those of the ranks that have the
/// first channel of the run, or those of all others. Ends in ClaimAgreed.
struct Claim {
  int slot = 0;
  bool first_ranks = true;
  double patience = 0;
};
enum class Refusal { HasSidecars, RunEnded, SlotsTaken, NotAdmitted };
/// The job cannot join: leave the slot, if any, and report why.
struct Refuse {
  Refusal why = Refusal::HasSidecars;
};
/// Ends in PredecessorRead.
struct ReadPredecessor {};
/// Stages continue from the state that was saved last.
struct RestoreStages {};
/// Ends in InterruptedRead.
struct ReadInterrupted {
  int64_t index = 0;
};
/// Work begins with message `index`.
struct StartAt {
  int64_t index = 0;
  int64_t interrupted = 0;  ///< messages that no sidecar will finish, new since the predecessor
};
/// Show the simulation what analyses this job adds. Ends in AdmissionAgreed.
struct RequestAdmission {};
/// Work begins with the next message of the simulation.
struct StartAtNext {};

/// Take in the values of the publication.
struct Receive {};
/// Ends in AnalysisFailed if a stage fails.
struct Analyse {
  size_t analysis = 0;
};
struct CountDropped {
  std::vector<size_t> analyses{};
  bool whole = false;  ///< the publication has no values for any analysis
};
struct SaveCheckpoint {};
/// Ends in MigrationEnded, or in AnalysisFailed if the state is not whole.
struct RestoreMigrated {
  size_t analysis = 0;
};
/// Ends in MigrationEnded if the state could be saved.
struct SaveForMigration {
  size_t analysis = 0;
};
/// Finish one analysis that has failed.
struct FinishFailed {
  size_t analysis = 0;
};
struct FinishAnalyses {
  bool has_header = true;  ///< the simulation has sent the counts of publications that it skipped
};
/// Show in node memory how many publications of each analysis have ended.
struct ShowEnded {};
/// Ends in SavingAgreed.
struct AgreeOnSaving {};
struct SaveForSuccessors {};
struct RemoveSavedState {};
/// Publications that are complete and will not be worked on are lost.
struct CountUnread {};
struct WriteReport {};
/// No other sidecars need to come.
struct ShowRunEnded {};
/// The message is finished and its memory can be freed.
struct Acknowledge {};
struct LeaveSlot {};

using SidecarAction =
    std::variant<Claim, Refuse, ReadPredecessor, RestoreStages, ReadInterrupted, StartAt,
                 RequestAdmission, StartAtNext, Receive, Analyse, CountDropped, SaveCheckpoint,
                 RestoreMigrated, SaveForMigration, FinishFailed, FinishAnalyses, ShowEnded,
                 AgreeOnSaving, SaveForSuccessors, RemoveSavedState, CountUnread, WriteReport,
                 ShowRunEnded, Acknowledge, LeaveSlot>;

// Local events.

/// One source's message has come.
struct MessageArrived {
  bool dropped = false;
  std::set<size_t> unusable{};
};
/// No message will come from some source of this rank.
struct SourceEnded {};
struct LeaveRequested {};
/// What this rank has read may have been overwritten meanwhile.
struct Evicted {};
/// The job was asked to leave, and the process of some source of this rank has died.
struct SimulationDied {};

using LocalSidecarEvent =
    std::variant<MessageArrived, SourceEnded, LeaveRequested, Evicted, SimulationDied>;

/// How the work of sidecars ended.
enum class SidecarEnding {
  Closed,          ///< the simulation has closed its session
  Left,            ///< the job was asked to leave
  SimulationGone,  ///< the simulation ended without closing its session
  Evicted,         ///< the attached job held memory that the run needed
  NotNeeded        ///< no analysis of the run has a stage for sidecars
};

/// The least seconds between two savings for successors, when the last one took `took` seconds: a
/// twentieth of the time goes there at most, and all nodes make 64 files of a stage in a second at
/// most, since the solver uses the same file system.
double saving_period(int nodes, double took);

class SidecarPolicy {
 public:
  using Actions = std::vector<SidecarAction>;

  /// `here`: by analysis, whether it runs in these sidecars now.
  SidecarPolicy(SidecarRole role, const std::vector<bool>& here);

  Actions on(const AgreedSidecarEvent& event);
  void on(const LocalSidecarEvent& event);
  /// Whether a rank finishes publication number `sequence` by itself, since none of the analyses
  /// that are due in it is enabled. All ranks get the same publications, so their answer is the
  /// same. Now and then they agree on such a publication too: one of them may want to leave.
  [[nodiscard]] bool passes(int64_t sequence, const std::vector<size_t>& due) const;
  /// What the rank does with it. None of these actions is collective.
  Actions pass(const std::vector<size_t>& due);
  /// What this rank contributes to the agreement on a message; the next one starts afresh.
  MessageStatus take_status();

  [[nodiscard]] SidecarRole role() const { return role_; }
  [[nodiscard]] bool is_enabled(size_t analysis) const { return analyses_[analysis].enabled; }
  /// Publications of the analysis that ended, in these sidecars and those before them, as far as
  /// this rank knows: it may be ahead of others, or see no publications that they pass.
  [[nodiscard]] const SavedCounts& counts(size_t analysis) const {
    return analyses_[analysis].counts;
  }
  [[nodiscard]] size_t analyses() const { return analyses_.size(); }
  /// Set when the work is over.
  [[nodiscard]] std::optional<SidecarEnding> ending() const { return ending_; }

 private:
  struct Analysis {
    bool here = false;
    bool enabled = true;
    SavedCounts counts{};
  };

  Actions act(const JoinRequested& event);
  Actions act(const ClaimAgreed& event);
  Actions act(const PredecessorRead& event);
  Actions act(const InterruptedRead& event);
  Actions act(const AdmissionAgreed& event);
  Actions act(const Joined& event);
  Actions act(const PublicationAgreed& event);
  Actions act(const CheckpointAgreed& event);
  Actions act(const MigrationAgreed& event);
  Actions act(const EndAgreed& event);
  Actions act(const NoMessageAgreed& event);
  Actions act(const AnalysisFailed& event);
  Actions act(const MigrationEnded& event);
  Actions act(const SavingAgreed& event);
  [[nodiscard]] Actions read_interrupted() const;

  SidecarRole role_;
  std::vector<Analysis> analyses_;
  std::optional<SidecarEnding> ending_;
  bool is_gone_ = false;  ///< the simulation, after a request to leave
  Claim claim_;           ///< the last one
  int64_t done_ = 0;      ///< messages finished before these sidecars came
  int64_t next_ = 0;      ///< the message to look at or to begin with
  int64_t begun_ = 0;     ///< messages begun before these sidecars came
  MessageStatus here_;    ///< what only this rank knows
};

}  // namespace pillion::policy
