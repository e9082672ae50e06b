// SPDX-License-Identifier: BSD-3-Clause
// A world for the policy of sidecars: jobs of up to four ranks that join a run, work on messages,
// save their state, leave and die between any two actions, all at random. What the simulation and
// the next job can see is kept apart from what dies with a job. At the end every publication must
// be in a product, or counted. PILLION_WALK_EVENTS sets the number of events; test_mutants.py shows
// that the walk finds defects.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <string>

#include "policy/sidecar_policy.hpp"

using namespace pillion::policy;

namespace {

struct Broken {
  std::string what;
};
struct Died {};
struct Refused {
  Refusal why;
};

void require(bool holds, const std::string& what) {
  if (!holds) throw Broken{what};
}

enum class Kind { Publication, Checkpoint, Migration, End };

struct Message {
  Kind kind = Kind::Publication;
  std::vector<size_t> due{};
  std::vector<MessageStatus> ranks{};  ///< what each rank finds in it
  bool to_sidecars = false;
};

using Rows = std::vector<std::set<size_t>>;  ///< by analysis: numbers of messages

/// What is left when a job dies.
struct Lasting {
  std::vector<Message> messages{};  ///< the simulation has published them
  bool simulation_lives = true;
  size_t begun = 0;
  struct Slot {
    size_t done = 0;
    std::array<std::vector<int64_t>, 2> ended{};  ///< by parity of `done`, by analysis
  };
  std::vector<Slot> slots{};  ///< by rank
  [[nodiscard]] size_t done() const {
    size_t done = 0;
    for (const auto& slot : slots) done = std::max(done, slot.done);
    return done;
  }
  std::set<size_t> disabled{};
  bool run_ended = false, given_up = false;
  struct State {
    std::vector<SavedCounts> counts;
    std::vector<int64_t> dropped;
    Rows rows;
  };
  std::optional<State> saved{};
  Rows written{};
  std::vector<int64_t> lost{}, dropped{};  ///< as the last report says
  int reports = 0;
  std::set<size_t> interrupted{};
};

class Job {
 public:
  Job(std::mt19937_64& random, SidecarRole role, int ranks, Lasting& lasting, bool may_die)
      : random_(random), role_(role), lasting_(lasting), may_die_(may_die) {
    const size_t analyses = lasting.written.size();
    std::vector<bool> here(analyses, true);
    if (role == SidecarRole::SameJob) here.back() = false;  // it begins in the simulation
    here_ = here;
    left_ = role != SidecarRole::SameJob;
    for (int r = 0; r < ranks; ++r) policies_.emplace_back(role, here);
    rows_.resize(analyses);
    dropped_.resize(analyses);
  }

  /// Until the work is over; throws Died or Refused.
  SidecarEnding work() {
    if (role_ != SidecarRole::SameJob) apply(JoinRequested{});
    apply(Joined{});
    while (!policies_[0].ending()) {
      message_ = nullptr;
      acknowledged_ = false;
      apply(next());
      if (message_ != nullptr) {
        require(acknowledged_, "a message was not acknowledged");
        require(message_->kind != Kind::Publication || expected_.empty(),
                "an analysis that was due was forgotten");
      }
    }
    require(role_ == SidecarRole::SameJob || left_, "the slot is still held");
    require(role_ == SidecarRole::SameJob || policies_[0].ending() == SidecarEnding::Left ||
                lasting_.reports > 0,
            "a run has no report");
    return *policies_[0].ending();
  }

  int64_t events = 0, passed = 0;
  std::map<size_t, int64_t> taken{};

 private:
  bool one_in(uint64_t n) { return random_() % n == 0; }

