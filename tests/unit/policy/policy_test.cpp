// SPDX-License-Identifier: BSD-3-Clause
// Sequences of events, and the actions that must follow, for one rank.
#include "policy/policy.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "policy/losses.hpp"

using namespace pillion::policy;
using pillion::model::WhenFull;

namespace {

/// Room that is there or not, whatever the size.
class FakeRoom final : public MessageBudget {
 public:
  bool has_room = true, has_headers = true, has_spill = true;
  [[nodiscard]] bool fits(size_t) const override { return has_room; }
  [[nodiscard]] bool fits_header() const override { return has_headers; }
  [[nodiscard]] bool fits_spill(size_t) const override { return has_spill; }
};

/// "Publish 0 1, Skip 2": actions in a form that a table can hold.
std::string text_of(const std::vector<CollectiveAction>& actions) {
  static const char* const names[] = {"Disable",          "LearnFailure",  "Admit",
                                      "Release",          "Skip",          "Publish",
                                      "MoveToSidecars",   "Recall",        "TakeBack",
                                      "SettleAll",        "SaveStages",    "SendCheckpoint",
                                      "FinishCheckpoint", "FinishStages",  "SendEnd",
                                      "CloseChannel",     "AwaitSidecars", "DropUnseen",
                                      "CountUnfinished",  "Retire",        "EndJobAtFinalize",
                                      "LeaveSidecars"};
  std::string text;
  for (const auto& action : actions) {
    text += (text.empty() ? "" : ", ") + std::string(names[action.index()]);
    const auto add = [&](const std::vector<size_t>& list) {
      for (const size_t a : list) text += " " + std::to_string(a);
    };
    if (const auto* p = std::get_if<Publish>(&action)) {
      add(p->analyses);
      if (p->level > 0) text += " at level " + std::to_string(p->level);
    }
    if (const auto* s = std::get_if<Skip>(&action)) add(s->analyses);
    if (const auto* d = std::get_if<Disable>(&action)) add({d->analysis});
  }
  return text;
}

Settings settings(WhenFull when_full, bool separate = false) {
  return {.when_full = when_full, .deadline = 7, .has_sidecars = true, .separate_job = separate};
}

/// What one rank alone does with an agreement: it hears what it contributed.
std::string agree(Policy& policy, const MessageBudget& room) {
  return text_of(policy.on(AgreementReady{policy.status(room)}));
}

const AnalysisTraits there{.in_sidecars = true};

}  // namespace

TEST_CASE("a publication is skipped, coarsened or made as the room and the analyses allow") {
  struct Row {
    WhenFull when_full;
    RankStatus before;
    std::string actions;
  };
  const RankStatus full{.no_room_for_last = true, .level = 2};
  const Row rows[] = {{WhenFull::Skip, {}, "Publish 0 1"},
                      {WhenFull::Skip, full, "Skip 0 1"},
                      {WhenFull::Wait, full, "Publish 0 1"},
                      {WhenFull::Spill, full, "Publish 0 1"},
                      {WhenFull::Coarsen, full, "Skip 1, Publish 0 at level 2"},
                      {WhenFull::Wait, {.blocked = true}, "Skip 0 1"}};
  for (const auto& row : rows) {
    Policy policy(settings(row.when_full), {there, {.in_sidecars = true, .needs_whole = true}});
    (void)policy.on(AgreementReady{row.before});
    CHECK(text_of(policy.on(PublicationReady{{0, 1}})) == row.actions);
  }
}

TEST_CASE("want of room on one rank is answered by that rank alone") {
  struct Row {
    WhenFull when_full;
    LocalAction action;
  };
  for (const auto& row : {Row{WhenFull::Skip, Drop{}}, Row{WhenFull::Coarsen, Drop{}},
                          Row{WhenFull::Spill, Spill{}}, Row{WhenFull::Wait, Wait{}}}) {
    Policy policy(settings(row.when_full), {there});
    const auto actions = policy.on(LocalEvent(NoRoom{10, 100}));
    REQUIRE(actions.size() == 1);
    CHECK(actions[0].index() == row.action.index());
    if (const auto* wait = std::get_if<Wait>(&actions[0])) CHECK(wait->deadline == 107);
  }
}

TEST_CASE("after a wait in vain nothing is tried until there is room again") {
  Policy policy(settings(WhenFull::Wait), {there});
  FakeRoom room;
  (void)policy.on(LocalEvent(MessageReady{{0}, 10}));
  room.has_room = false;
  (void)policy.on(LocalEvent(TimedOut{}));
  (void)policy.on(LocalEvent(Dropped{}));
  CHECK(agree(policy, room) == "");
  CHECK(text_of(policy.on(PublicationReady{{0}})) == "Skip 0");
  CHECK(std::holds_alternative<Drop>(policy.on(LocalEvent(NoRoom{10, 0}))[0]));
  room.has_room = true;
  CHECK(agree(policy, room) == "");
  CHECK(text_of(policy.on(PublicationReady{{0}})) == "Publish 0");
}

