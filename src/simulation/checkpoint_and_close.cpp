// SPDX-License-Identifier: BSD-3-Clause
// What a simulation rank does when the program asks for a checkpoint or closes its session: all
// that is under way ends, and sidecars answer within the deadline.
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

// Reductions under way end before anything that every rank does together.
void Simulation::settle_all() {
  if (publisher_) hear();
  if (migration_) migration_->judge();
  if (const auto cost = conditions_.settle(agenda_)) carry_out(policy_.on(*cost));
}

base::Bytes Simulation::summary() const { return base::to_bytes(run::summary_of(run_, outcome())); }

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
      answered_ = publisher_->send_end(summary());
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
    if (std::holds_alternative<policy::DropUnseen>(action)) {
      publisher_->drop_unseen(summary());
    } else if (std::holds_alternative<policy::CountUnfinished>(action)) {
      const auto unfinished = publisher_->unfinished();
      for (size_t a = 0; a < unfinished.size(); ++a) run_.accounts[a].lost += unfinished[a];
    } else if (std::holds_alternative<policy::Retire>(action)) {
      const auto found = subscribers_.retire();
      answer_.finished = found == Subscribers::Found::Finished;
      if (!refused_ && !answer_.finished)
        run_.warn(
            found == Subscribers::Found::None
                ? "no sidecars were there to finish when the simulation ended"
                : "the sidecars had not finished when the simulation ended; they continue and "
                  "complete the report");
    } else if (std::holds_alternative<policy::EndJobAtFinalize>(action)) {
      run_.warn("sidecars ended early, and what they worked on is not complete: " +
                subscribers_.why());
      if (!subscribers_.end_job_at_finalize()) run_.warn(run::not_ended_by_session);
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

}  // namespace pillion::simulation
