// SPDX-License-Identifier: BSD-3-Clause
// What the state machines of this folder hear and what they answer. Agreed events are the same on
// every simulation rank, in the same order; local events may occur on one rank alone. An action
// that is collective, or that a sidecar waits for, follows from an agreed event only: a local event
// answered by a collective action would be a deadlock, once a year.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <type_traits>
#include <variant>
#include <vector>

namespace pillion::policy {

/// Attached jobs that a run can have at a time, each with a slot of its own.
constexpr int attached_slots = 3;

/// What a rank contributes to an agreement, or what all of them together have contributed: the
/// maximum of each member, except that a slot is ready when it is on every rank, and where a member
/// says otherwise.
struct RankStatus {
  bool no_room_for_last = false;     ///< another publication like the last one does not fit
  bool no_room_for_waiting = false;  ///< nor does one for the analysis that waits for longest
  bool no_room_for_both = false;     ///< nor do these two together
  bool dropped = false;              ///< the last publication was dropped for lack of room
  bool blocked = false;              ///< not even a header fits, or waiting was in vain
  int32_t level = 0;  ///< coarsening at which the last one would fit; above the most if none
  double seconds_per_step = 0;
  bool attached_full = false;   ///< another publication for attached jobs would pass their limit
  double attached_seconds = 0;  ///< that attached jobs have cost the simulation
  double running = 0;           ///< seconds since the first step; the minimum over ranks
  int64_t steps = 0;            ///< that the program had made; the same on every rank
  std::array<bool, attached_slots> slot_ready{};
  std::array<bool, attached_slots> slot_lost{};
  std::array<bool, attached_slots> slot_evicted{};  ///< some rank has, and then it is lost too
  bool sidecars_failed = false;                     ///< those of this job have ended early
  int64_t messages = 0;          ///< sent so far; a rank that lacked memory may have missed one
  std::set<int32_t> disabled{};  ///< analyses that failed on a simulation rank or in sidecars
};

// Agreed events.

/// The agreement that was started last has ended.
struct AgreementReady {
  RankStatus all;
};
/// Analyses are due, and their stages in the simulation have run. Those whose stages withheld the
/// publication are left out.
struct PublicationReady {
  std::vector<size_t> analyses;
  /// Steps until Policy::waiting() is due, if there is one and it is not due now.
  int64_t steps_until_waiting = 0;
};
/// How admission to a slot ended: its analyses have the numbers from `first` on. 0: refused.
struct SlotAdmitted {
  int slot = 0;
  size_t first = 0;
  size_t analyses = 0;
};
/// What attached jobs have cost, as all ranks know it between two agreements.
struct AttachedCost {
  double seconds = 0;
  double running = 0;
  int64_t steps = 0;
};
/// The condition of an analysis does not hold, or its stages withheld the publication.
struct AnalysisPassed {
  size_t analysis = 0;
};
/// A stage of the analysis failed in the simulation.
struct AnalysisFailed {
  size_t analysis = 0;
};
/// Analyses are due, before and after their publication, and some of them should run elsewhere, as
/// all ranks judge from the same costs.
struct MigrationDue {
  std::vector<size_t> analyses;
  std::set<size_t> should_move{};
};
struct PublicationDone {
  std::vector<size_t> analyses;
  std::set<size_t> should_move{};
};
/// How an attempt to move ended.
struct Moved {
  size_t analysis = 0;
  bool to_sidecars = false;
};
struct Recalled {
  size_t analysis = 0;
};
struct MoveFailed {
  size_t analysis = 0;
  bool for_good = false;  ///< false: there was no room for a header, so try again later
};
struct CheckpointRequested {};
struct CloseRequested {};
/// What all ranks found after they had waited for their sidecars.
struct SidecarsAnswered {
  bool finished = false;  ///< everything that was sent to any of them
  bool failed = false;    ///< sidecars of this job have ended early
};

using AgreedEvent =
    std::variant<AgreementReady, PublicationReady, SlotAdmitted, AttachedCost, AnalysisPassed,
                 AnalysisFailed, MigrationDue, PublicationDone, Moved, Recalled, MoveFailed,
                 CheckpointRequested, CloseRequested, SidecarsAnswered>;

// Collective actions: every rank carries out the same ones in the same order.

enum class Cause {
  Failed,         ///< in sidecars, or on a simulation rank outside a stage
  SidecarsEnded,  ///< the sidecars of the job ended early
  Left,           ///< the attached job has left
  Evicted         ///< the attached job held memory that the run needed
};

struct Disable {
  size_t analysis = 0;
  Cause cause = Cause::Failed;
  int slot = -1;  ///< of the attached job
};
/// Sidecars of this job have ended early, as some rank has heard; all ranks learn why.
struct LearnFailure {};
struct Admit {
  int slot = 0;
};
/// The attached job's analyses had the numbers from `first` to the one before `last`, which others
/// may get from now on.
struct Release {
  int slot = 0;
  size_t first = 0, last = 0;
  bool evicted = false;  ///< by some rank
};
struct Skip {
  std::vector<size_t> analyses;
  bool over_share = false;  ///< they are of attached jobs, whose share is used up
};
struct Publish {
  std::vector<size_t> analyses;
  int32_t level = 0;  ///< of coarsening
};
struct MoveToSidecars {
  size_t analysis = 0;
};
/// Sidecars save the state of the analysis; it is taken back before its next publication.
struct Recall {
  size_t analysis = 0;
};
struct TakeBack {
  size_t analysis = 0;
};
/// Everything under way ends: the agreement, migrations and conditions.
struct SettleAll {};
struct SaveStages {};
struct SendCheckpoint {};
struct FinishCheckpoint {};
struct FinishStages {};
struct SendEnd {};
struct CloseChannel {};
/// Each rank waits for its sidecars; then all agree on what they found.
struct AwaitSidecars {};
/// What sidecars cannot see yet is lost, and they get the end of the run.
struct DropUnseen {};
struct CountUnfinished {};
/// No sidecar shall come any more; what was kept for successors is removed.
struct Retire {};
struct EndJobAtFinalize {};
/// Sidecars of this job work on until MPI_Finalize, which gives them a last chance.
struct LeaveSidecars {};

using CollectiveAction =
    std::variant<Disable, LearnFailure, Admit, Release, Skip, Publish, MoveToSidecars, Recall,
                 TakeBack, SettleAll, SaveStages, SendCheckpoint, FinishCheckpoint, FinishStages,
                 SendEnd, CloseChannel, AwaitSidecars, DropUnseen, CountUnfinished, Retire,
                 EndJobAtFinalize, LeaveSidecars>;

// Local events. Every one that may start a wait carries the time, in monotonic seconds.

/// A publication for these analyses takes this memory; it was not sent, and sidecars know.
struct MessageReady {
  std::vector<size_t> analyses;
  size_t bytes = 0;      ///< as it would be whole
  size_t own_bytes = 0;  ///< without analyses of attached jobs, if there are both
};
struct Dropped {};
/// There is no room for a message of this size.
struct NoRoom {
  size_t bytes = 0;
  double now = 0;
  bool spill_is_busy = false;  ///< it could go to disk, but not before others are there
};
/// The wait for room, or for an answer, has ended without.
struct TimedOut {};
struct SpillFailed {};
/// The program has called the session. Until the next call, all waits together end by the deadline.
struct CallBegins {
  double now = 0;
};
/// The rank waits for its sidecars to answer.
struct WaitBegins {
  double now = 0;
};
struct SidecarFailed {};
/// Analyses have failed on this rank outside a stage, or in its sidecars.
struct AnalysesFailed {
  std::set<int32_t> analyses;
};
/// This rank does not know what the others do, for it lacked memory while it decided: whatever is
/// published is incomplete.
struct AllFailed {};
struct SlotReady {
  int slot = 0;
};
struct SlotLost {
  int slot = 0;
  bool evicted = false;  ///< by this rank
};
struct SlotFreed {
  int slot = 0;
};

using LocalEvent =
    std::variant<MessageReady, Dropped, NoRoom, TimedOut, SpillFailed, CallBegins, WaitBegins,
                 SidecarFailed, AnalysesFailed, AllFailed, SlotReady, SlotLost, SlotFreed>;

// Local actions.

enum class Until { MessageBudget, SpillRoom, Answer };

/// Wait until something holds, the sidecars have failed, or it is too late.
struct Wait {
  Until until = Until::MessageBudget;
  double deadline = 0;        ///< monotonic seconds
  bool needs_server = false;  ///< ends at once if no sidecar is there and none will be started
};
struct Spill {};
struct Drop {};

using LocalAction = std::variant<Wait, Spill, Drop>;

/// One function for each kind of event or action, for std::visit.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

/// Beside these functions: kinds of actions that another place carries out. One that comes here is
/// a defect. A new kind of action does not compile until every place names it.
template <class Result, class... Kinds>
struct Elsewhere {
  template <class Action>
  requires(std::is_same_v<Action, Kinds> || ...) Result operator()(const Action&) const {
    throw std::logic_error("an action came where it is not carried out");
  }
};

}  // namespace pillion::policy
