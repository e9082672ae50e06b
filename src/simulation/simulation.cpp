// SPDX-License-Identifier: BSD-3-Clause
// Steps, checkpoints and the end, as a simulation rank lives them.
#include "simulation/simulation.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "comm/progress_thread.hpp"
#include "products/whole_file.hpp"
#include "run/attached_job.hpp"
#include "run/report.hpp"

namespace pillion::simulation {

using transport::MessageKind;

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
      agreement_(run.side),
      stages_(run, std::move(parts.front), cut_fields_, data_.sharing(), agenda_, conditions_),
      subscribers_(run, link_.sender.get(), std::move(supervisor), policy_) {
  for (const auto& analysis : run.configuration.analyses) conditions_.add(analysis);
  if (!link_.sender) return;
  publisher_ = std::make_unique<Publisher>(run, link_, cut_fields_, data_.sharing(), agenda_,
                                           data_.allocations(), subscribers_, policy_);
  if (link_.sender->slots() != nullptr) agreement_.watch();
  const auto& migrating = parts.migrating;
  if (std::none_of(migrating.begin(), migrating.end(), [](const auto& chain) { return !!chain; }))
    return;
  migration_ = std::make_unique<Migration>(run, *publisher_, agenda_, policy_,
                                           std::move(parts.migrating), std::move(parts.produced));
  stages_.set_migration(migration_.get());
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
  try {
    data_.sharing().check(stages_.needed(), run_.side);
    comm::together(run_.side, [&] {
      if (publisher_) publisher_->check_budget();
    });
    if (publisher_) publisher_->check_receive_limit();
  } catch (const Error& e) {
    refused_ = e;
    if (run_.side.rank() == 0) run_.log.failure("{}", e.what());
    throw;
  }
  ready_ = true;
  if (run_.configuration.sidecars.when_full != model::WhenFull::Coarsen) return;
  for (size_t a = 0; a < policy_.own_analyses(); ++a)
    if (!cut_fields_[a].whole_for.empty())
      run_.warn(
          fmt::format("analysis '{}' skips publications where others are coarsened, for its "
                      "stage '{}' cannot use coarse ones",
                      run_.configuration.analyses[a].name, cut_fields_[a].whole_for));
}

bool Simulation::is_due(int64_t step, double time) const {
  if (agenda_.idle(step, time)) return false;
  const auto numbered = agenda_.number(step, time);
  if (numbered.known) return false;
  const auto scheduled = agenda_.scheduled(numbered.step, time);
  return std::any_of(scheduled.begin(), scheduled.end(), [&](size_t a) {
    return conditions_.may_hold(a, numbered.step, time) && policy_.may_cost(a, steps_);
  });
}

// The other ranks wait for this one at the next agreement. So it keeps taking part.
template <class F>
void Simulation::contain(const std::vector<size_t>& due, F&& body) {
  try {
    body();
  } catch (const std::exception& e) {
    (void)policy_.on(policy::LocalEvent(policy::AnalysesFailed{{due.begin(), due.end()}}));
    if (std::exchange(contained_, true)) return;
    const auto message = fmt::format(
        "rank {}: step {} failed inside Pillion: {}; the program continues, but the "
        "analyses that were due are incomplete",
        run_.side.rank(), agenda_.last_step(), e.what());
    if (run_.side.rank() == 0) run_.warn(message);
    else run_.log.warn("{}", message);
  }
}

void Simulation::busy_step(int64_t step, double time) {
  ready();
  const auto numbered = agenda_.number(step, time);
  if (numbered.known) {
    ++known_steps_;
    return;
  }
  // A job that attaches now is served from the next step on: the program knows what is due at this
  // one, and has prepared that. The same holds for jobs that may cost something again.
  std::vector<size_t> scheduled, over_share;
  contain(scheduled, [&] {
    for (const size_t a : agenda_.scheduled(numbered.step, time))
      (policy_.may_cost(a, steps_) ? scheduled : over_share).push_back(a);
    constexpr int64_t most = 10;
    if (!numbered.begins_segment && !numbered.turns_back) return;
    if (++segments_ <= most)
      run_.remark(agenda_.explain(numbered, step, time) +
                  (segments_ == most ? " (later changes are not reported)" : ""));
  });
  if (agreement_.is_due(steps_)) {
    contain({}, [&] { hear(); });
    agree();
    contain({}, [&] { tell(); });
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
    const auto due = check(scheduled, numbered.step, time);
    if (!due.empty()) work(due, numbered.step, time);
  });
}

