// SPDX-License-Identifier: BSD-3-Clause
// What a simulation rank does when the program asks for a checkpoint or closes its session: all
// that is under way ends, and sidecars answer within the deadline.
#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "comm/agreement.hpp"
#include "products/whole_file.hpp"
#include "run/report.hpp"
#include "run/sidecar_notices.hpp"
#include "simulation/simulation.hpp"

namespace pillion::simulation {

using transport::MessageKind;

namespace {

/// Why sidecars have not saved their part of a checkpoint; nothing if they have.
std::optional<Error> unsaved(const Publisher& publisher, const Subscribers& subscribers,
                             bool answered) {
  if (!answered && subscribers.have_failed())
    return Error(ErrorCode::State,
                 "no checkpoint was made: sidecars have ended early: " + subscribers.why());
  if (!answered && !publisher.sender().is_served())
    return Error(ErrorCode::State,
                 "no checkpoint was made: no sidecars are attached that could save their part; "
                 "start them with `pillion-attach`, and make the checkpoint again");
  if (!answered)
    return Error(ErrorCode::State,
                 "no checkpoint was made: sidecars did not save their state within the deadline");
  const auto failure = publisher.sender().failure();
  if (failure.empty()) return {};
  return Error(ErrorCode::File, "sidecars could not save their state: " + failure);
}

const char* retired(bool had_none) {
  return had_none ? "no sidecars were there to finish when the simulation ended"
                  : "the sidecars had not finished when the simulation ended; they continue and "
                    "complete the report";
}

void warn_of_unfinished(run::Run& run) {
  run.warn(fmt::format(
      "sidecars had not finished when the simulation ended, within the deadline of {:.4g} s; what "
      "they have not finished is counted as lost, and the report lacks their costs. They continue "
      "until MPI_Finalize, which ends the job if they hang; a longer 'sidecars: {{deadline: …}}' "
      "waits for them",
      run.configuration.sidecars.deadline));
}

}  // namespace

// What takes memory comes before the ranks agree to begin, or fails on all of them where they meet
// next. Sidecars take a message from all ranks or from none, so one that is under way is sent. In a
// run that could not start there is nothing to save, and an older checkpoint stays.
void Simulation::checkpoint(const char* given) {
  if (refused_) throw *refused_;
  const run::Stopwatch watch;
  const Visit visit(meetings_);
  meetings_.come_to(comm::CallKind::Checkpoint, run_.patience);
  begin_call();
  std::filesystem::path path, aside;
  std::vector<policy::CollectiveAction> actions;
  comm::together(run_.side, [&] {
    if (given == nullptr) base::fail(ErrorCode::Argument, "the path is NULL");
    path = given;
    aside = products::aside(path);
    actions = policy_.on(policy::CheckpointRequested{});
  });
  std::exception_ptr failure;
  const policy::Overloaded act{
      [&](const policy::SettleAll&) { settle_all(); },
      [&](const policy::SaveStages&) {
        run::begin_checkpoint(run_, path, !publisher_ || publisher_->fits_header());
        stages_.save(aside);
      },
      [&](const policy::SendCheckpoint&) {
        transport::PublicationHeader head;
        comm::together(run_.side, [&] {
          head =
              publisher_->header(MessageKind::Checkpoint, agenda_.last_step(), agenda_.last_time());
          head.path = std::filesystem::absolute(aside).string();
        });
        failure = comm::failure_of([&] { publisher_->send(head); });
      },
      [&](const policy::AwaitSidecars&) {
        const auto late =
            comm::failure_of([&] { answered_ = publisher_->await_all(End::Checkpoint); });
        if (!failure) failure = late;
      },
      [&](const policy::FinishCheckpoint&) {
        comm::together(run_.side, [&] {
          comm::rethrow(failure);
          if (!publisher_) return;
          if (const auto error = unsaved(*publisher_, subscribers_, answered_)) throw *error;
        });
        agree_on_spilled();
        run::finish_checkpoint(run_, path, [this] { return checkpoint_scope(); });
      },
      [&](const auto& other) { carry_out({other}); }};
  for (const auto& action : actions) std::visit(act, action);
  watch.end(run_.timeline, "checkpoint", "checkpoint", agenda_.last_step());
}

// Each rank has counted what it sent to disk itself, and the checkpoint holds one number of all.
// They take it over, since more is added to that number in a run that continues here, too.
void Simulation::agree_on_spilled() {
  for (size_t a = 0; a < policy_.own_analyses(); ++a)
    run_.accounts[a].spilled = run_.side.reduced(run_.accounts[a].spilled, comm::Operation::Max);
}

run::CheckpointScope Simulation::checkpoint_scope() const {
  run::CheckpointScope scope{agenda_, policy_.own_analyses(), step_counts(), {}};
  for (size_t a = 0; a < scope.analyses; ++a) scope.fields.push_back(stages_.needed_by(a));
  return scope;
}

// Reductions under way end before anything that every rank does together. Each ends on all ranks,
// also if one rank fails between.
void Simulation::settle_all() {
  contain_decision([&] {
    if (publisher_) hear();
  });
  contain_decision([&] {
    if (migration_) migration_->judge();
  });
  contain_decision([&] {
    if (const auto cost = conditions_.settle(agenda_)) carry_out(policy_.on(*cost));
  });
}

base::Bytes Simulation::summary() const { return base::to_bytes(run::summary_of(run_, outcome())); }

// A rank that lacks memory still tells sidecars that the run has ended: they would wait for it.
void Simulation::send_end() {
  if (std::exchange(has_sent_end_, true)) return;
  base::Bytes known;
  contain(nothing, [&] { known = summary(); });
  try {
    answered_ = publisher_->send_end(known);
  } catch (const std::bad_alloc&) {
    answered_ = publisher_->send_end({});
  }
}

// A run that ends without a word on an analysis that had nothing to do looks like a good one.
void Simulation::warn_of_schedules() {
  for (size_t a = 0; a < policy_.own_analyses(); ++a) {
    if (!run_.enabled(a) || run_.earlier.of(a).publications > 0) continue;
    if (const auto why = agenda_.never_due(a, steps_); !why.empty()) run_.warn(why);
  }
  if (steps_ < 2 || !agenda_.time_stands()) return;
  const auto& analyses = run_.configuration.analyses;
  const bool matters = std::any_of(analyses.begin(), analyses.end(),
                                   [](const auto& analysis) { return analysis.every.in_time(); });
  const auto text = fmt::format(
      "the program's time was {} at all of its {} steps, so lags in time are 0, and schedules in "
      "time are met once at most",
      agenda_.last_time(), steps_);
  matters ? run_.warn(text) : run_.remark(text);
}

void Simulation::close(double seconds) {
  const Visit visit(meetings_);
  meetings_.come_to(comm::CallKind::Close, seconds);
  begin_call();
  std::vector<policy::CollectiveAction> actions;
  comm::together(run_.side, [&] { actions = policy_.on(policy::CloseRequested{}); });
  if (steps_ == 0 && known_steps_ > 0)
    contain(nothing, [&] {
      run_.warn(
          fmt::format("nothing was analysed: the checkpoint is of step {}, time {}, and none of "
                      "the {} steps that the program offered has a later time",
                      agenda_.last_step(), agenda_.last_time(), known_steps_));
    });
  contain(nothing, [&] { warn_of_schedules(); });
  const policy::Overloaded act{
      [&](const policy::SettleAll&) { settle_all(); },
      [&](const policy::FinishStages&) { contain(nothing, [&] { stages_.finish(); }); },
      [&](const policy::SendEnd&) { contain(nothing, [&] { send_end(); }); },
      [&](const policy::CloseChannel&) { contain(nothing, [&] { subscribers_.close_channel(); }); },
      [&](const policy::AwaitSidecars&) {
        contain(nothing, [&] {
          answered_ = publisher_->await_all(End::Session) && answered_;
          if (migration_) migration_->clean_up();
        });
        const bool same_job = run_.configuration.sidecars.job == model::Job::Same;
        answer_ = subscribers_.settle(answered_ && (same_job || policy_.has_own_in_sidecars()));
      },
      [&](const auto& other) { carry_out({other}); }};
  for (const auto& action : actions) std::visit(act, action);
  if (publisher_) {
    contain(nothing, [&] { release_dead(); });
    end_with_sidecars();
  }
  if (meetings_.have_parted()) throw *meetings_.why_parted();
}

void Simulation::bill_end(const run::Stopwatch& watch) {
  if (publisher_) publisher_->bill_wait(watch, publisher_->finished(), End::Session);
}

void Simulation::end_with_sidecars() {
  std::vector<policy::CollectiveAction> actions;
  comm::together(run_.side, [&] { actions = policy_.on(answer_); });
  const policy::Overloaded act{
      [&](const policy::DropUnseen&) {
        base::Bytes known;
        contain(nothing, [&] { known = summary(); });
        contain(nothing, [&] { publisher_->drop_unseen(known); });
      },
      [&](const policy::CountUnfinished&) {
        contain(nothing, [&] {
          const auto unfinished = publisher_->unfinished();
          for (size_t a = 0; a < unfinished.size(); ++a) run_.accounts[a].lost += unfinished[a];
        });
      },
      [&](const policy::Retire&) {
        const auto found = subscribers_.retire();
        answer_.finished = found == Subscribers::Found::Finished;
        is_provisional_ = found == Subscribers::Found::Live;
        if (refused_ || answer_.finished) return;
        contain(nothing, [&] { run_.warn(retired(found == Subscribers::Found::None)); });
      },
      [&](const policy::EndJobAtFinalize&) {
        contain(nothing, [&] {
          run_.warn("sidecars ended early, and what they worked on is not complete: " +
                    subscribers_.why());
        });
        if (!subscribers_.end_job_at_finalize())
          contain(nothing, [&] { run_.warn(run::not_ended_by_session); });
      },
      [&](const policy::LeaveSidecars&) {
        is_provisional_ = true;
        contain(nothing, [&] { warn_of_unfinished(run_); });
      },
      [&](const auto& other) { carry_out({other}); }};
  for (const auto& action : actions) std::visit(act, action);
}

// Sidecars finish what they have of all ranks. Nothing is done with other simulation ranks.
void Simulation::end_alone() noexcept {
  if (!publisher_ || has_sent_end_) return;
  try {
    begin_call();
    send_end();
    subscribers_.close_channel();
    // They do not take what other ranks have not published.
    constexpr double long_enough = 2;  // seconds
    const double deadline = std::min(run_.configuration.sidecars.deadline, long_enough);
    (void)base::wait_until(
        [&] {
          publisher_->poll();
          return publisher_->sender().behind() == 0;
        },
        base::monotonic_seconds() + deadline);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): there is no other way to end
  }
}

}  // namespace pillion::simulation
