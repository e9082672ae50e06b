// SPDX-License-Identifier: BSD-3-Clause
// Attaching, saving state for successors, leaving.
#include "sidecar/sidecar_job.hpp"

#include <algorithm>
#include <limits>
#include <random>

#include "base/clock.hpp"
#include "comm/agreement.hpp"
#include "products/whole_file.hpp"
#include "run/report.hpp"

namespace pillion::sidecar {

using comm::together;
using policy::SidecarEnding;
using transport::NodeReceiver;

SidecarJob::SidecarJob(Attach attach, MPI_Comm comm) : attach_(std::move(attach)) {
  run_.log = attach_.log;
  run_.started = base::calendar_seconds();
  if (!attach_.leave) attach_.leave = [] { return false; };
  attachment_ =
      run::attach_to(comm::Communicator(comm), attach_.run, attach_.patience, attach_.leave);
  // Ranks on other nodes take no part: none of the collectives below waits for them.
  if (is_elsewhere()) return;
  run_.world = attachment_.job.duplicate();
  run_.side = std::move(attachment_.job);
  run_.on_node = run_.side.split_by_node();
  run_.leaders = run_.side.split(run_.on_node.rank() == 0 ? 0 : -1);
  run_.roles.assign(static_cast<size_t>(run_.side.size()), topology::Role::Sidecar);
}

void SidecarJob::configure() {
  spec_ = base::from_bytes<run::RunSpec>(attachment_.segments.front()->configuration());
  run_.id = spec_.run;
  run_.configuration = spec_.configuration(0);
  run_.sink = stagehost::Sink(run_.configuration.output);
  run_.declared = spec_.declared;
  if (!is_attached_job()) run_.earlier = spec_.earlier;
  if (is_attached_job()) read_attached_file();
  else if (run_.configuration.sidecars.job != model::Job::Separate)
    base::fail(ErrorCode::Placement,
               "run '{}' has its sidecars in its own job; to add analyses to it, name a file that "
               "has them",
               attach_.run);
}

void SidecarJob::make_sidecar() {
  auto chains = run::make_chains(run_, topology::Role::Sidecar, spec_.produced);
  if (is_attached_job()) attached_job_.needs = run::cut_fields_of(chains);
  else run_.follow_timeline();
  run_.accounts.resize(chains.size());
  run_.disabled.resize(chains.size());
  earlier_.resize(chains.size());
  const auto role =
      is_attached_job() ? policy::SidecarRole::AttachedJob : policy::SidecarRole::SeparateJob;
  sidecar_ = std::make_unique<Sidecar>(run_, std::move(chains), role);
  sidecar_->set_job_actions([this](const auto& action) { return carry_out(action); });
  leaving_ = std::make_unique<Leaving>(
      [this] {
        if (attach_.leave_at_once && attach_.leave_at_once()) return policy::LeaveRequest::Insisted;
        return attach_.leave() ? policy::LeaveRequest::Asked : policy::LeaveRequest::None;
      },
      run_.configuration.sidecars.deadline);
  sidecar_->messages().set_leaving(leaving_.get());
}

void SidecarJob::read_attached_file() {
  if (!run_.configuration.sidecars.attached.allowed)
    base::fail(
        ErrorCode::State,
        "run '{}' refuses attached jobs: its configuration says 'sidecars: {{attached: no}}'",
        attach_.run);
  attached_job_.name =
      attach_.name.empty() ? std::filesystem::path(attach_.analyses).stem().string() : attach_.name;
  attached_job_.file = attach_.analyses;
  attached_job_.text = products::read_yaml_file(attach_.analyses);
  attached_job_.parameters = attach_.parameters;
  std::set<std::string> taken;
  for (const auto& analysis : run_.configuration.analyses) taken.insert(analysis.name);
  run_.configuration.analyses = attached_job_.analyses(run_.configuration.catalogue, taken);
  run_.configuration.text = attached_job_.text;
  run_.configuration.parameters = attached_job_.parameters;
  spec_.produced.clear();
  run_.declared.clear();
}

// Holds the run's output folder with the run, and longer if this job ends later. Without that hold
// the work continues: the lock protects only from a later run.
void SidecarJob::join_folder() {
  if (run_.side.rank() == 0) try {
      std::vector<std::string> added;
      if (is_attached_job())
        for (const auto& analysis : run_.configuration.analyses) added.push_back(analysis.name);
      run_.folder = run::RunFolder::join(run_.configuration.output, spec_.run, added);
      run_.continues = run_.folder.continued();
      for (const auto& warning : run_.folder.warnings()) run_.warn(warning);
    } catch (const Error& e) {
      run_.warn(e.what());
    }
}

void SidecarJob::start_progress() {
  if (run_.side.rank() != 0) return;
  run::Snapshot first;
  first.role = is_attached_job() ? "attached_job" : "sidecars";
  first.attached_job = attached_job_.name;
  first.simulation_ranks = attachment_.segments.front()->identity().simulation_ranks;
  first.sidecar_ranks = run_.side.size();
  run_.start_progress(std::move(first));
}

namespace {

constexpr const char* evicted_text =
    "the run took its memory back: this job was stopped or too slow, and held more than attached "
    "jobs may while the run needed it. What it had finished is written. Ask for smaller fields or "
    "fewer steps, use more ranks, or have the run's owner raise 'sidecars: {attached: {memory: "
    "SIZE}}'";

/// One that no other job has.
node::JobNumber new_number() {
  std::random_device random;
  return (uint64_t{random()} << 32 | random()) >> 1 | 1;
}

}  // namespace

// The simulation keeps no message for the run's own sidecars where these have no stage.
bool SidecarJob::is_needed() const {
  const auto& analyses = run_.configuration.analyses;
  return std::any_of(analyses.begin(), analyses.end(),
                     [](const auto& analysis) { return analysis.in_sidecars(); });
}

SidecarEnding SidecarJob::work() {
  together(run_.side, [&] { configure(); });
  if (!is_attached_job() && !is_needed()) return SidecarEnding::NotNeeded;
  run::find_stages(run_.side, run_.configuration);
  together(run_.side, [&] { make_sidecar(); });
  try {
    const auto ending = serve();
    sidecar_->report_progress();
    if (run_.progress && ending == SidecarEnding::Evicted)
      run_.progress->end(run::Phase::Failed, evicted_text);
    else if (run_.progress)
      run_.progress->end(ending == SidecarEnding::Left ? run::Phase::Left : run::Phase::Ended,
                         ending == SidecarEnding::SimulationGone ? "the simulation is gone" : "");
    return ending;
  } catch (const std::exception& e) {
    if (run_.progress) run_.progress->end(run::Phase::Failed, e.what());
    throw;
  }
}

SidecarEnding SidecarJob::serve() {
  number_ = static_cast<node::JobNumber>(
      run_.side.reduced(static_cast<int64_t>(new_number()), comm::Operation::Max));
  watch_.emplace(attach_.expelled);
  sidecar_->apply(policy::JoinRequested{});
  join_folder();
  start_progress();
  run_.log.info("{} sidecar ranks have joined run '{}'", run_.side.size(), attach_.run);
  saved_at_ = base::monotonic_seconds();
  sidecar_->apply(policy::Joined{});
  const auto ending = sidecar_->serve();
  if (unreported_) throw *unreported_;
  return ending;
}

Sidecar::Event SidecarJob::carry_out(const policy::SidecarAction& action) {
  return std::visit(
      policy::Overloaded{
          [&](const policy::Claim& a) { return claim(a); },
          [&](const policy::Refuse& a) -> Event { refuse(a.why); },
          [&](const policy::ReadPredecessor&) { return read_predecessor(); },
          [&](const policy::RestoreStages&) { return restore_stages(), Event(); },
          [&](const policy::ReadInterrupted& a) { return read_interrupted(a.index); },
          [&](const policy::StartAt& a) { return start_at(a), Event(); },
          [&](const policy::RequestAdmission&) { return request_admission(); },
          [&](const policy::StartAtNext&) { return start_at_next(), Event(); },
          [&](const policy::ShowEnded&) {
            return receiver_->set_over(ended(), receiver_->next_done()), Event();
          },
          [&](const policy::AgreeOnSaving&) { return agree_on_saving(); },
          [&](const policy::SaveForSuccessors&) { return save_for_successors(), Event(); },
          [&](const policy::RemoveSavedState&) { return remove_saved_state(), Event(); },
          [&](const policy::CountUnread&) { return count_unread(1), Event(); },
          [&](const policy::WriteReport&) { return write_report(), Event(); },
          [&](const policy::ShowRunEnded&) { return receiver_->show_over(), Event(); },
          [&](const policy::LeaveSlot&) { return leave_slot(), Event(); },
          // Sidecars carry out these, in whichever job they are.
          policy::Elsewhere<Event, policy::Receive, policy::Analyse, policy::CountDropped,
                            policy::SaveCheckpoint, policy::RestoreMigrated,
                            policy::SaveForMigration, policy::FinishFailed, policy::FinishAnalyses,
                            policy::Acknowledge>{}},
      action);
}

Sidecar::Event SidecarJob::claim(const policy::Claim& claim) {
  if (claim.slot != slot_) {
    watch_->watch(nullptr);
    auto receiver = std::make_unique<NodeReceiver>(attachment_.sources, claim.slot,
                                                   [this] { return leaving_->leaves(); });
    receiver_ = receiver.get();
    watch_->watch(receiver_);
    if (is_attached_job()) claimed_ = std::move(receiver);
    else sidecar_->messages().set_receiver(std::move(receiver));
    slot_ = claim.slot;
  }
  bool claimed = attachment_.is_first != claim.first_ranks;
  if (!claimed)
    // Until the simulation has seen that the predecessor died, at its next step or look.
    claimed = base::wait_until([&] { return receiver_->claim(number_); },
                               base::monotonic_seconds() + claim.patience);
  const bool all = run_.side.reduced<int32_t>(claimed ? 1 : 0, comm::Operation::Min) != 0;
  const bool ended =
      all && run_.side.reduced<int32_t>(receiver_->is_over() ? 1 : 0, comm::Operation::Max) != 0;
  return policy::ClaimAgreed{all, ended};
}

void SidecarJob::refuse(policy::Refusal why) const {
  switch (why) {
    case policy::Refusal::HasSidecars:
      base::fail(ErrorCode::State, "run '{}' has its sidecars already", attach_.run);
    case policy::Refusal::RunEnded: base::fail(ErrorCode::State, "run '{}' has ended", attach_.run);
    case policy::Refusal::SlotsTaken:
      base::fail(ErrorCode::State, "run '{}' has {} attached jobs already, and room for no more",
                 attach_.run, policy::attached_slots);
    case policy::Refusal::NotAdmitted: break;
  }
  base::fail(ErrorCode::State, "run '{}' has ended, or has turned this attached job away",
             attach_.run);
}

// All ranks hold their channels, so nothing that is read here changes any more.
Sidecar::Event SidecarJob::read_predecessor() {
  successor_state_.emplace(run_.configuration.output, spec_.run);
  const auto& side = run_.side;
  progress_ = static_cast<node::Progress>(
      side.reduced(static_cast<int64_t>(receiver_->progress()), comm::Operation::Max));
  policy::PredecessorRead read;
  read.done = node::done_in(progress_);
  read.begun = side.reduced(receiver_->begun(), comm::Operation::Max);
  together(side, [&] { saved_ = successor_state_->read(); });
  const size_t analyses = sidecar_->policy().analyses();
  std::vector<int64_t> disabled(analyses);
  for (const int32_t a : receiver_->disabled())
    if (static_cast<size_t>(a) < analyses) disabled[static_cast<size_t>(a)] = 1;
  side.reduce(disabled.data(), static_cast<int64_t>(analyses), comm::Operation::Max);
  for (size_t a = 0; a < analyses; ++a) {
    read.ended.push_back(side.reduced(receiver_->over(a, read.done), comm::Operation::Max));
    auto& counts = read.saved.emplace_back();
    if (disabled[a] != 0) read.disabled.insert(a);
    if (!saved_) continue;
    const auto at = saved_->analyses.find(run_.configuration.analyses[a].name);
    if (at != saved_->analyses.end()) counts = {at->second.over, at->second.costs.lost};
  }
  return read;
}

// Stages continue from the state that the last sidecars saved, or else from the checkpoint that the
// run continues from. Nothing was saved of an analysis that had failed, though its folder may be
// left.
void SidecarJob::restore_stages() {
  const std::filesystem::path folder =
      saved_ ? successor_state_->folder() : std::filesystem::path(run_.configuration.restart);
  std::set<std::string> there;
  for (size_t a = 0; a < sidecar_->policy().analyses(); ++a) {
    const auto& name = run_.configuration.analyses[a].name;
    std::error_code error;
    if (!folder.empty() && sidecar_->policy().is_enabled(a) &&
        std::filesystem::is_directory(folder / name, error))
      there.insert(name);
  }
  run::restore_chains(run_, sidecar_->chains(), run::Half::Behind, folder, there);
  for (size_t a = 0; a < earlier_.size(); ++a) {
    const auto& name = run_.configuration.analyses[a].name;
    auto& account = run_.accounts[a];
    if (saved_ && saved_->analyses.contains(name)) {
      account = saved_->analyses.at(name).costs;
      earlier_[a] = saved_->analyses.at(name).earlier;
    } else if (const auto& chain = sidecar_->chains()[a]) {
      earlier_[a] = chain->publications();
    }
    account.lost = sidecar_->policy().counts(a).lost;
    if (!sidecar_->policy().is_enabled(a))
      run_.disabled[a] = "it failed in sidecars that were here before";
    if (account.lost > 0)
      run_.warn(fmt::format("analysis '{}' has lost {} publications with sidecars that died", name,
                            account.lost));
  }
}

Sidecar::Event SidecarJob::read_interrupted(int64_t index) {
  const auto header = sidecar_->messages().agree_on_header(receiver_->read(index));
  policy::InterruptedRead read{header.kind == transport::MessageKind::Publication, {}};
  if (!read.is_publication) return read;
  for (const auto& [analysis, due] : sidecar_->messages().due_in(header))
    read.analyses.push_back(analysis);
  if (!read.analyses.empty())
    run_.warn(fmt::format("the publication of step {} is lost: the sidecars that worked on it died",
                          header.step));
  return read;
}

void SidecarJob::start_at(const policy::StartAt& start) {
  for (size_t a = 0; a < run_.accounts.size(); ++a)
    run_.accounts[a].lost = sidecar_->policy().counts(a).lost;
  receiver_->set_over(ended(), start.index);
  receiver_->start_at(node::progress_of(start.index, node::lost_in(progress_) + start.interrupted));
}

Sidecar::Event SidecarJob::request_admission() {
  together(run_.side, [&] {
    for (size_t s = 0; s < attachment_.segments.size(); ++s)
      if (attachment_.control[s])
        attachment_.segments[s]->write_control(slot_, base::to_bytes(attached_job_));
  });
  receiver_->show_ready();
  const bool active = receiver_->await_activation();
  return policy::AdmissionAgreed{run_.side.reduced<int32_t>(active ? 1 : 0, comm::Operation::Min) !=
                                 0};
}

void SidecarJob::start_at_next() {
  receiver_->start_at(
      node::progress_of(run_.side.reduced(receiver_->begun(), comm::Operation::Max), 0));
  const int32_t base = run_.side.reduced(receiver_->base(), comm::Operation::Max);
  sidecar_->messages().set_base(base);
  transport::WantedValues wanted{
      base,
      static_cast<int32_t>(sidecar_->policy().analyses()),
      {},
      static_cast<size_t>(run_.configuration.sidecars.attached_memory())};
  for (size_t a = 0; a < sidecar_->chains().size(); ++a)
    for (const auto& field : sidecar_->chains()[a]->needed()) {
      wanted.fields.insert(field);
      // Fields that an analysis has made on the simulation's side are its own.
      wanted.fields.insert(run_.configuration.analyses[a].name + "/" + field);
    }
  auto copying = std::make_unique<transport::CopyingReceiver>(
      std::move(claimed_), std::move(wanted), [this] { return leaving_->leaves(); });
  copying_ = copying.get();
  sidecar_->messages().set_receiver(std::move(copying));
}

void SidecarJob::leave_slot() {
  if (copying_ != nullptr) copying_->stop();
  receiver_->leave();
}

std::vector<int64_t> SidecarJob::ended() const {
  std::vector<int64_t> ended;
  for (size_t a = 0; a < sidecar_->policy().analyses(); ++a)
    ended.push_back(sidecar_->policy().counts(a).ended);
  return ended;
}

// The first ranks of the nodes know how many nodes there are, and decide for all.
Sidecar::Event SidecarJob::agree_on_saving() {
  const bool wanted = run_.leaders && base::monotonic_seconds() - saved_at_ >=
                                          policy::saving_period(run_.leaders.size(), saving_took_);
  return policy::SavingAgreed{run_.side.reduced<int32_t>(wanted ? 1 : 0, comm::Operation::Max) !=
                              0};
}

// Each node removes its own files; then only folders are left.
void SidecarJob::remove_saved_state() {
  together(run_.side, [&] {
    if (run_.leaders) successor_state_->remove_files(run_.leaders.rank());
  });
  if (run_.side.rank() == 0) successor_state_->remove();
}

void SidecarJob::save_for_successors() {
  const double begin = base::monotonic_seconds();
  // Ranks that see no publications know only the ones that all have agreed on.
  auto over = ended();
  run_.side.reduce(over.data(), static_cast<int64_t>(over.size()), comm::Operation::Max);
  try {
    together(run_.side, [&] {
      if (run_.leaders) successor_state_->remove_files_in_next(run_.leaders.rank());
    });
    together(run_.side, [&] {
      if (run_.side.rank() == 0) successor_state_->clear_next();
    });
    const std::string failure = sidecar_->save(successor_state_->next_folder().string(), false);
    together(run_.side, [&] {
      if (!failure.empty()) throw Error(ErrorCode::File, failure);
      if (run_.side.rank() != 0) return successor_state_->complete_elsewhere();
      run::SavedState state;
      state.runs.push_back(run::id_of(run_.id));
      for (size_t a = 0; a < over.size(); ++a)
        state.analyses[run_.configuration.analyses[a].name] = {
            .costs = run_.accounts[a], .over = over[a], .earlier = earlier_[a]};
      successor_state_->complete(std::move(state));
    });
  } catch (const Error& e) {
    if (saving_took_ == 0)
      run_.warn(
          fmt::format("the state cannot be saved for sidecars that come later: {}", e.what()));
  }
  saved_at_ = base::monotonic_seconds();
  saving_took_ = std::max(saved_at_ - begin, 1e-6);
}

// What some rank has not published when it died is not complete, and was never promised. Disabled
// analyses lose nothing.
void SidecarJob::count_unread(int64_t sign) {
  constexpr auto none = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> unread(run_.accounts.size(), receiver_->has_sources() ? 0 : none);
  together(run_.side, [&] {
    for (const auto& header : receiver_->unread())
      if (header.kind == transport::MessageKind::Publication)
        for (const size_t a : sidecar_->messages().analyses_in(header)) ++unread[a];
  });
  run_.side.reduce(unread.data(), static_cast<int64_t>(unread.size()), comm::Operation::Min);
  for (size_t a = 0; a < unread.size(); ++a)
    if (sidecar_->policy().is_enabled(a)) run_.accounts[a].lost += sign * unread[a];
}

// If the disk cannot take the report the work is done all the same, and a successor could do no
// better. The error is thrown when the slot is free.
void SidecarJob::write_report() {
  const auto& ending = sidecar_->policy().ending();
  if (ending == SidecarEnding::SimulationGone)
    run_.warn("the simulation is gone without having closed its session");
  if (ending == SidecarEnding::Evicted) run_.warn(evicted_text);
  const auto part = is_attached_job()
                        ? run::ReportScope{attached_job_.name, sidecar_->messages().base()}
                        : run::ReportScope();
  // A report before the end counts as lost what is not finished then: that may be the last word.
  const bool is_early = !ending && !is_attached_job();
  if (is_early) count_unread(1);
  try {
    run::Outcome outcome;
    outcome.is_provisional = !ending;
    run::write_report_together(run_, outcome, sidecar_->summaries(), part);
    unreported_.reset();
  } catch (const Error& e) {
    if (e.code() != ErrorCode::File) throw;
    unreported_ = e;
  }
  if (is_early) count_unread(-1);
}

void expect_yaml(const std::string& file, const base::Parameters& parameters) {
  base::Diagnostics mistakes;  // which are found again when the run is known
  (void)base::parse_yaml(products::read_yaml_file(file), file, parameters, &mistakes);
}

}  // namespace pillion::sidecar