  /// Each rank finishes by itself what no analysis needs, as far as it comes before a death.
  void pass() {
    for (size_t r = 0; r < policies_.size(); ++r) {
      auto& slot = lasting_.slots[r];
      for (; slot.done < lasting_.messages.size(); ++slot.done) {
        const auto& message = lasting_.messages[slot.done];
        if (message.kind != Kind::Publication) break;
        const auto sequence = static_cast<int64_t>(slot.done) + 1;
        if (!policies_[r].passes(sequence, message.due)) break;
        for (const size_t a : message.due)
          require(failed_.contains(a) || lasting_.disabled.contains(a), "what is needed is passed");
        if (may_die_ && one_in(80)) throw Died{};
        ++passed;
        for (const auto& action : policies_[r].pass(message.due)) {
          if (std::holds_alternative<ShowEnded>(action)) show_ended(r);
          else require(std::holds_alternative<Acknowledge>(action), "a rank alone does more");
        }
      }
    }
    for (const auto& slot : lasting_.slots)
      require(slot.done == lasting_.done(), "ranks agree on different messages");
  }

  void show_ended(size_t r) {
    auto& slot = lasting_.slots[r];
    for (size_t a = 0; a < rows_.size(); ++a)
      slot.ended[(slot.done + 1) % 2][a] = policies_[r].counts(a).ended;
  }

  AgreedSidecarEvent next() {
    pass();
    // Each rank sees the message, or that there is none, in its own way.
    const size_t at = lasting_.done();
    const bool is_there = at < lasting_.messages.size();
    const bool leaves = role_ != SidecarRole::SameJob && one_in(60);
    // Asked to leave while the simulation dies, they work on, and leave later or never.
    const bool dies = !lasting_.simulation_lives && role_ == SidecarRole::SeparateJob && one_in(60);
    const size_t who = random_() % policies_.size();
    MessageStatus all;
    for (size_t r = 0; r < policies_.size(); ++r) {
      if (dies && r == who) policies_[r].on(LocalSidecarEvent(SimulationDied{}));
      if (leaves && r == who) policies_[r].on(LocalSidecarEvent(LeaveRequested{}));
      else if (!is_there) policies_[r].on(LocalSidecarEvent(SourceEnded{}));
      else
        policies_[r].on(LocalSidecarEvent(MessageArrived{lasting_.messages[at].ranks[r].dropped,
                                                         lasting_.messages[at].ranks[r].unusable}));
      const auto mine = policies_[r].take_status();
      all.no_message |= mine.no_message;
      all.leave_requested |= mine.leave_requested;
      all.gone |= mine.gone;
      all.dropped |= mine.dropped;
      all.unusable.insert(mine.unusable.begin(), mine.unusable.end());
    }
    if (all.no_message) return NoMessageAgreed{all.leave_requested, false, all.gone};
    message_ = &lasting_.messages[at];
    lasting_.begun = std::max(lasting_.begun, at + 1);
    require(!lasting_.interrupted.contains(at), "an interrupted message is read again");
    all_ = all;
    switch (message_->kind) {
      case Kind::Publication:
        expected_.clear();
        for (const size_t a : message_->due)
          if (policies_[0].is_enabled(a) && (all.dropped || here_[a])) expected_.insert(a);
        return PublicationAgreed{all, message_->due};
      case Kind::Checkpoint: return CheckpointAgreed{};
      case Kind::Migration: return MigrationAgreed{message_->due, message_->to_sidecars};
      case Kind::End: break;
    }
    return EndAgreed{};
  }

  void apply(const AgreedSidecarEvent& event) {
    std::vector<SidecarAction> first;
    for (size_t r = 0; r < policies_.size(); ++r) {
      ++events;
      auto actions = policies_[r].on(event);
      require(r == 0 || kinds(actions) == kinds(first), "ranks take other actions");
      if (r == 0) first = std::move(actions);
    }
    for (const auto& action : first) {
      if (may_die_ && one_in(80)) throw Died{};
      ++taken[action.index()];
      require(
          !left_ || std::holds_alternative<Claim>(action) || std::holds_alternative<Refuse>(action),
          "an action without a slot");
      require(!acknowledged_ || message_ == nullptr || message_->kind == Kind::End,
              "an action on memory that was given back");
      if (const auto next = std::visit([&](const auto& a) { return act(a); }, action)) apply(*next);
    }
  }

