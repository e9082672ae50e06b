// SPDX-License-Identifier: BSD-3-Clause
// Sequences of events for one sidecar, and the actions that must follow.
#include "policy/sidecar_policy.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace pillion::policy;

namespace {

/// "Receive, Analyse 1": actions in a form that a table can hold.
std::string text_of(const SidecarPolicy::Actions& actions) {
  static const char* const names[] = {
      "Claim",           "Refuse",           "ReadPredecessor",   "RestoreStages",
      "ReadInterrupted", "StartAt",          "RequestAdmission",  "StartAtNext",
      "Receive",         "Analyse",          "CountDropped",      "SaveCheckpoint",
      "RestoreMigrated", "SaveForMigration", "FinishFailed",      "FinishAnalyses",
      "ShowEnded",       "AgreeOnSaving",    "SaveForSuccessors", "RemoveSavedState",
      "CountUnread",     "WriteReport",      "ShowRunEnded",      "Acknowledge",
      "LeaveSlot"};
  static_assert(std::size(names) == std::variant_size_v<SidecarAction>);
  std::string text;
  for (const auto& action : actions) {
    text += (text.empty() ? "" : ", ") + std::string(names[action.index()]);
    const auto add = [&](auto number) { text += " " + std::to_string(number); };
    std::visit(Overloaded{[&](const Claim& a) { add(a.slot), add(a.first_ranks ? 1 : 0); },
                          [&](const Refuse& a) { add(static_cast<int>(a.why)); },
                          [&](const ReadInterrupted& a) { add(a.index); },
                          [&](const StartAt& a) { add(a.index), add(a.interrupted); },
                          [&](const Analyse& a) { add(a.analysis); },
                          [&](const CountDropped& a) {
                            for (const size_t number : a.analyses) add(number);
                          },
                          [&](const RestoreMigrated& a) { add(a.analysis); },
                          [&](const SaveForMigration& a) { add(a.analysis); },
                          [&](const FinishFailed& a) { add(a.analysis); }, [](const auto&) {}},
               action);
  }
  return text;
}

std::string on(SidecarPolicy& policy, const AgreedSidecarEvent& event) {
  return text_of(policy.on(event));
}

}  // namespace

TEST_CASE("a separate job takes the primary slot and continues its predecessor") {
  SidecarPolicy policy(SidecarRole::SeparateJob, {true, true});
  CHECK(on(policy, JoinRequested{}) == "Claim 0 1");
  CHECK(on(policy, ClaimAgreed{true, false}) == "Claim 0 0");
  CHECK(on(policy, ClaimAgreed{true, false}) == "ReadPredecessor");
  // Of analysis 0 five publications have ended, and three were saved with one lost before.
  const PredecessorRead predecessor{5, 7, {5, 4}, {SavedCounts{3, 1}, {}}, {1}};
  CHECK(on(policy, predecessor) == "RestoreStages, ReadInterrupted 5");
  CHECK(policy.counts(0).lost == 3);
  CHECK(policy.counts(1).lost == 4);
  CHECK(on(policy, InterruptedRead{true, {0}}) == "ReadInterrupted 6");
  CHECK(policy.counts(0).lost == 4);
  CHECK(policy.counts(0).ended == 6);
  CHECK(on(policy, InterruptedRead{false, {}}) == "StartAt 6 1");
  CHECK(on(policy, Joined{}) == "SaveForSuccessors");
  CHECK(on(policy, PublicationAgreed{{}, {0, 1}}) ==
        "Receive, Analyse 0, ShowEnded, AgreeOnSaving, Acknowledge");
}