TEST_CASE("an attached job is admitted once, and forgotten when it leaves") {
  Policy policy(settings(WhenFull::Skip), {there});
  const FakeRoom room;
  (void)policy.on(LocalEvent(SlotReady{1}));
  CHECK(agree(policy, room) == "Admit");
  (void)policy.on(AgreementReady{{.slot_ready = {false, true, false}}});
  policy.set(1, there);
  CHECK(policy.on(SlotAdmitted{1, 1, 1}).empty());
  CHECK(policy.slot(1).first() == 1);
  CHECK(policy.slot(1).last() == 2);
  CHECK(agree(policy, room) == "");
  CHECK(text_of(policy.on(PublicationReady{{0, 1}})) == "Publish 0 1");
  (void)policy.on(LocalEvent(SlotLost{1}));
  CHECK(agree(policy, room) == "Disable 1, Release");
  CHECK_FALSE(policy.is_enabled(1));
  CHECK(text_of(policy.on(PublicationReady{{0, 1}})) == "Publish 0");
  (void)policy.on(LocalEvent(SlotFreed{1}));
  CHECK(agree(policy, room) == "");
}

TEST_CASE("that an attached job was evicted on one rank is known on all") {
  Policy policy(settings(WhenFull::Skip), {there});
  const FakeRoom room;
  policy.set(1, there);
  (void)policy.on(AgreementReady{{.slot_ready = {true, false, false}}});
  (void)policy.on(SlotAdmitted{0, 1, 1});
  (void)policy.on(LocalEvent(SlotLost{0, true}));
  const auto status = policy.status(room);
  CHECK(status.slot_lost[0]);
  CHECK(status.slot_evicted[0]);
  const auto actions = policy.on(AgreementReady{status});
  REQUIRE(text_of(actions) == "Disable 1, Release");
  const auto& disable = std::get<Disable>(actions[0]);
  CHECK(disable.cause == Cause::Evicted);
  CHECK(disable.slot == 0);
}

TEST_CASE("the run's own analyses are published alone where there is no room for others as well") {
  struct Room final : MessageBudget {
    [[nodiscard]] bool fits(size_t bytes) const override { return bytes <= 10; }
    [[nodiscard]] bool fits_header() const override { return true; }
    [[nodiscard]] bool fits_spill(size_t) const override { return false; }
  };
  const Room room;
  Policy policy(settings(WhenFull::Skip), {there});
  policy.set(1, there);
  (void)policy.on(AgreementReady{{.slot_ready = {true, false, false}}});
  (void)policy.on(SlotAdmitted{0, 1, 1});
  (void)policy.on(LocalEvent(MessageReady{{0, 1}, 20, 10}));
  CHECK(agree(policy, room) == "");
  CHECK(text_of(policy.on(PublicationReady{{0, 1}})) == "Skip 1, Publish 0");
  (void)policy.on(LocalEvent(MessageReady{{0}, 10, 0}));
  CHECK(agree(policy, room) == "");
  CHECK(text_of(policy.on(PublicationReady{{0, 1}})) == "Publish 0 1");
}

TEST_CASE("an analysis whose job has left in the agreement right before makes no other yield") {
  Policy policy(settings(WhenFull::Skip), {there});
  policy.set(1, there);
  (void)policy.on(AgreementReady{{.slot_ready = {true, false, false}}});
  (void)policy.on(SlotAdmitted{0, 1, 1});
  (void)policy.on(AgreementReady{{.no_room_for_last = true}});
  CHECK(text_of(policy.on(PublicationReady{{1}})) == "Skip 1");
  CHECK(policy.waiting() == 1);
  (void)policy.on(AgreementReady{{.no_room_for_both = true, .slot_lost = {true, false, false}}});
  CHECK_FALSE(policy.waiting());
  CHECK(text_of(policy.on(PublicationReady{{0}, 1})) == "Publish 0");
}