  static std::string kinds(const std::vector<SidecarAction>& actions) {
    std::string text;
    for (const auto& action : actions) {
      text += std::to_string(action.index());
      if (const auto* a = std::get_if<Analyse>(&action)) text += ":" + std::to_string(a->analysis);
      if (const auto* d = std::get_if<CountDropped>(&action))
        for (const size_t a : d->analyses) text += ":" + std::to_string(a);
      text += ";";
    }
    return text;
  }

  using Event = std::optional<AgreedSidecarEvent>;

  void only(SidecarRole role, const char* what) { require(role_ == role, what); }

  Event act(const Claim& claim) {
    left_ = false;
    require(claim.slot <= attached_slots, "there is no such slot");
    require((claim.slot == 0) == (role_ == SidecarRole::SeparateJob), "the slot of another role");
    return ClaimAgreed{!one_in(6), lasting_.run_ended};
  }
  Event act(const Refuse& refuse) { throw Refused{refuse.why}; }
  Event act(const ReadPredecessor&) {
    PredecessorRead read{.done = static_cast<int64_t>(lasting_.done()),
                         .begun = static_cast<int64_t>(lasting_.begun)};
    for (size_t a = 0; a < rows_.size(); ++a) {
      read.ended.push_back(0);
      for (const auto& slot : lasting_.slots)
        read.ended[a] = std::max(read.ended[a], slot.ended[lasting_.done() % 2][a]);
      auto& saved = read.saved.emplace_back();
      if (lasting_.saved) saved = lasting_.saved->counts[a];
    }
    read.disabled = lasting_.disabled;
    return read;
  }
  Event act(const RestoreStages&) {
    if (!lasting_.saved) return {};
    rows_ = lasting_.saved->rows;
    dropped_ = lasting_.saved->dropped;
    return {};
  }
  Event act(const ReadInterrupted& read) {
    const auto i = static_cast<size_t>(read.index);
    require(i >= lasting_.done() && i < lasting_.begun, "a message that no job began");
    const auto& message = lasting_.messages[i];
    if (message.kind == Kind::Publication) lasting_.interrupted.insert(i);
    return InterruptedRead{message.kind == Kind::Publication, message.due};
  }
  Event act(const StartAt& start) {
    require(start.index - start.interrupted == static_cast<int64_t>(lasting_.done()),
            "messages were left out uncounted");
    const auto to = static_cast<size_t>(start.index);
    for (size_t r = 0; r < policies_.size(); ++r) {
      auto& slot = lasting_.slots[r];
      for (size_t a = 0; a < rows_.size(); ++a)
        slot.ended[to % 2][a] = policies_[r].counts(a).ended;
      slot.done = to;
    }
    return {};
  }
  Event act(const RequestAdmission&) {
    only(SidecarRole::AttachedJob, "a job of the run asks for admission");
    return AdmissionAgreed{!one_in(4)};
  }
  Event act(const StartAtNext&) { return {}; }