TEST_CASE("a job that cannot join gives its slot back") {
  SidecarPolicy second(SidecarRole::SeparateJob, {true});
  (void)second.on(JoinRequested{});
  CHECK(on(second, ClaimAgreed{false, false}) == "LeaveSlot, Refuse 0");
  SidecarPolicy late(SidecarRole::SeparateJob, {true});
  (void)late.on(JoinRequested{});
  (void)late.on(ClaimAgreed{true, true});
  CHECK(on(late, ClaimAgreed{true, true}) == "LeaveSlot, Refuse 1");
  SidecarPolicy attached(SidecarRole::AttachedJob, {true});
  CHECK(on(attached, JoinRequested{}) == "Claim 1 1");
  CHECK(on(attached, ClaimAgreed{false, false}) == "LeaveSlot, Claim 2 1");
  CHECK(on(attached, ClaimAgreed{true, false}) == "Claim 2 0");
  CHECK(on(attached, ClaimAgreed{false, false}) == "LeaveSlot, Claim 3 1");
  CHECK(on(attached, ClaimAgreed{false, false}) == "LeaveSlot, Refuse 2");
}

TEST_CASE("an attached job works once the simulation has admitted it") {
  SidecarPolicy refused(SidecarRole::AttachedJob, {true});
  CHECK(on(refused, AdmissionAgreed{false}) == "LeaveSlot, Refuse 3");
  SidecarPolicy policy(SidecarRole::AttachedJob, {true});
  CHECK(on(policy, AdmissionAgreed{true}) == "StartAtNext");
  CHECK(on(policy, Joined{}).empty());
  CHECK(on(policy, PublicationAgreed{{}, {}}) == "Acknowledge");
  CHECK(on(policy, EndAgreed{}) == "FinishAnalyses, Acknowledge, WriteReport, LeaveSlot");
  CHECK(policy.ending() == SidecarEnding::Closed);
}

TEST_CASE("what no rank can use is counted, and a failed analysis is finished once") {
  SidecarPolicy policy(SidecarRole::SameJob, {true, true, false});
  CHECK(on(policy, PublicationAgreed{{.unusable = {1}}, {0, 1, 2}}) ==
        "Receive, Analyse 0, CountDropped 1, Acknowledge");
  CHECK(on(policy, PublicationAgreed{{.dropped = true}, {0, 2}}) ==
        "Receive, CountDropped 0 2, Acknowledge");
  CHECK(on(policy, AnalysisFailed{0}) == "FinishFailed 0");
  CHECK(on(policy, AnalysisFailed{0}).empty());
  CHECK(on(policy, PublicationAgreed{{}, {0}}) == "Receive, Acknowledge");
  CHECK(on(policy, MigrationAgreed{{2}, true}) == "RestoreMigrated 2, Acknowledge");
  CHECK(on(policy, MigrationEnded{2, true}).empty());
  CHECK(on(policy, PublicationAgreed{{}, {2}}) == "Receive, Analyse 2, Acknowledge");
  CHECK(on(policy, MigrationAgreed{{2, 0}, false}) == "SaveForMigration 2, Acknowledge");
  // Until it is saved it is here, and to take it again changes nothing.
  CHECK(on(policy, MigrationAgreed{{2}, true}) == "Acknowledge");
  CHECK(on(policy, EndAgreed{}) == "FinishAnalyses, Acknowledge");
}

TEST_CASE("a local event changes only what this rank contributes") {
  SidecarPolicy policy(SidecarRole::SeparateJob, {true, true});
  policy.on(LocalSidecarEvent(MessageArrived{true, {1}}));
  policy.on(LocalSidecarEvent(MessageArrived{false, {0}}));
  const auto mine = policy.take_status();
  CHECK(mine.dropped);
  CHECK(mine.unusable == std::set<size_t>{0, 1});
  CHECK(!mine.no_message);
  policy.on(LocalSidecarEvent(LeaveRequested{}));
  CHECK(policy.take_status().leave_requested);
  CHECK(!policy.take_status().no_message);
  CHECK(!policy.ending());
}