policy::AttachedCost Simulation::attached_cost() const {
  const double running = first_offer_ > 0 ? base::monotonic_seconds() - first_offer_ : 0;
  return {attached_seconds_, running, steps_};
}

double Simulation::published_for_attached() const {
  double seconds = 0;
  for (size_t a = policy_.own_analyses(); a < run_.accounts.size(); ++a)
    seconds += run_.accounts[a].copy_seconds + run_.accounts[a].stall_seconds;
  return seconds;
}

// What the check before has cost is known when it is settled, before another one starts.
std::vector<size_t> Simulation::check(const std::vector<size_t>& scheduled, int64_t step,
                                      double time) {
  std::vector<size_t> due, checked, over_share;
  const auto is_checked = [&](size_t a) { return run_.enabled(a) && conditions_.is_checked(a); };
  if (std::any_of(scheduled.begin(), scheduled.end(), is_checked))
    if (const auto cost = conditions_.settle(agenda_)) carry_out(policy_.on(*cost));
  for (const size_t a : scheduled) {
    if (!run_.enabled(a)) continue;
    bool& holds = agenda_.schedule_state(a).fired;
    if (!conditions_.is_checked(a)) holds = conditions_.may_hold(a, step, time);
    else if (policy_.may_cost(a, steps_)) checked.push_back(a);
    else over_share.push_back(a);
    if (holds) due.push_back(a);
    else carry_out(policy_.on(policy::AnalysisPassed{a}));
  }
  leave_out(over_share);
  if (checked.empty()) return due;
  auto cost = attached_cost();
  conditions_.start(checked, data_.sharing(), step, time, cost);
  attached_seconds_ = cost.seconds;
  return due;
}

// An analysis that has a condition on values may not have been due, so its publication does not
// count as skipped. Its last check is too old to be used again.
void Simulation::leave_out(const std::vector<size_t>& analyses, bool were_due) {
  for (const size_t a : analyses) {
    if (!run_.enabled(a)) continue;
    ++run_.accounts[a].thinned;
    auto& state = agenda_.schedule_state(a);
    if (conditions_.is_checked(a)) state.fired = false;
    if (were_due || !conditions_.is_checked(a)) ++state.skipped, ++run_.accounts[a].skipped;
    if (std::exchange(said_over_share_, true)) continue;
    const auto& spec = run_.configuration.sidecars;
    run_.remark(fmt::format(
        "attached jobs ask for more than their share of {:.4g} % of the simulation's time or of {} "
        "for their publications, so some are left out. Raise 'sidecars: {{attached: {{time: …, "
        "memory: …}}}}', or lower what analysis '{}' asks for",
        100 * spec.attached.time, base::format_bytes(spec.attached_memory()),
        run_.configuration.analyses[a].name));
  }
}

void Simulation::work(const std::vector<size_t>& due, int64_t step, double time) {
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
  StageOutputs left(cut_fields_.size());
  std::vector<size_t> cut_fields, measured;
  for (const size_t a : due) {
    left[a].step = step;
    left[a].time = time;
    fail(a, stages_.run_front(a, left[a]));
  }
  for (const size_t a : due) {
    const bool withheld = stages_.withheld(a);
    if (!withheld) measured.push_back(a);
    if (!run_.enabled(a) || !run_.configuration.analyses[a].in_sidecars()) continue;
    if (withheld) carry_out(policy_.on(policy::AnalysisPassed{a}));
    else if (policy_.is_in_sidecars(a)) cut_fields.push_back(a);
    else fail(a, stages_.run_behind(a, left[a]));
  }
  if (!cut_fields.empty()) publish(cut_fields, left, step, time);
  if (migration_) migration_->hear_load();
  if (may_migrate) {
    carry_out(policy_.on(policy::PublicationDone{due, migration_->should_move(due, true)}));
    migration_->measure(measured);
  }
  tell();
}

