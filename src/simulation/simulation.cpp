// SPDX-License-Identifier: BSD-3-Clause
// Steps, as a simulation rank lives them. Checkpoints and the end are in checkpoint_and_close.cpp,
// attached jobs in attached_analyses.cpp, scalars in scalars.cpp.
#include "simulation/simulation.hpp"

#include <algorithm>
#include <array>

#include "base/default_environment.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "comm/progress_thread.hpp"
#include "run/attached_job.hpp"
#include "run/summary.hpp"

namespace pillion::simulation {

namespace {

policy::Settings settings_of(const model::SidecarSpec& spec, bool has_sidecars) {
  return {.when_full = spec.when_full,
          .deadline = spec.deadline,
          .has_sidecars = has_sidecars,
          .separate_job = spec.job == model::Job::Separate,
          .restarts_sidecars = spec.restart > 0,
          .attached_share = spec.attached.time};
}

std::vector<policy::AnalysisTraits> traits_of(const model::Configuration& configuration,
                                              const run::Chains& migrating,
                                              const run::CutFields& cut_fields) {
  std::vector<policy::AnalysisTraits> out;
  for (size_t a = 0; a < configuration.analyses.size(); ++a)
    out.push_back({.in_sidecars = configuration.analyses[a].in_sidecars(),
                   .needs_whole = !cut_fields[a].whole_for.empty(),
                   .may_migrate = a < migrating.size() && migrating[a] != nullptr});
  return out;
}

}  // namespace

Simulation::Simulation(run::Run& run, Parts parts, Link link, run::Supervisor supervisor)
    : run_(run),
      link_(std::move(link)),
      cut_fields_(std::move(parts.cut_fields)),
      policy_(settings_of(run.configuration.sidecars, link_.sender != nullptr),
              traits_of(run.configuration, parts.migrating, cut_fields_)),
      data_(run.configuration.catalogue, run.side.rank(), link_.sender.get(), link_.segment.get()),
      agenda_(run.configuration.analyses),
      conditions_(run, run.configuration.analyses.size()),
      agreement_(run.for_agreement),
      meetings_(run),
      stages_(run, std::move(parts.front), cut_fields_, data_.sharing(), agenda_, conditions_),
      subscribers_(run, link_.sender.get(), std::move(supervisor), policy_),
      scalars_(run) {
  for (const auto& analysis : run.configuration.analyses) conditions_.add(analysis);
  lists_.reserve(cut_fields_.size());
  agreement_.reserve(cut_fields_.size(), run.scalars.size());
  numbers_.resize(StepNumbers::width(run.scalars.size()));
  if (run.for_conditions)
    for (auto* reduction : conditions_.reductions()) meetings_.add(*reduction);
  if (!link_.sender) return;
  meetings_.add(agreement_.reduction());
  publisher_ = std::make_unique<Publisher>(run, link_, cut_fields_, data_.sharing(), agenda_,
                                           data_.allocations(), subscribers_, policy_);
  if (link_.sender->slots() != nullptr) agreement_.watch();
  const auto& migrating = parts.migrating;
  if (std::none_of(migrating.begin(), migrating.end(), [](const auto& chain) { return !!chain; }))
    return;
  migration_ = std::make_unique<Migration>(run, *publisher_, agenda_, policy_,
                                           std::move(parts.migrating), std::move(parts.produced));
  meetings_.add(migration_->reduction());
  stages_.set_migration(migration_.get());
}

bool Simulation::uses(const std::string& field) const {
  const auto& needed = stages_.needed();
  const auto& catalogue = data_.catalogue();
  if (needed.contains(field)) return catalogue.field(field).parts.empty();
  const auto whole = catalogue.assembled_from(field);
  return std::any_of(whole.begin(), whole.end(),
                     [&](const auto& name) { return needed.contains(name); });
}

bool Simulation::set_units(const std::string& name, const std::string& units) {
  if (name == "time") {
    run_.configuration.time_units = units;
  } else {
    if (!run_.configuration.catalogue.set_units(name, units)) return false;
    stages_.set_units(name, units);
  }
  if (publisher_) publisher_->set_units(name, units);
  return true;
}

void Simulation::resume(const run::SavedState& state) {
  for (size_t a = 0; a < run_.configuration.analyses.size(); ++a) {
    const auto saved = state.analyses.find(run_.configuration.analyses[a].name);
    if (saved != state.analyses.end()) agenda_.schedule_state(a) = saved->second.schedule;
  }
  agenda_.resume(state.step, state.time, state.offset);
}

void Simulation::ready() {
  if (refused_) throw *refused_;
  if (ready_) return;
  const Visit visit(meetings_);
  meetings_.come_to(comm::CallKind::Ready, run_.patience);
  try {
    std::set<std::string> needed;
    comm::together(run_.side, [&] {
      needed = stages_.needed();
      scalars_.check(conditions_.scalars());
    });
    data_.check(needed, run_.side);
    if (publisher_) publisher_->share_budget();
    if (publisher_) publisher_->check_receive_limit();
  } catch (const Error& e) {
    refused_ = e;
    if (run_.side.rank() == 0) run_.log.failure("{}", e.what());
    throw;
  }
  ready_ = true;
  if (run_.configuration.sidecars.when_full != model::WhenFull::Coarsen) return;
  contain(nothing, [&] {
    for (size_t a = 0; a < policy_.own_analyses(); ++a)
      if (!cut_fields_[a].whole_for.empty())
        run_.warn(
            fmt::format("analysis '{}' skips publications where others are coarsened, for its "
                        "stage '{}' cannot use coarse ones",
                        run_.configuration.analyses[a].name, cut_fields_[a].whole_for));
  });
}

bool Simulation::is_due(int64_t step, double time) const {
  if (agenda_.idle(step, time)) return false;
  const base::DefaultEnvironment environment;
  const auto numbered = agenda_.number(step, time);
  if (numbered.known) return false;
  for (size_t a = 0; a < policy_.analyses(); ++a)
    if (agenda_.is_scheduled(a, numbered.step, time) &&
        conditions_.may_hold(a, numbered.step, time) && policy_.may_cost(a, steps_))
      return true;
  return false;
}

void Simulation::StepLists::clear() {
  for (auto* list :
       {&scheduled, &over_share, &due, &checked, &unchecked, &for_sidecars, &measured, &dropped})
    list->clear();
}

void Simulation::StepLists::reserve(size_t analyses) {
  for (auto* list :
       {&scheduled, &over_share, &due, &checked, &unchecked, &for_sidecars, &measured, &dropped})
    list->reserve(analyses);
  outputs.resize(analyses);
}

void Simulation::note_contained(const std::exception& failure) {
  if (meetings_.have_parted() || std::exchange(contained_, true)) return;
  try {
    const auto message = fmt::format(
        "rank {}: step {} failed inside Pillion: {}; the program continues, but the "
        "analyses that were due are incomplete",
        run_.side.rank(), agenda_.last_step(), failure.what());
    if (run_.side.rank() == 0) run_.warn(message);
    else run_.log.warn("{}", message);
  } catch (const std::bad_alloc&) {
    contained_ = false;  // the next time, then
  }
}

// Failures are contained, but for this one: the program makes the mistake, and can mend it.
void Simulation::busy_step(int64_t step, double time) {
  const base::DefaultEnvironment environment;
  ready();
  const Visit visit(meetings_);
  meetings_.begin_step(step, time);
  offer(step, time);
  if (meetings_.have_parted()) throw *meetings_.why_parted();
}

void Simulation::offer(int64_t step, double time) {
  const auto numbered = agenda_.number(step, time);
  if (numbered.known) {
    ++known_steps_;
    return;
  }
  // A job that attaches now is served from the next step on: the program knows what is due at this
  // one, and has prepared that. The same holds for jobs that may cost something again.
  auto& scheduled = lists_.scheduled;
  auto& over_share = lists_.over_share;
  lists_.clear();
  for (size_t a = 0; a < policy_.analyses(); ++a)
    if (agenda_.is_scheduled(a, numbered.step, time))
      (policy_.may_cost(a, steps_) ? scheduled : over_share).push_back(a);
  if (numbered.begins_segment || numbered.turns_back)
    contain(nothing, [&] {
      constexpr int64_t most = 10;
      if (++segments_ <= most)
        run_.remark(agenda_.explain(numbered, step, time) +
                    (segments_ == most ? " (later changes are not reported)" : ""));
    });
  if (agreement_.is_due(steps_)) {
    contain_decision([&] { hear(); });
    agree();
    contain(nothing, [&] { tell(); });
  }
  if (steps_ == 0) {
    first_offer_ = base::monotonic_seconds();
    first_step_ = numbered.step;
  }
  agenda_.offer(step, time);
  run_.mark.set(numbered.step, time);
  ++steps_;
  contain(scheduled, [&] {
    for (const size_t a : over_share) carry_out(policy_.on(policy::AnalysisPassed{a}));
    leave_out(over_share);
    check(numbered.step, time);
    if (!lists_.due.empty()) work(numbered.step, time);
  });
}

policy::AttachedCost Simulation::attached_cost() const {
  const double running = first_offer_ > 0 ? base::monotonic_seconds() - first_offer_ : 0;
  return {attached_seconds_, running, steps_};
}

double Simulation::published_for_attached() const {
  double seconds = publisher_ ? publisher_->stall_for_attached() : 0;
  for (size_t a = policy_.own_analyses(); a < run_.accounts.size(); ++a)
    seconds += run_.accounts[a].copy_seconds + run_.accounts[a].stall_seconds;
  return seconds;
}

// What the check before has cost is known when it is settled, before another one starts. A wait for
// ranks that have not come to a check which only attached jobs wanted is theirs, too.
void Simulation::check(int64_t step, double time) {
  auto& checked = lists_.checked;
  const auto is_checked = [&](size_t a) { return run_.enabled(a) && conditions_.is_checked(a); };
  if (std::any_of(lists_.scheduled.begin(), lists_.scheduled.end(), is_checked)) {
    const run::Stopwatch watch;
    const auto cost = conditions_.settle(agenda_);
    if (conditions_.was_for_attached()) attached_seconds_ += watch.seconds();
    if (cost) {
      contain(nothing, [&] { scalars_.report(conditions_.difference()); });
      carry_out(policy_.on(*cost));
    }
  }
  for (const size_t a : lists_.scheduled) {
    if (!run_.enabled(a)) continue;
    bool& holds = agenda_.schedule_state(a).fired;
    if (!conditions_.is_checked(a)) holds = conditions_.may_hold(a, step, time);
    else if (policy_.may_cost(a, steps_)) checked.push_back(a);
    else lists_.unchecked.push_back(a);
    if (holds) lists_.due.push_back(a);
    else carry_out(policy_.on(policy::AnalysisPassed{a}));
  }
  leave_out(lists_.unchecked);
  if (checked.empty()) return;
  auto cost = attached_cost();
  conditions_.start(checked, data_.sharing(), step, time, cost);
  attached_seconds_ = cost.seconds;
}

// An analysis that has a condition on values may not have been due, so its publication does not
// count as skipped. Its last check is too old to be used again.
void Simulation::leave_out(const std::vector<size_t>& analyses, bool were_due) {
  for (const size_t a : analyses) {
    if (!run_.enabled(a)) continue;
    ++run_.accounts[a].thinned;
    auto& state = agenda_.schedule_state(a);
    if (conditions_.is_checked(a)) state.fired = false;
    if (were_due || !conditions_.is_checked(a)) ++run_.accounts[a].skipped;
    if (std::exchange(said_over_share_, true)) continue;
    contain(nothing, [&] {
      const auto& spec = run_.configuration.sidecars;
      run_.remark(fmt::format(
          "attached jobs ask for more than their share of {:.4g} % of the simulation's time or of "
          "{} for their publications, so some are left out. Raise 'sidecars: {{attached: {{time: "
          "…, memory: …}}}}', or lower what analysis '{}' asks for",
          100 * spec.attached.time, base::format_bytes(spec.attached_memory()),
          run_.configuration.analyses[a].name));
    });
  }
}

// The other ranks run the same stages, whatever fails here.
void Simulation::work(int64_t step, double time) {
  const auto& due = lists_.due;
  if (data_.sharing().has_faults())
    contain(nothing, [&] {
      for (const auto& text : data_.sharing().take_other_faults(stages_.needed()))
        run_.log.warn("rank {}: {}", run_.side.rank(), text);
    });
  ++published_;
  begin_call();
  const bool may_migrate = migration_ && std::any_of(due.begin(), due.end(), [&](size_t a) {
                             return run_.configuration.analyses[a].is_movable();
                           });
  if (may_migrate) {
    migration_->judge();
    migration_->begin(due);
    carry_out(policy_.on(policy::MigrationDue{due, migration_->should_move(due, false)}));
  }
  for (const size_t a : due) {
    lists_.outputs[a] = {};
    lists_.outputs[a].step = step;
    lists_.outputs[a].time = time;
    contain(std::array{a}, [&] { fail(a, stages_.run_front(a, lists_.outputs[a])); });
  }
  for (const size_t a : due) {
    const bool withheld =
        stages_.withheld(a) || std::count(lists_.dropped.begin(), lists_.dropped.end(), a) != 0;
    if (!withheld) lists_.measured.push_back(a);
    if (!run_.enabled(a) || !run_.configuration.analyses[a].in_sidecars()) continue;
    if (withheld) carry_out(policy_.on(policy::AnalysisPassed{a}));
    else if (policy_.is_in_sidecars(a)) lists_.for_sidecars.push_back(a);
    else contain(std::array{a}, [&] { fail(a, stages_.run_behind(a, lists_.outputs[a])); });
  }
  if (!lists_.for_sidecars.empty()) publish(step, time);
  for (const size_t a : due) lists_.outputs[a] = {};
  if (migration_) contain(nothing, [&] { migration_->hear_load(); });
  if (may_migrate) {
    carry_out(policy_.on(policy::PublicationDone{due, migration_->should_move(due, true)}));
    migration_->measure(lists_.measured);
  }
  tell();
}

// Whatever fails here, the other ranks wait for this one at the next agreement. Where only attached
// jobs want the publication, all of it is theirs to pay.
void Simulation::publish(int64_t step, double time) {
  const auto& due = lists_.for_sidecars;
  const run::Stopwatch watch;
  const double before = published_for_attached();
  const bool only_attached =
      std::all_of(due.begin(), due.end(), [&](size_t a) { return a >= policy_.own_analyses(); });
  contain_decision([&] {
    hear();
    policy::PublicationReady ready{due, 0};
    if (const auto next = policy_.waiting())
      ready.steps_until_waiting = agenda_.steps_until_due(*next, time);
    bool is_published = false, is_skipped = false;
    const policy::Overloaded act{
        [&](const policy::Publish& publication) {
          is_published = true;
          contain(nothing, [&] {
            const auto& kept = data_.allocations().kept();
            const size_t before = kept.shared;
            for (const auto& text : data_.constants().prepare(publication.analyses, cut_fields_))
              run_.log.warn("rank {}: {}", run_.side.rank(), text);
            publisher_->lower_need(kept.shared - std::min(kept.shared, before));
          });
          publisher_->publish(publication, lists_.outputs, step, time);
        },
        [&](const policy::Skip& skip) {
          if (skip.over_share) return leave_out(skip.analyses, true);
          is_skipped = true;
          for (const size_t a : skip.analyses) ++run_.accounts[a].skipped;
        },
        [&](const auto& other) { carry_out({other}); }};
    for (const auto& action : policy_.on(std::move(ready))) std::visit(act, action);
    skipped_ += is_skipped && !is_published ? 1 : 0;
  });
  agree();
  attached_seconds_ += only_attached ? watch.seconds() : published_for_attached() - before;
}

// The agreement before is settled whatever fails here: the next is started after it.
void Simulation::hear() {
  auto all = agreement_.settle();
  contain_decision([&] {
    publisher_->poll();
    subscribers_.tend();
  });
  if (!all) return;
  contain(nothing, [&] {
    scalars_.report(StepNumbers::difference(agreement_.numbers(), run_.configuration.catalogue));
  });
  publisher_->catch_up(all->messages, agenda_.last_step(), agenda_.last_time());
  carry_out(policy_.on(policy::AgreementReady{std::move(*all)}));
}

void Simulation::agree() {
  policy::RankStatus mine;
  contain(nothing, [&] {
    publisher_->poll();
    subscribers_.see();
    mine = policy_.status(*publisher_);
    const auto cost = attached_cost();
    mine.attached_seconds = cost.seconds;
    mine.running = cost.running;
    mine.messages = publisher_->tell_messages();
  });
  StepNumbers::put(run_.side.rank() == 0, agenda_.last_step(), agenda_.last_time(), run_.scalars,
                   numbers_);
  agreement_.start(mine, policy_.analyses(), steps_, numbers_);
}

void Simulation::carry_out(const std::vector<policy::CollectiveAction>& actions) {
  const int64_t step = agenda_.last_step();
  const auto moved = [&](const policy::AgreedEvent& result) {
    carry_out(policy_.on(result));
    const auto* done = std::get_if<policy::Moved>(&result);
    if (done == nullptr || !done->to_sidecars) return;
    // The ranks' last statement of the room in the sidecars may be old.
    contain_decision([&] { hear(); });
    agree();
  };
  const policy::Overloaded act{
      [&](const policy::Disable& end) { disable(end); },
      [&](const policy::LearnFailure&) { subscribers_.learn_failure(); },
      [&](const policy::Admit& slot) { admit(slot.slot); },
      [&](const policy::Release& gone) { release(gone); },
      [&](const policy::MoveToSidecars& move) {
        moved(migration_->move_to_sidecars(move.analysis, step));
      },
      [&](const policy::Recall& recall) { moved(migration_->recall(recall.analysis)); },
      [&](const policy::TakeBack& back) {
        try {
          if (run_.enabled(back.analysis)) moved(migration_->take_back(back.analysis, step));
        } catch (const Error& e) {
          fail(back.analysis, run::Failure{e});
        }
      },
      // Publications, checkpoints and the end of the run carry these out.
      policy::Elsewhere<void, policy::Publish, policy::Skip, policy::SettleAll, policy::SaveStages,
                        policy::SendCheckpoint, policy::FinishCheckpoint, policy::FinishStages,
                        policy::SendEnd, policy::CloseChannel, policy::AwaitSidecars,
                        policy::DropUnseen, policy::CountUnfinished, policy::Retire,
                        policy::EndJobAtFinalize, policy::LeaveSidecars>{}};
  for (const auto& action : actions) std::visit(act, action);
}

void Simulation::disable(const policy::Disable& action) {
  const size_t a = action.analysis;
  if (!run_.enabled(a)) return;
  const bool ended = subscribers_.have_failed();
  switch (action.cause) {
    case policy::Cause::Left:
      run_.disabled[a] = fmt::format("its attached job left after step {}", agenda_.last_step());
      return;
    case policy::Cause::Evicted: return note_evicted(a, action.slot);
    case policy::Cause::SidecarsEnded:  // its stages in the simulation have finished
      run_.disabled[a] = subscribers_.why_failed();
      return;
    case policy::Cause::Failed:
      run_.disabled[a] = ended ? subscribers_.why_failed()
                               : "it was disabled in the sidecars, or after a failure on a "
                                 "simulation rank";
      stages_.finish(a);
  }
}

void Simulation::fail(size_t a, const std::optional<run::Failure>& failure) {
  if (!failure) return;
  if (failure->consequence != run::Consequence::Disable)
    return contain(nothing, [&] {
      lists_.dropped.push_back(a);
      const auto counter = run_.configuration.analyses[a].in_sidecars()
                               ? &run::CostCounters::withdrawn
                               : &run::CostCounters::dropped;
      const int64_t step = lists_.outputs[a].step;
      if (failure->consequence == run::Consequence::Drop)
        run_.drop(a, step, failure->error, counter);
      else run_.lose(a, step, failure->error, failure->in_row, counter);
    });
  contain(nothing, [&] { run_.disable(a, failure->error); });
  carry_out(policy_.on(policy::AnalysisFailed{a}));
  stages_.finish(a);
}

void Simulation::begin_call() {
  (void)policy_.on(policy::LocalEvent(policy::CallBegins{base::monotonic_seconds()}));
}

void Simulation::tell() {
  run_.tell([&](run::Snapshot& snapshot) {
    const auto counts = step_counts();
    snapshot.publications = counts.publications;
    snapshot.skipped = counts.skipped;
    snapshot.restarts = subscribers_.restarts();
    if (publisher_) publisher_->describe(snapshot);
  });
}

run::StepCounts Simulation::step_counts() const {
  const auto& earlier = run_.earlier.steps;
  return {.first_step = earlier.steps > 0 ? earlier.first_step : first_step_,
          .steps = earlier.steps + steps_,
          .publications = earlier.publications + published_,
          .skipped = earlier.skipped + skipped_};
}

run::Outcome Simulation::outcome() const {
  run::Outcome out{.started = run_.started,
                   .counts = step_counts(),
                   .last_step = agenda_.last_step(),
                   .restarts = subscribers_.restarts(),
                   .time = agenda_.last_time(),
                   .thread_level = comm::thread_level(),
                   .is_provisional = is_provisional_};
  if (publisher_) publisher_->describe(out);
  return out;
}

Progress Simulation::progress() const {
  Progress progress;
  progress.step = agenda_.last_step() - agenda_.offset();
  progress.time = agenda_.last_time();
  const double seconds = steps_ > 0 ? base::monotonic_seconds() - first_offer_ : 0;
  if (seconds > 0) progress.steps_per_second = static_cast<double>(steps_ - 1) / seconds;
  progress.publications = published_;
  progress.skipped = skipped_;
  if (publisher_) progress.behind = publisher_->sender().behind();
  if (publisher_) progress.stall_seconds = publisher_->stall_seconds();
  for (const auto& why : run_.disabled) progress.disabled += why.empty() ? 0 : 1;
  return progress;
}

}  // namespace pillion::simulation