TEST_CASE("an analysis moves to the sidecars, is recalled, and is taken back") {
  Policy policy(settings(WhenFull::Skip), {{.in_sidecars = true, .may_migrate = true}});
  CHECK_FALSE(policy.is_in_sidecars(0));
  CHECK(text_of(policy.on(MigrationDue{{0}, {0}})) == "MoveToSidecars");
  (void)policy.on(MoveFailed{0, false});
  CHECK(text_of(policy.on(MigrationDue{{0}, {0}})) == "MoveToSidecars");
  (void)policy.on(Moved{0, true});
  CHECK(policy.is_in_sidecars(0));
  CHECK(text_of(policy.on(PublicationDone{{0}, {0}})) == "Recall");
  (void)policy.on(Recalled{0});
  CHECK(text_of(policy.on(MigrationDue{{0}})) == "TakeBack");
  CHECK(text_of(policy.on(CheckpointRequested{})) ==
        "SettleAll, TakeBack, SaveStages, SendCheckpoint, AwaitSidecars, FinishCheckpoint");
  (void)policy.on(Moved{0, false});
  CHECK_FALSE(policy.is_in_sidecars(0));
  (void)policy.on(MoveFailed{0, true});
  CHECK(policy.on(MigrationDue{{0}, {0}}).empty());
}

TEST_CASE("closing ends everything in order, and what follows depends on what sidecars answer") {
  struct Row {
    bool separate;
    SidecarsAnswered answer;
    std::string actions;
  };
  const Row rows[] = {{false, {.finished = true}, ""},
                      {false, {.failed = true}, "Disable 0, EndJobAtFinalize"},
                      {false, {}, "DropUnseen, CountUnfinished, LeaveSidecars"},
                      {true, {.finished = true}, ""},
                      {true, {}, "DropUnseen, CountUnfinished, Retire"}};
  for (const auto& row : rows) {
    Policy policy(settings(WhenFull::Skip, row.separate), {there, {}});
    CHECK(text_of(policy.on(CloseRequested{})) ==
          "SettleAll, FinishStages, SendEnd, CloseChannel, AwaitSidecars");
    CHECK(text_of(policy.on(row.answer)) == row.actions);
    CHECK(policy.is_closed());
    CHECK(policy.on(CloseRequested{}).empty());
  }
  Policy alone(Settings{}, {{}});
  CHECK(text_of(alone.on(CloseRequested{})) == "SettleAll, FinishStages");
  CHECK(text_of(Policy(Settings{}, {{}}).on(CheckpointRequested{})) ==
        "SettleAll, SaveStages, FinishCheckpoint");
}

TEST_CASE("all waits of a call end by one deadline, whichever job the sidecars are of") {
  Policy separate(settings(WhenFull::Skip, true), {there}), same(settings(WhenFull::Skip), {there});
  const auto bounded = std::get<Wait>(separate.on(LocalEvent(WaitBegins{50}))[0]);
  CHECK(bounded.deadline == 57);
  CHECK(bounded.needs_server);
  CHECK(std::get<Wait>(same.on(LocalEvent(WaitBegins{50}))[0]).deadline == 57);
  (void)same.on(LocalEvent(CallBegins{48}));
  CHECK(std::get<Wait>(same.on(LocalEvent(WaitBegins{50}))[0]).deadline == 55);
  CHECK(std::get<Wait>(same.on(LocalEvent(WaitBegins{54}))[0]).deadline == 55);
  Policy waits(settings(WhenFull::Wait), {there});
  (void)waits.on(LocalEvent(CallBegins{48}));
  CHECK(std::get<Wait>(waits.on(LocalEvent(NoRoom{1, 51}))[0]).deadline == 55);
  (void)same.on(LocalEvent(SidecarFailed{}));
  CHECK(same.on(LocalEvent(WaitBegins{50})).empty());
}

TEST_CASE("failed sidecars disable what they worked on, by agreement") {
  Policy policy(settings(WhenFull::Skip), {there, {}});
  const FakeRoom room;
  CHECK(policy.on(LocalEvent(SidecarFailed{})).empty());
  CHECK(policy.is_enabled(0));
  CHECK(agree(policy, room) == "LearnFailure, Disable 0");
  CHECK(policy.is_enabled(1));
  CHECK(agree(policy, room).empty());
}

TEST_CASE("a rank that lacked memory in a decision has all analyses disabled, by agreement") {
  Policy policy(settings(WhenFull::Skip), {there, {}});
  policy.set(2, there);
  const FakeRoom room;
  CHECK(policy.on(LocalEvent(AllFailed{})).empty());
  CHECK(policy.is_enabled(1));
  CHECK(agree(policy, room) == "Disable 0, Disable 1, Disable 2");
  CHECK(agree(policy, room).empty());
}

TEST_CASE("a rank that no sidecar has told learns of their failure by agreement") {
  Policy policy(settings(WhenFull::Skip), {there, {}});
  const AgreementReady ready{{.sidecars_failed = true, .disabled = {0}}};
  CHECK(text_of(policy.on(ready)) == "LearnFailure, Disable 0");
  CHECK(policy.on(ready).empty());
}