// Whatever fails here, the other ranks wait for this one at the next agreement.
void Simulation::publish(const std::vector<size_t>& due, const StageOutputs& left, int64_t step,
                         double time) {
  contain(due, [&] {
    hear();
    policy::PublicationReady ready{due, 0};
    if (const auto next = policy_.waiting())
      ready.steps_until_waiting = agenda_.steps_until_due(*next, time);
    bool is_published = false, is_skipped = false;
    for (const auto& action : policy_.on(std::move(ready)))
      if (const auto* publication = std::get_if<policy::Publish>(&action)) {
        is_published = true;
        publish_and_count(*publication, left, step, time);
      } else if (const auto* skip = std::get_if<policy::Skip>(&action)) {
        if (skip->over_share) {
          leave_out(skip->analyses, true);
          continue;
        }
        is_skipped = true;
        for (const size_t a : skip->analyses)
          ++agenda_.schedule_state(a).skipped, ++run_.accounts[a].skipped;
      }
    skipped_ += is_skipped && !is_published ? 1 : 0;
  });
  agree();
}

void Simulation::publish_and_count(const policy::Publish& publication, const StageOutputs& left,
                                   int64_t step, double time) {
  const auto& served = publication.analyses;
  const auto is_attached = [&](size_t a) { return a >= policy_.own_analyses(); };
  if (std::none_of(served.begin(), served.end(), is_attached))
    return publisher_->publish(publication, left, step, time);
  const run::Stopwatch watch;
  const double before = published_for_attached();
  publisher_->publish(publication, left, step, time);
  const bool only_attached = std::all_of(served.begin(), served.end(), is_attached);
  attached_seconds_ += only_attached ? watch.seconds() : published_for_attached() - before;
}

void Simulation::hear() {
  publisher_->poll();
  subscribers_.tend();
  if (auto all = agreement_.settle())
    carry_out(policy_.on(policy::AgreementReady{std::move(*all)}));
}

void Simulation::agree() {
  policy::RankStatus mine;
  contain({}, [&] {
    publisher_->poll();
    subscribers_.see();
    mine = policy_.status(*publisher_);
    const auto cost = attached_cost();
    mine.attached_seconds = cost.seconds;
    mine.running = cost.running;
  });
  agreement_.start(std::move(mine), policy_.analyses(), steps_);
}

void Simulation::carry_out(const std::vector<policy::CollectiveAction>& actions) {
  const int64_t step = agenda_.last_step();
  const auto moved = [&](size_t a, const policy::AgreedEvent& result) {
    carry_out(policy_.on(result));
    const auto* done = std::get_if<policy::Moved>(&result);
    if (done == nullptr || !done->to_sidecars) return;
    // The ranks' last statement of the room in the sidecars may be old.
    contain({a}, [&] { hear(); });
    agree();
  };
  for (const auto& action : actions) {
    if (const auto* end = std::get_if<policy::Disable>(&action)) disable(*end);
    else if (const auto* slot = std::get_if<policy::Admit>(&action)) admit(slot->slot);
    else if (const auto* gone = std::get_if<policy::Release>(&action))
      subscribers_.release(gone->slot);
    else if (const auto* move = std::get_if<policy::MoveToSidecars>(&action))
      moved(move->analysis, migration_->move_to_sidecars(move->analysis, step));
    else if (const auto* recall = std::get_if<policy::Recall>(&action))
      moved(recall->analysis, migration_->recall(recall->analysis));
    else if (const auto* back = std::get_if<policy::TakeBack>(&action)) try {
        if (run_.enabled(back->analysis))
          moved(back->analysis, migration_->take_back(back->analysis, step));
      } catch (const Error& e) {
        fail(back->analysis, e);
      }
  }
}

