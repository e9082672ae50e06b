// SPDX-License-Identifier: BSD-3-Clause
// Joining, working, leaving.
#include "policy/sidecar_policy.hpp"

#include <algorithm>
#include <utility>

namespace pillion::policy {

double saving_period(int nodes, double took) {
  constexpr double least = 1, share = 20, files_per_second = 64;
  return std::max({least, share * took, nodes / files_per_second});
}

SidecarPolicy::SidecarPolicy(SidecarRole role, const std::vector<bool>& here) : role_(role) {
  for (const bool is_here : here) analyses_.push_back({.here = is_here});
}

SidecarPolicy::Actions SidecarPolicy::on(const AgreedSidecarEvent& event) {
  return std::visit([&](const auto& e) { return act(e); }, event);
}

void SidecarPolicy::on(const LocalSidecarEvent& event) {
  if (const auto* arrived = std::get_if<MessageArrived>(&event)) {
    here_.dropped = here_.dropped || arrived->dropped;
    here_.unusable.insert(arrived->unusable.begin(), arrived->unusable.end());
    return;
  }
  if (std::holds_alternative<SimulationDied>(event)) {
    here_.gone = true;
    return;
  }
  here_.no_message = true;
  here_.leave_requested = here_.leave_requested || std::holds_alternative<LeaveRequested>(event);
  here_.evicted = here_.evicted || std::holds_alternative<Evicted>(event);
}

MessageStatus SidecarPolicy::take_status() { return std::exchange(here_, MessageStatus{}); }

namespace {

// The ranks with the first channel of the run claim first: of two jobs that come at once, one gets
// all channels. Ranks of a predecessor that is ending may hold the others a little longer.
constexpr double first_patience = 2, others_patience = 20;  // seconds
constexpr int primary_slot = 0;

}  // namespace

SidecarPolicy::Actions SidecarPolicy::act(const JoinRequested&) {
  if (role_ == SidecarRole::SeparateJob) claim_ = {primary_slot, true, first_patience};
  else claim_ = {primary_slot + 1, true, 0};
  return {claim_};
}

SidecarPolicy::Actions SidecarPolicy::act(const ClaimAgreed& event) {
  const bool is_separate = role_ == SidecarRole::SeparateJob;
  if (!event.claimed) {
    if (is_separate) return {LeaveSlot{}, Refuse{Refusal::HasSidecars}};
    if (claim_.slot == attached_slots) return {LeaveSlot{}, Refuse{Refusal::SlotsTaken}};
    claim_ = {claim_.slot + 1, true, 0};
    return {LeaveSlot{}, claim_};
  }
  if (claim_.first_ranks) {
    claim_.first_ranks = false;
    claim_.patience = is_separate ? others_patience : 0;
    return {claim_};
  }
  if (!is_separate) return {RequestAdmission{}};
  if (event.run_ended) return {LeaveSlot{}, Refuse{Refusal::RunEnded}};
  return {ReadPredecessor{}};
}

// Publications that ended after the last saved state are in no product: they are lost.
SidecarPolicy::Actions SidecarPolicy::act(const PredecessorRead& event) {
  for (size_t a = 0; a < analyses_.size(); ++a) {
    analyses_[a].counts = take_over(event.saved[a], event.ended[a]);
    analyses_[a].enabled = !event.disabled.contains(a);
  }
  done_ = next_ = event.done;
  begun_ = event.begun;
  auto actions = read_interrupted();
  actions.insert(actions.begin(), RestoreStages{});
  return actions;
}

SidecarPolicy::Actions SidecarPolicy::read_interrupted() const {
  if (next_ < begun_) return {ReadInterrupted{next_}};
  return {StartAt{next_, next_ - done_}};
}

// A publication that was begun may be what killed the sidecars that worked on it: it is lost. A
// checkpoint or the end is carried out again, since that changes nothing in what was written.
SidecarPolicy::Actions SidecarPolicy::act(const InterruptedRead& event) {
  if (!event.is_publication) return {StartAt{next_, next_ - done_}};
  for (const size_t a : event.analyses) count_interrupted(analyses_[a].counts);
  ++next_;
  return read_interrupted();
}

SidecarPolicy::Actions SidecarPolicy::act(const AdmissionAgreed& event) {
  if (event.admitted) return {StartAtNext{}};
  return {LeaveSlot{}, Refuse{Refusal::NotAdmitted}};
}

// The first state tells a successor that it is not the first.
SidecarPolicy::Actions SidecarPolicy::act(const Joined&) {
  if (role_ == SidecarRole::SeparateJob) return {SaveForSuccessors{}};
  return {};
}

bool SidecarPolicy::passes(int64_t sequence, const std::vector<size_t>& due) const {
  constexpr int64_t between_agreements = 64;
  return sequence % between_agreements != 0 &&
         std::none_of(due.begin(), due.end(), [&](size_t a) { return is_enabled(a); });
}

SidecarPolicy::Actions SidecarPolicy::pass(const std::vector<size_t>& due) {
  for (const size_t a : due) ++analyses_[a].counts.ended;
  if (role_ == SidecarRole::SeparateJob) return {ShowEnded{}, Acknowledge{}};
  return {Acknowledge{}};
}

// Every analysis that was due has ended with this publication, whatever became of it. That is shown
// before the memory is given back, so that a successor knows. Of a disabled analysis nothing else
// is counted, since most of its publications are passed. Where the job is about to be killed, there
// is a report from the moment on that this is known.
SidecarPolicy::Actions SidecarPolicy::act(const PublicationAgreed& event) {
  Actions actions;
  if (event.all.gone && !std::exchange(is_gone_, true)) actions.push_back(WriteReport{});
  if (!event.analyses.empty()) actions.push_back(Receive{});
  CountDropped dropped;
  for (const size_t a : event.analyses) {
    ++analyses_[a].counts.ended;
    if (!is_enabled(a)) continue;
    if (event.all.dropped) dropped.analyses.push_back(a);
    else if (!analyses_[a].here) continue;
    else if (event.all.unusable.contains(a)) dropped.analyses.push_back(a);
    else actions.push_back(Analyse{a});
  }
  dropped.whole = event.all.dropped;
  if (!dropped.analyses.empty()) actions.push_back(dropped);
  if (role_ == SidecarRole::SeparateJob)
    actions.insert(actions.end(), {ShowEnded{}, AgreeOnSaving{}});
  actions.push_back(Acknowledge{});
  return actions;
}

SidecarPolicy::Actions SidecarPolicy::act(const CheckpointAgreed&) {
  if (role_ != SidecarRole::SeparateJob) return {SaveCheckpoint{}, Acknowledge{}};
  return {SaveCheckpoint{}, ShowEnded{}, AgreeOnSaving{}, Acknowledge{}};
}

SidecarPolicy::Actions SidecarPolicy::act(const MigrationAgreed& event) {
  Actions actions;
  for (const size_t a : event.analyses) {
    const auto& analysis = analyses_[a];
    if (!analysis.enabled || analysis.here == event.to_sidecars) continue;
    if (event.to_sidecars) actions.push_back(RestoreMigrated{a});
    else actions.push_back(SaveForMigration{a});
  }
  actions.push_back(Acknowledge{});
  return actions;
}

// Sidecars that die while they write the last products have a successor that writes them again.
SidecarPolicy::Actions SidecarPolicy::act(const EndAgreed&) {
  ending_ = SidecarEnding::Closed;
  switch (role_) {
    case SidecarRole::SameJob: return {FinishAnalyses{}, Acknowledge{}};
    case SidecarRole::AttachedJob:
      return {FinishAnalyses{}, Acknowledge{}, WriteReport{}, LeaveSlot{}};
    case SidecarRole::SeparateJob: break;
  }
  return {SaveForSuccessors{}, FinishAnalyses{}, ShowEnded{},        WriteReport{},
          ShowRunEnded{},      Acknowledge{},    RemoveSavedState{}, LeaveSlot{}};
}

SidecarPolicy::Actions SidecarPolicy::act(const NoMessageAgreed& event) {
  const bool left = event.leave_requested && !event.gone && !is_gone_;
  ending_ = left            ? SidecarEnding::Left
            : event.evicted ? SidecarEnding::Evicted
                            : SidecarEnding::SimulationGone;
  switch (role_) {
    case SidecarRole::SameJob: return {};
    case SidecarRole::AttachedJob: return {FinishAnalyses{false}, WriteReport{}, LeaveSlot{}};
    case SidecarRole::SeparateJob: break;
  }
  if (left) return {SaveForSuccessors{}, LeaveSlot{}};
  Actions actions;
  if (event.leave_requested) actions.push_back(CountUnread{});
  actions.insert(actions.end(), {FinishAnalyses{false}, WriteReport{}, ShowRunEnded{},
                                 RemoveSavedState{}, LeaveSlot{}});
  return actions;
}

SidecarPolicy::Actions SidecarPolicy::act(const AnalysisFailed& event) {
  auto& analysis = analyses_[event.analysis];
  if (!std::exchange(analysis.enabled, false) || !analysis.here) return {};
  return {FinishFailed{event.analysis}};
}

SidecarPolicy::Actions SidecarPolicy::act(const MigrationEnded& event) {
  analyses_[event.analysis].here = event.is_here;
  return {};
}

SidecarPolicy::Actions SidecarPolicy::act(const SavingAgreed& event) {
  if (event.wanted) return {SaveForSuccessors{}};
  return {};
}

}  // namespace pillion::policy