TEST_CASE("publications are written or lost") {
  CHECK(take_over({}, 0).lost == 0);
  CHECK(take_over({}, 5).lost == 5);
  const auto after = take_over(SavedCounts{.ended = 7, .lost = 2}, 10);
  CHECK(after.ended == 10);
  CHECK(after.lost == 5);
  CHECK(lost_at_end({.published = 20, .unfinished = 3, .written = 12}) == 8);
  CHECK(lost_at_end({.published = 20, .unfinished = 3, .sidecars_live = true}) == 3);
  CHECK(lost_at_end({.published = 20, .written = -1}) == 20);
}

namespace {

/// A slot that holds the numbers from `first` to the one before `last`.
SlotState slot_with(size_t first, size_t last) {
  SlotState slot;
  (void)slot.settle(0, true, false);
  slot.admitted(first, last - first);
  return slot;
}

}  // namespace

TEST_CASE("numbers of analyses whose job has left are used again") {
  using Slots = std::array<SlotState, attached_slots>;
  CHECK(first_free(Slots{}, 5, 3) == 5);
  CHECK(first_free(Slots{slot_with(5, 7)}, 5, 3) == 7);
  CHECK(first_free(Slots{SlotState(), slot_with(8, 10)}, 5, 3) == 5);
  CHECK(first_free(Slots{SlotState(), slot_with(8, 10)}, 5, 4) == 10);
  CHECK(first_free(Slots{slot_with(9, 12), slot_with(5, 6)}, 5, 3) == 6);
  CHECK(first_free(Slots{slot_with(9, 12), slot_with(5, 6)}, 5, 4) == 12);
  CHECK(first_free(Slots{slot_with(9, 12), slot_with(5, 7), slot_with(12, 13)}, 5, 3) == 13);
}

TEST_CASE("a thousand jobs that come and go, some at a time, need few numbers") {
  Policy policy(settings(WhenFull::Skip), {there, there});
  const FakeRoom room;
  for (int job = 0; job < 1000; ++job) {
    const int slot = job % attached_slots;
    if (policy.slot(slot).last() > 0) {
      (void)policy.on(LocalEvent(SlotLost{slot}));
      (void)policy.on(AgreementReady{policy.status(room)});
      (void)policy.on(LocalEvent(SlotFreed{slot}));
    }
    (void)policy.on(LocalEvent(SlotReady{slot}));
    REQUIRE(agree(policy, room) == "Admit");
    const size_t count = 1 + static_cast<size_t>(job * 7 % 5), first = policy.place_for(count);
    for (size_t a = first; a < first + count; ++a) policy.set(a, there);
    (void)policy.on(SlotAdmitted{slot, first, count});
    (void)policy.on(LocalEvent(SlotFreed{slot}));
    for (size_t a = first; a < first + count; ++a) REQUIRE(policy.is_enabled(a));
  }
  CHECK(policy.analyses() < 2 + 4 * 5 * attached_slots);
}

TEST_CASE("an analysis inherits nothing from the one that had its number before") {
  Policy policy(settings(WhenFull::Skip), {there});
  FakeRoom room;
  policy.set(1, there);
  (void)policy.on(AgreementReady{{.slot_ready = {true, false, false}}});
  (void)policy.on(SlotAdmitted{0, 1, 1});
  (void)policy.on(LocalEvent(AnalysesFailed{{1}}));
  room.has_room = false;
  (void)policy.on(LocalEvent(MessageReady{{1}, 10}));
  CHECK(agree(policy, room) == "Disable 1");
  CHECK(text_of(policy.on(PublicationReady{{0}})) == "Skip 0");
  (void)policy.on(LocalEvent(SlotLost{0}));
  CHECK(agree(policy, room) == "Release");
  room.has_room = true;
  policy.set(1, there);
  (void)policy.on(SlotAdmitted{2, 1, 1});
  (void)policy.on(LocalEvent(SlotFreed{0}));
  CHECK(policy.is_enabled(1));
  CHECK(agree(policy, room) == "");
  CHECK(policy.is_enabled(1));
  CHECK(text_of(policy.on(PublicationReady{{0, 1}})) == "Publish 0 1");
}

TEST_CASE("a job that comes may get the numbers of one that leaves in the same agreement") {
  Policy policy(settings(WhenFull::Skip), {there});
  policy.set(1, there);
  (void)policy.on(AgreementReady{{.slot_ready = {false, true, false}}});
  (void)policy.on(SlotAdmitted{1, 1, 1});
  const auto actions = policy.on(
      AgreementReady{{.slot_ready = {true, false, false}, .slot_lost = {false, true, false}}});
  CHECK(text_of(actions) == "Disable 1, Release, Admit");
  CHECK(policy.place_for(1) == 1);
  const auto& release = std::get<Release>(actions[1]);
  CHECK(release.first == 1);
  CHECK(release.last == 2);
}
