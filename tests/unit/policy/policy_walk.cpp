// SPDX-License-Identifier: BSD-3-Clause
// How the world of the walk goes on.
#include "policy_walk.hpp"

#include <algorithm>
#include <cmath>

namespace walk {

using pillion::model::WhenFull;

namespace {

void require(bool holds, const std::string& what) {
  if (!holds) throw Broken{what};
}

template <class T>
const T* get(const CollectiveAction& action) {
  return std::get_if<T>(&action);
}

constexpr int64_t most_analyses = 3;  // of an attached job
constexpr int64_t largest_attached = 3;

std::string name_of(const CollectiveAction& action) {
  std::string name = std::to_string(action.index());
  const auto add = [&](const std::vector<size_t>& list) {
    for (const size_t a : list) name += " " + std::to_string(a);
  };
  if (const auto* p = get<Publish>(action))
    add(p->analyses), name += "@" + std::to_string(p->level);
  if (const auto* s = get<Skip>(action)) add(s->analyses);
  if (const auto* d = get<Disable>(action)) add({d->analysis});
  if (const auto* s = get<Admit>(action)) name += " " + std::to_string(s->slot);
  if (const auto* s = get<Release>(action)) name += " " + std::to_string(s->slot);
  if (const auto* m = get<MoveToSidecars>(action)) add({m->analysis});
  if (const auto* m = get<Recall>(action)) add({m->analysis});
  if (const auto* m = get<TakeBack>(action)) add({m->analysis});
  return name;
}

std::string names_of(const std::vector<CollectiveAction>& actions) {
  std::string names;
  for (const auto& action : actions) names += name_of(action) + "; ";
  return names;
}

}  // namespace

int64_t Memory::used(bool spilled) const {
  int64_t bytes = 0;
  for (const auto& message : queue)
    if (message.is_spilled == spilled) bytes += message.bytes;
  return bytes;
}

World::World(uint64_t seed, const Shape& shape) : random_(seed), shape_(shape) {
  const auto ranks = static_cast<size_t>(shape.ranks);
  for (size_t r = 0; r < ranks; ++r) {
    policies_.emplace_back(shape.settings, shape.traits);
    memories_.emplace_back();
  }
  last_bytes_.resize(ranks);
  largest_.resize(ranks);
  knows_sidecars_failed_.resize(ranks);
  for (const auto& traits : shape.traits) {
    auto& analysis = analyses_.emplace_back();
    analysis.every = 1 + below(8);
    analysis.may_migrate = traits.may_migrate;
    for (size_t r = 0; r < ranks; ++r) analysis.bytes.push_back(1 + below(20));
  }
  // Whatever is due at once fits, on each rank, and often little more.
  const bool is_tight = one_in(2);
  for (size_t r = 0; r < ranks; ++r) {
    int64_t own = 0;
    for (const auto& analysis : analyses_) own += analysis.bytes[r];
    const int64_t needed = own + largest_attached * attached_slots * most_analyses;
    memories_[r].capacity = needed + needed / 4 + below(is_tight ? 10 : 200);
    memories_[r].spill = below(3) * 200;
  }
  for (auto& job : jobs_) job.seen.assign(ranks, Job::State::Absent);
}

World::Actions World::agreed(const AgreedEvent& event) {
  Actions first;
  for (size_t r = 0; r < policies_.size(); ++r) {
    ++events_;
    if (!is_quiet_) trouble_at(r);
    auto actions = policies_[r].on(event);
    if (r == 0) first = std::move(actions);
    else
      require(names_of(actions) == names_of(first),
              "ranks take other actions: " + names_of(first) + "and " + names_of(actions));
  }
  for (const auto& action : first) ++taken_[action.index()];
  return first;
}

std::vector<LocalAction> World::local(size_t rank, const LocalEvent& event) {
  ++events_;
  if (std::holds_alternative<SidecarFailed>(event)) knows_sidecars_failed_[rank] = true;
  auto actions = policies_[rank].on(event);
  for (const auto& action : actions) {
    const auto* wait = std::get_if<Wait>(&action);
    if (wait == nullptr) continue;
    require(!knows_sidecars_failed_[rank], "a rank waits for sidecars that have failed");
    require(shape_.settings.restarts_sidecars || !shape_.settings.separate_job ||
                wait->until == Until::MessageBudget || wait->needs_server,
            "a rank waits for sidecars that are not there and that nobody starts");
  }
  return actions;
}

// What ranks contribute, combined as the reduction combines it.
void World::agree() {
  RankStatus all;
  all.slot_ready.fill(true);
  will_be_full_ = false;
  will_be_plenty_ = true;
  for (size_t r = 0; r < policies_.size(); ++r) {
    if (!is_quiet_) trouble_at(r);
    see_jobs(r);
    const auto mine = policies_[r].status(memories_[r]);
    will_be_plenty_ =
        will_be_plenty_ && memories_[r].queue.empty() && 2 * largest_[r] <= memories_[r].capacity;
    will_be_full_ |= !memories_[r].fits(static_cast<size_t>(last_bytes_[r]));
    all.no_room_for_last |= mine.no_room_for_last;
    all.no_room_for_waiting |= mine.no_room_for_waiting;
    all.no_room_for_both |= mine.no_room_for_both;
    all.dropped |= mine.dropped;
    all.blocked |= mine.blocked;
    all.level = std::max(all.level, mine.level);
    all.sidecars_failed |= mine.sidecars_failed;
    all.disabled.insert(mine.disabled.begin(), mine.disabled.end());
    for (size_t s = 0; s < all.slot_ready.size(); ++s) {
      all.slot_ready[s] = all.slot_ready[s] && mine.slot_ready[s];
      all.slot_lost[s] = all.slot_lost[s] || mine.slot_lost[s];
    }
  }
  require(all.dropped == dropped_, "a publication was dropped, and ranks do not agree on it");
  dropped_ = false;
  require(
      std::includes(all.disabled.begin(), all.disabled.end(), failures_.begin(), failures_.end()),
      "an analysis has failed on a rank, and the others are not told");
  under_way_ = all;
}

void World::meet() {
  if (!under_way_) return;
  const AgreementReady ready{*std::exchange(under_way_, {})};
  was_full_ = will_be_full_;
  was_plenty_ = will_be_plenty_;
  for (const auto& action : agreed(ready)) {
    if (const auto* admission = get<Admit>(action)) admit(admission->slot);
    else if (const auto* departure = get<Release>(action)) release(departure->slot);
    else if (std::holds_alternative<LearnFailure>(action)) learn_failure();
    else require(get<Disable>(action) != nullptr, "an agreement leads to " + name_of(action));
  }
}

void World::learn_failure() {
  require(sidecars_failed_, "ranks learn of a failure that there was not");
  for (size_t r = 0; r < policies_.size(); ++r) (void)local(r, SidecarFailed{});
}

void World::admit(int slot) {
  auto& job = jobs_[static_cast<size_t>(slot)];
  require(policies_[0].slot(slot).phase() == SlotState::Phase::Admitting,
          "a slot is admitted that is taken");
  const bool refused = one_in(6);
  size_t first = 0;
  if (!refused) {
    first = policies_[0].place_for(job.analyses);
    for (size_t number = first; number < first + job.analyses; ++number) {
      if (number == analyses_.size()) analyses_.emplace_back();
      else require(analyses_[number].slot == -2, "two analyses have one number");
      auto& analysis = analyses_[number] = {};
      failures_.erase(static_cast<int32_t>(number));
      analysis.every = 1 + below(8);
      analysis.slot = slot;
      for (size_t r = 0; r < policies_.size(); ++r)
        analysis.bytes.push_back(1 + below(largest_attached));
      for (auto& policy : policies_) policy.set(number, {.in_sidecars = true});
    }
    if (job.state == Job::State::Ready) job.state = Job::State::Active;
  } else if (job.state == Job::State::Ready) {
    // Some are away before anybody sees them leave.
    job.state = one_in(2) ? Job::State::Gone : Job::State::Absent;
  }
  for (auto& seen : job.seen)
    if (seen == Job::State::Ready) seen = refused ? job.state : Job::State::Active;
  (void)agreed(SlotAdmitted{slot, first, refused ? 0 : job.analyses});
}

void World::release(int slot) {
  auto& job = jobs_[static_cast<size_t>(slot)];
  for (size_t a = 0; a < analyses_.size(); ++a)
    if (analyses_[a].slot == slot) {
      analyses_[a].slot = -2;
      require(!policies_[0].is_enabled(a), "an analysis outlives its job");
    }
  if (job.state != Job::State::Gone) return;
  job.state = Job::State::Absent;
}

void World::see_jobs(size_t rank) {
  for (int s = 0; s < attached_slots; ++s) {
    auto& job = jobs_[static_cast<size_t>(s)];
    auto& seen = job.seen[rank];
    // A rank may be late, but not for ever.
    if (is_quiet_ || one_in(2)) seen = job.state;
    if (seen == Job::State::Ready) (void)local(rank, SlotReady{s});
    else if (seen == Job::State::Gone) (void)local(rank, SlotLost{s});
    else (void)local(rank, SlotFreed{s});
  }
}

void World::attach_or_leave() {
  auto& job = jobs_[static_cast<size_t>(below(attached_slots))];
  if (job.state == Job::State::Absent) {
    job.state = Job::State::Ready;
    job.analyses = static_cast<size_t>(1 + below(most_analyses));
  } else if (job.state != Job::State::Gone) {
    job.state = Job::State::Gone;
  }
}

// A message is finished when sidecars are through with it on this rank's channel. The first rank's
// channel also counts what that makes of the analyses.
void World::finish_messages(size_t rank, int64_t most) {
  auto& queue = memories_[rank].queue;
  for (; most > 0 && !queue.empty(); --most) {
    if (rank == 0)
      for (const size_t a : queue.front().analyses) {
        auto& analysis = analyses_[a];
        analysis.rows.insert(queue.front().number);
        ++analysis.ended, ++analysis.counts.ended;
      }
    queue.pop_front();
  }
}

void World::run_sidecars() {
  if (!sidecars_live_ || sidecars_failed_) return;
  for (size_t r = 0; r < memories_.size(); ++r) finish_messages(r, below(3));
  if (!one_in(4)) return;
  for (auto& analysis : analyses_) {
    analysis.saved = analysis.counts;
    analysis.written = analysis.rows;
  }
}

// Those of another job die, and their successors resume from what was saved; what they were working
// on is lost.
void World::kill_sidecars() {
  if (!shape_.settings.separate_job) return;
  if (sidecars_live_) {
    sidecars_live_ = false;
    for (auto& analysis : analyses_) analysis.rows = analysis.written;
    return;
  }
  sidecars_live_ = true;
  for (auto& analysis : analyses_) analysis.counts = take_over(analysis.saved, analysis.ended);
  auto& queue = memories_[0].queue;
  if (queue.empty() || !one_in(2)) return;
  for (const size_t a : queue.front().analyses) {
    ++analyses_[a].ended;
    count_interrupted(analyses_[a].counts);
  }
  queue.pop_front();
}

void World::trouble_at(size_t rank) {
  if (one_in(400) && !shape_.settings.separate_job && shape_.settings.has_sidecars)
    sidecars_failed_ = true;
  if (sidecars_failed_ && one_in(8)) (void)local(rank, SidecarFailed{});
  if (!one_in(2000)) return;
  const auto failed = static_cast<int32_t>(below(static_cast<int64_t>(analyses_.size())));
  (void)local(rank, AnalysesFailed{{failed}});
  failures_.insert(failed);
}

void World::trouble() {
  now_ += 0.01;
  if (one_in(20)) attach_or_leave();
  if (one_in(40)) kill_sidecars();
  run_sidecars();
}

// The rank's own wait, in which sidecars may or may not finish messages.
bool World::wait(size_t rank, const Wait& wait, int64_t bytes) {
  require(std::isfinite(wait.deadline), "a wait without a deadline");
  for (; now_ < wait.deadline; now_ += 1) {
    if (sidecars_live_ && !sidecars_failed_ && one_in(3)) finish_messages(rank, 1);
    if (wait.until == Until::MessageBudget && memories_[rank].fits(static_cast<size_t>(bytes)))
      return true;
    if (wait.until == Until::Answer && memories_[rank].queue.empty()) return true;
    if (wait.needs_server && !sidecars_live_) return false;
    if (sidecars_failed_) {
      (void)local(rank, SidecarFailed{});
      return false;
    }
  }
  return false;
}

bool World::send(size_t rank, const Publish& action) {
  int64_t whole = 0;
  for (const size_t a : action.analyses) whole += analyses_[a].bytes[rank];
  const int64_t bytes = std::max<int64_t>((whole + whole / 4) >> action.level, 1);
  auto& memory = memories_[rank];
  last_bytes_[rank] = whole;
  largest_[rank] = std::max(largest_[rank], whole);
  bool spilled = false, goes = memory.fits(static_cast<size_t>(bytes));
  if (!goes) {
    const auto actions = local(rank, NoRoom{static_cast<size_t>(bytes), now_});
    require(actions.size() == 1, "want of room is answered by other than one action");
    if (const auto* waits = std::get_if<Wait>(&actions[0])) {
      goes = wait(rank, *waits, bytes);
      if (!goes) (void)local(rank, TimedOut{});
    } else if (std::holds_alternative<Spill>(actions[0])) {
      spilled = goes = memory.fits_spill(static_cast<size_t>(bytes));
    }
  }
  (void)local(rank, MessageReady{action.analyses, static_cast<size_t>(whole)});
  if (!goes) {
    dropped_ = true;
    (void)local(rank, Dropped{});
    memory.queue.push_back({0, false, {}, sent_});
    return false;
  }
  memory.queue.push_back({bytes, spilled, {}, sent_});
  return true;
}

void World::publish(const Publish& action) {
  for (const size_t a : action.analyses) {
    require(policies_[0].is_enabled(a), "an analysis is published that has ended");
    require(policies_[0].is_in_sidecars(a), "an analysis is published that runs here");
    require(analyses_[a].slot != -2, "an analysis is published whose job has left");
    require(action.level == 0 || a >= shape_.traits.size() || !shape_.traits[a].needs_whole,
            "a coarse publication goes to an analysis that needs a whole one");
  }
  require(!was_full_ || policies_[0].waiting() || shape_.settings.when_full != WhenFull::Skip,
          "a publication is tried although all know that a rank has no room for it");
  ++sent_;
  bool complete = true;
  for (size_t r = 0; r < policies_.size(); ++r) complete = send(r, action) && complete;
  for (const size_t a : action.analyses) {
    ++(complete ? analyses_[a].published : analyses_[a].dropped);
    analyses_[a].unserved = complete ? 0 : analyses_[a].unserved + 1;
    analyses_[a].is_skipped = false;
    if (complete) analyses_[a].last = sent_;
  }
  if (complete && !memories_[0].queue.empty()) memories_[0].queue.back().analyses = action.analyses;
}

void World::migrate(const Actions& actions) {
  for (const auto& action : actions) {
    if (const auto* move = get<MoveToSidecars>(action))
      analyses_[move->analysis].is_skipped = false;
    if (const auto* back = get<TakeBack>(action)) analyses_[back->analysis].is_skipped = false;
    if (const auto* move = get<MoveToSidecars>(action)) {
      if (one_in(8)) (void)agreed(MoveFailed{move->analysis, one_in(4)});
      else (void)agreed(Moved{move->analysis, true});
    } else if (const auto* recall = get<Recall>(action)) {
      if (one_in(8)) (void)agreed(MoveFailed{recall->analysis, false});
      else (void)agreed(Recalled{recall->analysis}), recalled_.insert(recall->analysis);
    } else if (const auto* back = get<TakeBack>(action)) {
      require(recalled_.erase(back->analysis) == 1, "what was not recalled is taken back");
      if (one_in(8)) (void)agreed(MoveFailed{back->analysis, true});
      else (void)agreed(Moved{back->analysis, false});
    }
  }
}

std::vector<size_t> World::due_now() {
  std::vector<size_t> due;
  ++step_;
  for (size_t a = 0; a < analyses_.size(); ++a) {
    if (step_ % analyses_[a].every != 0 || !policies_[0].is_enabled(a)) continue;
    if (!is_quiet_ && one_in(10)) {
      (void)agreed(AnalysisPassed{a});
      analyses_[a].is_skipped = false;
    } else {
      due.push_back(a);
    }
  }
  return due;
}

// What the driver does at a step at which these are due.
void World::play(const std::vector<size_t>& due) {
  std::set<size_t> should_move;
  for (const size_t a : due)
    if (!is_quiet_ && analyses_[a].may_migrate && one_in(4)) should_move.insert(a);
  meet();
  migrate(agreed(MigrationDue{due, should_move}));
  for (const size_t a : due)
    require(!recalled_.contains(a) || !policies_[0].is_enabled(a),
            "what was recalled is due and not taken back");
  PublicationReady ready;
  for (const size_t a : due) {
    if (!policies_[0].is_enabled(a)) continue;
    if (!is_quiet_ && one_in(300)) {
      (void)agreed(AnalysisFailed{a});
      continue;
    }
    ++analyses_[a].due;
    if (policies_[0].is_in_sidecars(a)) ready.analyses.push_back(a);
    else ++analyses_[a].here;
  }
  if (const auto next = policies_[0].waiting()) {
    check_fairness();
    const int64_t every = analyses_[*next].every;
    ready.steps_until_waiting = every - step_ % every;
  }
  std::set<size_t> told;
  for (const auto& action : agreed(ready)) {
    if (const auto* skip = get<Skip>(action)) {
      require(!was_plenty_, "a publication is skipped although there is plenty of room");
      for (const size_t a : skip->analyses)
        ++analyses_[a].skipped, ++analyses_[a].unserved, told.insert(a),
            analyses_[a].is_skipped = true;
    } else if (const auto* made = get<Publish>(action)) {
      told.insert(made->analyses.begin(), made->analyses.end());
      publish(*made);
    } else {
      require(false, "a publication leads to " + name_of(action));
    }
  }
  require(told == std::set(ready.analyses.begin(), ready.analyses.end()),
          "what was due is neither published nor skipped");
  migrate(agreed(PublicationDone{due, should_move}));
  agree();
}

void World::step() {
  trouble();
  const auto due = due_now();
  if (!due.empty()) return play(due);
  // Ranks agree now and then also where nothing is due.
  if (!one_in(4)) return;
  meet();
  agree();
}

void World::quiet_steps(int64_t steps) {
  is_quiet_ = true;
  const int64_t pace = 1 + below(3);     // steps in which sidecars finish what there is
  if (!sidecars_live_) kill_sidecars();  // successors come
  for (auto& analysis : analyses_) analysis.unserved = 0;
  for (int64_t i = 0; i < steps; ++i) {
    int64_t living = 0;
    for (size_t a = 0; a < analyses_.size(); ++a) living += policies_[0].is_enabled(a) ? 1 : 0;
    if (i % pace == 0)
      for (size_t r = 0; r < memories_.size(); ++r) finish_messages(r, 1000);
    now_ += 0.01;
    const auto due = due_now();
    if (due.empty()) continue;
    play(due);
    for (size_t a = 0; a < analyses_.size(); ++a)
      require(!policies_[0].is_enabled(a) || sidecars_failed_ ||
                  analyses_[a].unserved <= pace * (living + 3),
              "analysis " + std::to_string(a) + " is due again and again and never published");
  }
  check_counts();
  check_slots();
  is_quiet_ = false;
}

// Ranks see what is so and agree on it a few times, as they do also while nothing is due.
void World::check_slots() {
  for (int i = 0; i < 4; ++i) {
    meet();
    agree();
  }
  for (const auto& job : jobs_) {
    require(job.state != Job::State::Gone, "a job has left and keeps its slot");
    require(job.state != Job::State::Ready, "a job waits at a free slot");
  }
}

// Others leave room for the analysis that has been without a publication for longest.
void World::check_fairness() const {
  const auto next = policies_[0].waiting();
  require(policies_[0].is_enabled(*next) && policies_[0].is_in_sidecars(*next),
          "others leave room for an analysis that will not be published");
  for (size_t a = 0; a < analyses_.size(); ++a)
    require(!analyses_[a].is_skipped || !policies_[0].is_enabled(a) ||
                analyses_[a].last >= analyses_[*next].last,
            "others leave room for one analysis while another has waited for longer");
}

void World::check_recalled() const {
  for (const size_t a : recalled_)
    require(!policies_[0].is_enabled(a), "stages are saved or finished while one is on its way");
}

void World::check_counts() {
  for (const auto& a : analyses_) {
    require(
        !sidecars_live_ || a.counts.ended == static_cast<int64_t>(a.rows.size()) + a.counts.lost,
        "losses of dead sidecars are counted wrongly");
    require(a.due == a.published + a.dropped + a.skipped + a.here,
            "a publication is neither made, dropped nor skipped");
  }
}

void World::checkpoint() {
  const auto actions = agreed(CheckpointRequested{});
  bool has_waited = !shape_.settings.has_sidecars;
  for (const auto& action : actions) {
    if (get<SettleAll>(action) != nullptr) meet();
    migrate({action});
    if (get<SaveStages>(action) != nullptr) check_recalled();
    if (get<AwaitSidecars>(action) == nullptr) continue;
    has_waited = true;
    for (size_t r = 0; r < policies_.size(); ++r) {
      const auto waits = local(r, WaitBegins{now_});
      if (!waits.empty()) (void)wait(r, std::get<Wait>(waits[0]), 0);
    }
  }
  require(has_waited && !actions.empty() && get<FinishCheckpoint>(actions.back()) != nullptr,
          "a checkpoint ends without its end");
}

void World::close() {
  bool finished = true;
  Actions actions = agreed(CloseRequested{});
  for (const auto& action : actions) {
    if (get<SettleAll>(action) != nullptr) meet();
    migrate({action});
    if (get<FinishStages>(action) != nullptr) check_recalled();
    if (get<AwaitSidecars>(action) == nullptr) continue;
    for (size_t r = 0; r < policies_.size(); ++r) {
      const auto waits = local(r, WaitBegins{now_});
      finished = !waits.empty() && wait(r, std::get<Wait>(waits[0]), 0) && finished;
    }
  }
  const bool failed = sidecars_failed_;
  if (shape_.settings.has_sidecars) actions = agreed(SidecarsAnswered{finished, failed});
  require(policies_[0].is_closed(), "the session is not closed");
  const auto has = [&]<class T>(const T*) {
    return std::any_of(actions.begin(), actions.end(),
                       [](const auto& a) { return std::holds_alternative<T>(a); });
  };
  if (failed) require(has((EndJobAtFinalize*)nullptr), "failed sidecars keep the job");
  else if (shape_.settings.has_sidecars && !shape_.settings.separate_job && !finished)
    require(has((LeaveSidecars*)nullptr), "late sidecars are not given their time");
  check_counts();
  // Without sidecars, everything that is in no table is counted as lost.
  if (!shape_.settings.separate_job || sidecars_live_) return;
  for (size_t a = 0; a < shape_.traits.size(); ++a) {
    const auto& analysis = analyses_[a];
    int64_t unfinished = 0;
    for (const auto& message : memories_[0].queue)
      unfinished += std::count(message.analyses.begin(), message.analyses.end(), a);
    const int64_t written = static_cast<int64_t>(analysis.written.size());
    const int64_t lost = lost_at_end({analysis.published, unfinished, written, false});
    require(analysis.published == written + lost, "losses are counted wrongly at the end");
  }
}

}  // namespace walk