  Event act(const Receive&) { return {}; }
  Event act(const Analyse& analyse) {
    const size_t a = analyse.analysis;
    require(expected_.erase(a) == 1, "an analysis works on what is not for it");
    require(!all_.dropped && !all_.unusable.contains(a), "an analysis works on missing data");
    rows_[a].insert(lasting_.done());
    if (!one_in(300)) return {};
    failed_.insert(a);
    return AnalysisFailed{a};
  }
  Event act(const CountDropped& dropped) {
    require(dropped.whole == all_.dropped, "a dropped publication looks whole");
    for (const size_t a : dropped.analyses) {
      require(expected_.erase(a) == 1, "a publication is counted twice");
      ++dropped_[a];
    }
    return {};
  }
  Event act(const SaveCheckpoint&) { return {}; }
  Event act(const RestoreMigrated& migrated) {
    require(!here_[migrated.analysis], "an analysis comes that is here");
    if (one_in(8)) {
      failed_.insert(migrated.analysis);
      return AnalysisFailed{migrated.analysis};
    }
    here_[migrated.analysis] = true;
    return MigrationEnded{migrated.analysis, true};
  }
  Event act(const SaveForMigration& migrated) {
    require(here_[migrated.analysis], "an analysis leaves that is not here");
    if (one_in(8)) return {};
    here_[migrated.analysis] = false;
    return MigrationEnded{migrated.analysis, false};
  }
  Event act(const FinishFailed& failed) {
    require(here_[failed.analysis] && failed_.contains(failed.analysis), "a sound analysis ends");
    return {};
  }
  Event act(const FinishAnalyses&) {
    lasting_.written = rows_;
    return {};
  }
  Event act(const ShowEnded&) {
    only(SidecarRole::SeparateJob, "an attached job writes counts of the run");
    for (size_t r = 0; r < policies_.size(); ++r) show_ended(r);
    return {};
  }
  Event act(const AgreeOnSaving&) { return SavingAgreed{one_in(5)}; }
  Event act(const SaveForSuccessors&) {
    only(SidecarRole::SeparateJob, "an attached job saves the state of the run");
    Lasting::State state{{}, dropped_, rows_};
    for (size_t a = 0; a < rows_.size(); ++a) {
      auto& counts = state.counts.emplace_back(policies_[0].counts(a));
      for (const auto& policy : policies_)
        counts.ended = std::max(counts.ended, policy.counts(a).ended);
    }
    lasting_.saved = std::move(state);
    return {};
  }
  Event act(const RemoveSavedState&) {
    require(lasting_.run_ended, "the saved state is removed while a successor may need it");
    lasting_.saved.reset();
    return {};
  }
  Event act(const CountUnread&) {
    for (size_t i = lasting_.done(); i < lasting_.messages.size(); ++i) {
      const auto& message = lasting_.messages[i];
      if (message.kind == Kind::Publication)
        for (const size_t a : message.due) ++unread_[a];
    }
    gives_up_ = true;
    return {};
  }
  Event act(const WriteReport&) {
    ++lasting_.reports;
    lasting_.lost.clear();
    for (size_t a = 0; a < rows_.size(); ++a)
      lasting_.lost.push_back(policies_[0].counts(a).lost + unread_[a]);
    lasting_.dropped = dropped_;
    return {};
  }
  Event act(const ShowRunEnded&) {
    only(SidecarRole::SeparateJob, "an attached job ends the run");
    require(lasting_.reports > 0, "the run ends without a report");
    lasting_.run_ended = true;
    lasting_.given_up = gives_up_;
    return {};
  }
  Event act(const Acknowledge&) {
    require(message_ != nullptr && !acknowledged_, "there is no message to acknowledge");
    acknowledged_ = true;
    const size_t at = lasting_.done();
    lasting_.disabled.insert(failed_.begin(), failed_.end());
    for (auto& slot : lasting_.slots) {
      if (may_die_ && one_in(300)) throw Died{};
      slot.done = at + 1;
    }
    return {};
  }
  Event act(const LeaveSlot&) {
    left_ = true;
    return {};
  }

