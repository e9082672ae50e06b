// SPDX-License-Identifier: BSD-3-Clause
// The machine on top: it keeps which analyses are alive, and passes events on to the others.
#include "policy/policy.hpp"

#include <algorithm>

namespace pillion::policy {

Policy::Policy(const Settings& settings, const std::vector<AnalysisTraits>& analyses)
    : settings_(settings),
      own_(analyses.size()),
      backlog_(settings.when_full, settings.deadline),
      time_share_(settings.attached_share) {
  reserve(analyses.size());
  for (size_t a = 0; a < analyses.size(); ++a) {
    set(a, analyses[a]);
    if (analyses[a].may_migrate) analyses_[a].migration.emplace(a);
  }
}

// Nothing of the analysis that had the number before may touch this one.
void Policy::set(size_t number, const AnalysisTraits& analysis) {
  if (number == analyses_.size()) {
    analyses_.push_back({analysis, {}});
    needs_whole_.push_back(analysis.needs_whole);
    return;
  }
  analyses_[number] = {analysis, {}};
  needs_whole_[number] = analysis.needs_whole;
  failed_here_.erase(static_cast<int32_t>(number));
  backlog_.forget(number);
}

std::vector<CollectiveAction> Policy::on(const AgreedEvent& event) {
  const auto migration = [&](size_t a) -> MigrationState& { return *analyses_[a].migration; };
  return std::visit(
      Overloaded{[&](const SlotAdmitted& e) {
                   slots_[static_cast<size_t>(e.slot)].admitted(e.first, e.analyses);
                   return Actions();
                 },
                 [&](const AttachedCost& e) {
                   return time_share_.settle(e.seconds, e.running, e.steps), Actions();
                 },
                 [&](const AnalysisPassed& e) { return backlog_.withdraw(e.analysis), Actions(); },
                 [&](const AnalysisFailed& e) { return end(e.analysis), Actions(); },
                 // The others need not leave room for an analysis that has just moved.
                 [&](const Moved& e) {
                   migration(e.analysis).on(e);
                   backlog_.withdraw(e.analysis);
                   return Actions();
                 },
                 [&](const Recalled& e) { return migration(e.analysis).on(e), Actions(); },
                 [&](const MoveFailed& e) { return migration(e.analysis).on(e), Actions(); },
                 [&](const auto& e) { return act(e); }},
      event);
}

std::vector<LocalAction> Policy::on(const LocalEvent& event) {
  using Local = std::vector<LocalAction>;
  const auto slot = [&](int number) -> SlotState& { return slots_[static_cast<size_t>(number)]; };
  return std::visit(
      Overloaded{
          // Room that only failed sidecars could make will not come.
          [&](const NoRoom& e) { return sidecars_failed_here_ ? Local{Drop{}} : find_room(e); },
          [&](const CallBegins& e) { return call_deadline_ = e.now + settings_.deadline, Local(); },
          [&](const WaitBegins& e) { return wait_for_answer(e); },
          [&](const SpillFailed&) { return backlog_.on(Dropped{}), Local(); },
          [&](const SidecarFailed&) { return sidecars_failed_here_ = true, Local(); },
          [&](const AnalysesFailed& e) {
            return failed_here_.merge(std::set(e.analyses)), Local();
          },
          [&](const AllFailed&) { return all_failed_here_ = true, Local(); },
          [&](const SlotReady& e) { return slot(e.slot).saw_ready(), Local(); },
          [&](const SlotLost& e) { return slot(e.slot).saw_lost(e.evicted), Local(); },
          [&](const SlotFreed& e) { return slot(e.slot).saw_free(), Local(); },
          // MessageReady, Dropped, TimedOut.
          [&](const auto& e) { return backlog_.on(e), Local(); }},
      event);
}

bool Policy::is_in_sidecars(size_t analysis) const {
  const auto& [traits, migration, ended] = analyses_[analysis];
  return migration ? migration->is_in_sidecars() : traits.in_sidecars;
}

bool Policy::has_own_in_sidecars() const {
  return std::any_of(analyses_.begin(), analyses_.begin() + static_cast<ptrdiff_t>(own_),
                     [](const Analysis& a) { return a.traits.in_sidecars; });
}

std::vector<bool> Policy::wants() const {
  std::vector<bool> wants(analyses_.size());
  for (size_t a = 0; a < wants.size(); ++a) wants[a] = is_enabled(a) && is_in_sidecars(a);
  return wants;
}

void Policy::end(size_t analysis) {
  analyses_[analysis].ended = true;
  backlog_.withdraw(analysis);
}

// Slots are settled before the backlog: an analysis whose job has left waits for nothing.
Policy::Actions Policy::act(const AgreementReady& event) {
  Actions actions;
  if (event.all.sidecars_failed && !std::exchange(failure_known_, true))
    actions.push_back(LearnFailure{});
  for (const int32_t number : event.all.disabled) {
    const auto a = static_cast<size_t>(number);
    if (a >= analyses_.size() || !is_enabled(a)) continue;
    end(a);
    actions.push_back(Disable{a, Cause::Failed});
  }
  std::optional<CollectiveAction> settled[attached_slots];
  for (int s = 0; s < attached_slots; ++s) {
    const auto i = static_cast<size_t>(s);
    settled[s] = slots_[i].settle(s, event.all.slot_ready[i], event.all.slot_lost[i]);
    auto* release = settled[s] ? std::get_if<Release>(&*settled[s]) : nullptr;
    if (release == nullptr) continue;
    release->evicted = event.all.slot_evicted[i];
    for (size_t a = release->first; a < release->last; ++a)
      if (is_enabled(a)) {
        end(a);
        actions.push_back(Disable{a, release->evicted ? Cause::Evicted : Cause::Left, s});
      }
    actions.push_back(*release);
  }
  // Jobs that come may get the numbers of jobs that have left.
  for (const auto& action : settled)
    if (action && std::holds_alternative<Admit>(*action)) actions.push_back(*action);
  const auto& all = event.all;
  time_share_.settle(all.attached_seconds, all.running, all.steps);
  attached_full_ = all.attached_full;
  backlog_.settle(all, wants());
  return actions;
}

Policy::Actions Policy::act(const PublicationReady& event) {
  if (phase_ != Phase::Running) return {};
  PublicationReady ready{{}, event.steps_until_waiting};
  Skip over{{}, true};
  for (const size_t a : event.analyses) {
    if (!is_enabled(a) || !is_in_sidecars(a)) continue;
    const bool is_over = a >= own_ && attached_full_;
    (is_over ? over.analyses : ready.analyses).push_back(a);
  }
  for (const size_t a : over.analyses) backlog_.withdraw(a);
  Actions actions;
  if (!ready.analyses.empty()) actions = backlog_.publish(std::move(ready), needs_whole_);
  if (!over.analyses.empty()) actions.insert(actions.begin(), std::move(over));
  return actions;
}

Policy::Actions Policy::act(const MigrationDue& event) {
  Actions actions;
  for (const size_t a : event.analyses)
    if (analyses_[a].migration && is_enabled(a))
      if (auto action = analyses_[a].migration->before_publication(event.should_move.contains(a)))
        actions.push_back(*action);
  return actions;
}

Policy::Actions Policy::act(const PublicationDone& event) {
  Actions actions;
  for (const size_t a : event.analyses)
    if (analyses_[a].migration && is_enabled(a))
      if (auto action = analyses_[a].migration->after_publication(event.should_move.contains(a)))
        actions.push_back(*action);
  return actions;
}

Policy::Actions Policy::act(const CheckpointRequested&) {
  if (phase_ != Phase::Running) return {};
  Actions actions{SettleAll{}};
  for (const auto& analysis : analyses_)
    if (analysis.migration && !analysis.ended)
      if (auto action = analysis.migration->settle()) actions.push_back(*action);
  actions.push_back(SaveStages{});
  if (settings_.has_sidecars) actions.insert(actions.end(), {SendCheckpoint{}, AwaitSidecars{}});
  actions.push_back(FinishCheckpoint{});
  return actions;
}

Policy::Actions Policy::act(const CloseRequested&) {
  if (phase_ != Phase::Running) return {};
  phase_ = settings_.has_sidecars ? Phase::Closing : Phase::Closed;
  Actions actions{SettleAll{}};
  for (const auto& analysis : analyses_)
    if (analysis.migration && !analysis.ended)
      if (auto action = analysis.migration->settle()) actions.push_back(*action);
  actions.push_back(FinishStages{});
  if (settings_.has_sidecars)
    actions.insert(actions.end(), {SendEnd{}, CloseChannel{}, AwaitSidecars{}});
  return actions;
}

// Sidecars may have failed, or been too slow, or not be there. What they have not finished by the
// deadline is counted as lost. Those of this job continue until MPI_Finalize. Those of another job
// complete the report themselves if some live, and otherwise no others may come.
Policy::Actions Policy::act(const SidecarsAnswered& event) {
  if (phase_ != Phase::Closing) return {};
  phase_ = Phase::Closed;
  if (!settings_.separate_job) {
    Actions actions;
    if (!event.failed && event.finished) return actions;
    if (!event.failed) return {DropUnseen{}, CountUnfinished{}, LeaveSidecars{}};
    for (size_t a = 0; a < own_; ++a)
      if (is_enabled(a) && is_in_sidecars(a)) {
        end(a);
        actions.push_back(Disable{a, Cause::SidecarsEnded});
      }
    actions.push_back(EndJobAtFinalize{});
    return actions;
  }
  if (event.finished) return {};
  if (!has_own_in_sidecars()) return {DropUnseen{}};  // attached jobs read on
  return {DropUnseen{}, CountUnfinished{}, Retire{}};
}

std::vector<LocalAction> Policy::find_room(const NoRoom& event) {
  auto actions = backlog_.on(event);
  for (auto& action : actions)
    if (auto* wait = std::get_if<Wait>(&action))
      wait->deadline = std::min(wait->deadline, call_deadline_);
  return actions;
}

std::vector<LocalAction> Policy::wait_for_answer(const WaitBegins& event) const {
  if (sidecars_failed_here_) return {};
  Wait wait{.until = Until::Answer,
            .deadline = std::min(event.now + settings_.deadline, call_deadline_)};
  wait.needs_server = settings_.separate_job && !settings_.restarts_sidecars;
  return {wait};
}

RankStatus Policy::status(const MessageBudget& room) {
  RankStatus mine;
  backlog_.contribute(mine, room);
  mine.disabled = failed_here_;
  mine.sidecars_failed = sidecars_failed_here_;
  if (all_failed_here_)
    for (size_t a = 0; a < analyses_.size(); ++a) mine.disabled.insert(static_cast<int32_t>(a));
  if (sidecars_failed_here_)
    for (size_t a = 0; a < own_; ++a)
      if (is_in_sidecars(a)) mine.disabled.insert(static_cast<int32_t>(a));
  for (size_t s = 0; s < slots_.size(); ++s) {
    mine.slot_lost[s] = slots_[s].is_lost_here();
    mine.slot_evicted[s] = slots_[s].is_evicted_here();
    mine.slot_ready[s] = slots_[s].is_ready_here();
  }
  return mine;
}

}  // namespace pillion::policy