TEST_CASE("a rank finishes by itself what no enabled analysis needs, and counts it") {
  SidecarPolicy policy(SidecarRole::SeparateJob, {true, true});
  CHECK_FALSE(policy.passes(1, {0}));
  CHECK(policy.passes(1, {}));
  (void)policy.on(AnalysisFailed{0});
  CHECK(policy.passes(1, {0}));
  CHECK_FALSE(policy.passes(1, {0, 1}));
  // Ranks of which one wants to leave agree on one publication in 64 at least.
  int passed = 0;
  for (int64_t sequence = 1; sequence <= 640; ++sequence) passed += policy.passes(sequence, {0});
  CHECK(passed == 630);
  CHECK(text_of(policy.pass({0})) == "ShowEnded, Acknowledge");
  CHECK(policy.counts(0).ended == 1);
  // Those that are agreed on count alike.
  CHECK(on(policy, PublicationAgreed{{.dropped = true}, {0}}) ==
        "Receive, ShowEnded, AgreeOnSaving, Acknowledge");
  CHECK(policy.counts(0).ended == 2);
  SidecarPolicy attached(SidecarRole::AttachedJob, {true});
  CHECK(text_of(attached.pass({})) == "Acknowledge");
}

TEST_CASE("an attached job that was evicted writes what it has and leaves") {
  SidecarPolicy policy(SidecarRole::AttachedJob, {true});
  policy.on(LocalSidecarEvent(Evicted{}));
  const auto mine = policy.take_status();
  CHECK(mine.no_message);
  CHECK(mine.evicted);
  CHECK_FALSE(mine.leave_requested);
  CHECK(on(policy, NoMessageAgreed{false, true}) == "FinishAnalyses, WriteReport, LeaveSlot");
  CHECK(policy.ending() == SidecarEnding::Evicted);
}

TEST_CASE("sidecars that leave are replaced, and those whose simulation is gone end the run") {
  SidecarPolicy leaving(SidecarRole::SeparateJob, {true});
  CHECK(on(leaving, NoMessageAgreed{true}) == "SaveForSuccessors, LeaveSlot");
  CHECK(leaving.ending() == SidecarEnding::Left);
  SidecarPolicy last(SidecarRole::SeparateJob, {true});
  CHECK(on(last, NoMessageAgreed{false}) ==
        "FinishAnalyses, WriteReport, ShowRunEnded, RemoveSavedState, LeaveSlot");
  CHECK(last.ending() == SidecarEnding::SimulationGone);
  SidecarPolicy closed(SidecarRole::SeparateJob, {true});
  CHECK(on(closed, EndAgreed{}) ==
        "SaveForSuccessors, FinishAnalyses, ShowEnded, WriteReport, ShowRunEnded, Acknowledge, "
        "RemoveSavedState, LeaveSlot");
}

TEST_CASE("sidecars that are asked to leave while the simulation dies end the run") {
  SidecarPolicy policy(SidecarRole::SeparateJob, {true});
  policy.on(LocalSidecarEvent(SimulationDied{}));
  const auto mine = policy.take_status();
  CHECK(mine.gone);
  CHECK_FALSE(mine.no_message);
  // They may be killed at any time from now on, so there is a report at once.
  const PublicationAgreed event{{.gone = true}, {0}};
  CHECK(on(policy, event) ==
        "WriteReport, Receive, Analyse 0, ShowEnded, AgreeOnSaving, Acknowledge");
  CHECK(on(policy, event) == "Receive, Analyse 0, ShowEnded, AgreeOnSaving, Acknowledge");
  // Their time is up, but nobody comes after them.
  CHECK(on(policy, NoMessageAgreed{.leave_requested = true}) ==
        "CountUnread, FinishAnalyses, WriteReport, ShowRunEnded, RemoveSavedState, LeaveSlot");
  CHECK(policy.ending() == SidecarEnding::SimulationGone);
}

TEST_CASE("state is saved for successors less often where that takes long or nodes are many") {
  CHECK(saving_period(1, 0) == 1);
  CHECK(saving_period(64, 0.05) == 1);
  CHECK(saving_period(1, 0.5) == 10);
  CHECK(saving_period(6400, 0.5) == 100);
}