  std::mt19937_64& random_;
  SidecarRole role_;
  Lasting& lasting_;
  bool may_die_;
  std::vector<SidecarPolicy> policies_;
  std::vector<bool> here_;
  Rows rows_;
  std::vector<int64_t> dropped_;
  std::map<size_t, int64_t> unread_;
  std::set<size_t> failed_;
  const Message* message_ = nullptr;
  MessageStatus all_;
  std::set<size_t> expected_;  ///< analyses that must be run, or counted as dropped
  bool acknowledged_ = false, left_ = true, gives_up_ = false;
};

/// Everything that the simulation publishes in a run, and how it ends.
Lasting make_run(std::mt19937_64& random, SidecarRole role, int ranks) {
  const auto one_in = [&](uint64_t n) { return random() % n == 0; };
  Lasting run;
  const size_t analyses = 1 + random() % 4;
  run.written.resize(analyses);
  run.slots.resize(static_cast<size_t>(ranks));
  for (auto& slot : run.slots)
    for (auto& ended : slot.ended) ended.resize(analyses);
  const size_t steps = random() % 60;
  for (size_t i = 0; i < steps; ++i) {
    Message message;
    message.ranks.resize(static_cast<size_t>(ranks));
    if (one_in(12)) message.kind = Kind::Checkpoint;
    else if (role == SidecarRole::SameJob && one_in(6)) message.kind = Kind::Migration;
    for (size_t a = 0; a < analyses; ++a)
      if (one_in(2)) message.due.push_back(a);
    if (message.kind == Kind::Checkpoint) message.due.clear();
    if (message.kind == Kind::Migration) message.due = {analyses - 1};
    message.to_sidecars = one_in(2);
    for (auto& rank : message.ranks) {
      rank.dropped = one_in(30);
      for (const size_t a : message.due)
        if (one_in(40)) rank.unusable.insert(a);
    }
    run.messages.push_back(std::move(message));
  }
  run.simulation_lives = !one_in(5);
  if (run.simulation_lives) {
    Message end{.kind = Kind::End};
    end.ranks.resize(static_cast<size_t>(ranks));
    run.messages.push_back(std::move(end));
  }
  return run;
}

void check_counts(const Lasting& run) {
  // Sidecars may have died between the last word and the last acknowledgement.
  require(run.given_up || run.done() + (run.run_ended ? 1 : 0) >= run.messages.size(),
          "not every message was finished");
  require(run.reports > 0, "the run has no report");
  for (size_t a = 0; a < run.written.size(); ++a) {
    if (run.disabled.contains(a)) continue;
    int64_t due = 0;
    for (const auto& message : run.messages)
      if (message.kind == Kind::Publication)
        due += std::count(message.due.begin(), message.due.end(), a);
    const auto rows = static_cast<int64_t>(run.written[a].size());
    require(rows + run.lost[a] + run.dropped[a] == due,
            std::to_string(due) + " publications, but " + std::to_string(rows) + " rows, " +
                std::to_string(run.lost[a]) + " lost, " + std::to_string(run.dropped[a]) +
                " dropped");
  }
}

}  // namespace

TEST_CASE("a walk of sidecar jobs that come, die and leave loses nothing uncounted") {
  const char* given = std::getenv("PILLION_WALK_EVENTS");
  const int64_t most = given != nullptr ? std::atoll(given) / 4 : 250000;
  int64_t events = 0, deaths = 0, passed = 0;
  std::map<size_t, int64_t> taken;
  for (uint64_t seed = 1; events < most; ++seed) {
    std::mt19937_64 random(seed);
    constexpr SidecarRole roles[] = {SidecarRole::SeparateJob, SidecarRole::SameJob,
                                     SidecarRole::AttachedJob};
    const auto role = roles[seed % 5 < 3 ? 0 : seed % 5 - 2];
    const int ranks = 1 + static_cast<int>(random() % 4);
    auto run = make_run(random, role, ranks);
    try {
      for (int jobs = 0;; ++jobs) {
        Job job(random, role, ranks, run, role == SidecarRole::SeparateJob && jobs < 20);
        bool over = role != SidecarRole::SeparateJob;
        try {
          over = job.work() != SidecarEnding::Left || over;
        } catch (const Died&) {
          ++deaths;
        } catch (const Refused& refused) {
          require((refused.why == Refusal::RunEnded) == run.run_ended ||
                      refused.why == Refusal::HasSidecars,
                  "a job was refused for a wrong reason");
          over = over || refused.why == Refusal::RunEnded;
        }
        events += job.events;
        passed += job.passed;
        for (const auto& [kind, times] : job.taken) taken[kind] += times;
        if (over) break;
      }
      if (role == SidecarRole::SeparateJob) check_counts(run);
    } catch (const Broken& broken) {
      FAIL("seed " << seed << ", " << ranks << " sidecars, role " << static_cast<int>(role) << ": "
                   << broken.what);
    }
  }
  MESSAGE(events, " events, ", deaths, " deaths, ", passed, " publications passed");
  CHECK(passed > 0);
  // Or the walk would show nothing of them.
  for (size_t kind = 0; kind < std::variant_size_v<SidecarAction>; ++kind) {
    CAPTURE(kind);
    CHECK(taken[kind] > 0);
  }
}