void Simulation::disable(const policy::Disable& action) {
  const size_t a = action.analysis;
  if (!run_.enabled(a)) return;
  const bool ended = subscribers_.have_failed();
  switch (action.cause) {
    case policy::Cause::Left:
      run_.disabled[a] = fmt::format("its attached job left after step {}", agenda_.last_step());
      return;
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

void Simulation::fail(size_t a, const std::optional<Error>& failure) {
  if (!failure) return;
  run_.disable(a, *failure);
  carry_out(policy_.on(policy::AnalysisFailed{a}));
  stages_.finish(a);
}

// Every rank does this after the same agreement, from the same text.
void Simulation::admit(int slot) {
  auto& analyses = run_.configuration.analyses;
  const size_t first = analyses.size();
  try {
    const auto job = subscribers_.read(slot);
    auto added = job.analyses(run_.configuration.catalogue, subscribers_.names_in_use());
    for (auto& analysis : added) {
      cut_fields_.push_back(job.needs[analyses.size() - first]);
      analyses.push_back(std::move(analysis));
      stages_.add();
      conditions_.add(analyses.back());
      policy_.add({.in_sidecars = true, .needs_whole = !cut_fields_.back().whole_for.empty()});
    }
    run_.remark(
        fmt::format("attached job '{}' joined after step {}", job.name, agenda_.last_step()));
  } catch (const std::exception& e) {
    run_.warn(fmt::format("an attached job was turned away: {}", e.what()));
    subscribers_.refuse(slot);
    carry_out(policy_.on(policy::SlotAdmitted{slot, 0}));
    return;
  }
  const size_t count = analyses.size() - first;
  run_.accounts.resize(analyses.size());
  run_.disabled.resize(analyses.size());
  agenda_.extend(agenda_.last_time());
  carry_out(policy_.on(policy::SlotAdmitted{slot, count}));
  subscribers_.admit(slot, first, count);
}

namespace {

/// Why sidecars have not saved their part of a checkpoint; nothing if they have.
std::optional<Error> unsaved(const Publisher& publisher, const Subscribers& subscribers,
                             bool answered) {
  if (!answered)
    return Error(
        ErrorCode::State,
        fmt::format("no checkpoint was made: sidecars {}",
                    subscribers.have_failed() ? "have ended early: " + subscribers.why()
                                              : "did not save their state within the deadline"));
  const auto failure = publisher.sender().failure();
  if (failure.empty()) return {};
  return Error(ErrorCode::File, "sidecars could not save their state: " + failure);
}

}  // namespace

void Simulation::checkpoint(const std::filesystem::path& path) {
  const run::Stopwatch watch;
  begin_call();
  const auto aside = products::aside(path);
  for (const auto& action : policy_.on(policy::CheckpointRequested{})) {
    if (std::holds_alternative<policy::SettleAll>(action)) {
      settle_all();
    } else if (std::holds_alternative<policy::SaveStages>(action)) {
      run::begin_checkpoint(run_, path, !publisher_ || publisher_->fits_header());
      stages_.save(aside);
    } else if (std::holds_alternative<policy::SendCheckpoint>(action)) {
      auto head =
          publisher_->header(MessageKind::Checkpoint, agenda_.last_step(), agenda_.last_time());
      head.path = std::filesystem::absolute(aside).string();
      publisher_->send(head);
    } else if (std::holds_alternative<policy::AwaitSidecars>(action)) {
      answered_ = publisher_->await_all();
    } else if (std::holds_alternative<policy::FinishCheckpoint>(action)) {
      run::finish_checkpoint(
          run_, path, run::state_of(run_, agenda_, policy_.own_analyses()),
          publisher_ ? unsaved(*publisher_, subscribers_, answered_) : std::nullopt);
    } else {
      carry_out({action});
    }
  }
  watch.end(run_.timeline, "checkpoint", "checkpoint", agenda_.last_step());
}

void Simulation::begin_call() {
  (void)policy_.on(policy::LocalEvent(policy::CallBegins{base::monotonic_seconds()}));
}

// Reductions under way end before anything that every rank does together.
void Simulation::settle_all() {
  if (publisher_) hear();
  if (migration_) migration_->judge();
  if (const auto cost = conditions_.settle(agenda_)) carry_out(policy_.on(*cost));
}

void Simulation::close() {
  begin_call();
  if (steps_ == 0 && known_steps_ > 0)
    run_.warn(
        fmt::format("nothing was analysed: the checkpoint is of step {}, time {}, and none of "
                    "the {} steps that the program offered has a later time",
                    agenda_.last_step(), agenda_.last_time(), known_steps_));
  for (const auto& action : policy_.on(policy::CloseRequested{})) {
    if (std::holds_alternative<policy::SettleAll>(action)) settle_all();
    else if (std::holds_alternative<policy::FinishStages>(action)) stages_.finish();
    else if (std::holds_alternative<policy::SendEnd>(action))
      answered_ = publisher_->send_end(base::to_bytes(run::summary_of(run_, outcome())));
    else if (std::holds_alternative<policy::CloseChannel>(action)) subscribers_.close_channel();
    else if (std::holds_alternative<policy::AwaitSidecars>(action)) {
      answered_ = publisher_->await_all() && answered_;
      if (migration_) migration_->clean_up();
      const bool same_job = run_.configuration.sidecars.job == model::Job::Same;
      answer_ = subscribers_.settle(answered_ && (same_job || policy_.has_own_in_sidecars()));
    } else carry_out({action});
  }
  if (!publisher_) return;
  for (const auto& action : policy_.on(answer_)) {
    if (std::holds_alternative<policy::CountUnfinished>(action)) {
      const auto unfinished = publisher_->unfinished();
      for (size_t a = 0; a < unfinished.size(); ++a) run_.accounts[a].lost += unfinished[a];
    } else if (std::holds_alternative<policy::Retire>(action)) {
      const bool alone = subscribers_.retire();
      if (!refused_)
        run_.warn(
            alone ? "no sidecars were there to finish when the simulation ended"
                  : "the sidecars had not finished when the simulation ended; they continue and "
                    "complete the report");
    } else if (std::holds_alternative<policy::EndJobAtFinalize>(action)) {
      run_.warn("sidecars ended early, and what they worked on is not complete: " +
                subscribers_.why());
      subscribers_.end_job_at_finalize();
    } else if (std::holds_alternative<policy::LeaveSidecars>(action)) {
      run_.warn(fmt::format(
          "sidecars had not finished when the simulation ended, within the deadline of {:.4g} s; "
          "what they have not finished is counted as lost, and the report lacks their costs. They "
          "continue until MPI_Finalize, which ends the job if they hang; a longer 'sidecars: "
          "{{deadline: …}}' waits for them",
          run_.configuration.sidecars.deadline));
    } else {
      carry_out({action});
    }
  }
}

void Simulation::tell() {
  run_.tell([&](run::Snapshot& snapshot) {
    snapshot.publications = published_;
    snapshot.skipped = skipped_;
    snapshot.restarts = subscribers_.restarts();
    if (publisher_) publisher_->describe(snapshot);
  });
}

run::Outcome Simulation::outcome() const {
  run::Outcome out{.started = run_.started,
                   .first_step = first_step_,
                   .last_step = agenda_.last_step(),
                   .steps = steps_,
                   .publications = published_,
                   .skipped = skipped_,
                   .restarts = subscribers_.restarts(),
                   .time = agenda_.last_time(),
                   .thread_level = comm::thread_level()};
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
