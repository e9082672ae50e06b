// SPDX-License-Identifier: BSD-3-Clause
// Attaching, working, leaving.
#include "sidecar/sidecar_job.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "comm/agreement.hpp"
#include "policy/losses.hpp"
#include "products/whole_file.hpp"
#include "run/report.hpp"

namespace pillion::sidecar {

using comm::together;
using transport::MessageKind;
using transport::NodeReceiver;
using transport::PublicationHeader;

SidecarJob::SidecarJob(Attach attach, MPI_Comm comm) : attach_(std::move(attach)) {
  run_.log = attach_.log;
  run_.started = base::calendar_seconds();
  run_.world = comm::Communicator(comm);
  run_.side = comm::Communicator(comm);
  run_.roles.assign(static_cast<size_t>(run_.side.size()), topology::Role::Sidecar);
  if (!attach_.leave) attach_.leave = [] { return false; };
  attachment_ = run::attach_to(run_.side, attach_.run, attach_.patience);
  together(run_.side, [&] { configure(); });
}

void SidecarJob::configure() {
  spec_ = base::from_bytes<run::RunSpec>(attachment_.segments.front()->configuration());
  run_.id = spec_.run;
  run_.configuration = spec_.configuration(0);
  run_.sink = stagehost::Sink(run_.configuration.output);
  run_.declared = spec_.declared;
  if (is_attached_job()) read_attached_file();
  else if (run_.configuration.sidecars.job != model::Job::Separate)
    base::fail(ErrorCode::Placement,
               "run '{}' has its sidecars in its own job; to add analyses to it, name a file that "
               "has them",
               attach_.run);
  chains_ = run::make_chains(run_, topology::Role::Sidecar, spec_.produced);
  if (is_attached_job()) attached_job_.needs = run::cut_fields_of(chains_);
  if (!is_attached_job()) run_.follow_timeline();
  run_.accounts.resize(chains_.size());
  run_.disabled.resize(chains_.size());
  over_.resize(chains_.size());
  before_.resize(chains_.size());
}

void SidecarJob::read_attached_file() {
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

void SidecarJob::subscribe(int slot) {
  auto receiver = std::make_unique<NodeReceiver>(attachment_.sources, slot, attach_.leave);
  receiver_ = receiver.get();
  side_ = std::make_unique<Sidecar>(run_, std::move(chains_), std::move(receiver));
  side_->set_call(attach_.leave);
  side_->set_after_publication([this](const PublicationHeader& head) { after_each(head); });
  if (slot == node::primary) side_->set_before_end([this] { save_state(); });
}

bool SidecarJob::claim(bool first, double patience) {
  const double begin = base::monotonic_seconds();
  bool claimed = attachment_.is_first != first || receiver_->claim();
  while (!claimed && base::monotonic_seconds() - begin < patience) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    claimed = receiver_->claim();
  }
  return run_.side.reduced<int32_t>(claimed ? 1 : 0, comm::Operation::Min) != 0;
}

// Whoever has the first channel of the run goes first, so that of two sidecar jobs one gets all
// channels; the ranks of a sidecar job that is dying may hold the others a little longer.
void SidecarJob::take_primary_slot() {
  constexpr double moment = 2, longer = 20;
  subscribe(node::primary);
  if (!claim(true, moment) || !claim(false, longer)) {
    receiver_->leave();
    base::fail(ErrorCode::State, "run '{}' has its sidecars already", attach_.run);
  }
  if (is_over()) {
    receiver_->leave();
    base::fail(ErrorCode::State, "run '{}' has ended", attach_.run);
  }
  successor_state_.emplace(run_.configuration.output, spec_.run);
  continue_predecessor();
}

// Whoever was here before has finished everything, and has written the report.
bool SidecarJob::is_over() const {
  return run_.side.reduced<int32_t>(receiver_->is_over() ? 1 : 0, comm::Operation::Max) != 0;
}

void SidecarJob::continue_predecessor() {
  const auto progress = static_cast<node::Progress>(
      run_.side.reduced(static_cast<int64_t>(receiver_->progress()), comm::Operation::Max));
  const int64_t begun = run_.side.reduced(receiver_->begun(), comm::Operation::Max);
  const int64_t done = node::done_in(progress);
  std::optional<run::SavedState> saved;
  together(run_.side, [&] { saved = successor_state_->read(); });
  for (size_t a = 0; a < over_.size(); ++a)
    over_[a] = run_.side.reduced(receiver_->over(a, done), comm::Operation::Max);
  restore(saved);
  const int64_t resumed = count_interrupted(done, begun);
  std::vector<int64_t> disabled(over_.size());
  for (const int32_t a : receiver_->disabled())
    if (static_cast<size_t>(a) < disabled.size()) disabled[static_cast<size_t>(a)] = 1;
  run_.side.reduce(disabled.data(), static_cast<int64_t>(disabled.size()), comm::Operation::Max);
  for (size_t a = 0; a < disabled.size(); ++a)
    if (disabled[a] != 0) run_.disabled[a] = "it failed in sidecars that were here before";
  receiver_->set_over(over_, resumed);
  receiver_->start_at(node::progress_of(resumed, node::lost_in(progress) + (resumed - done)));
}

// Stages continue from the state that the last sidecars saved, or else from the checkpoint that the
// run continues from.
void SidecarJob::restore(const std::optional<run::SavedState>& saved) {
  const std::filesystem::path folder =
      saved ? successor_state_->folder() : std::filesystem::path(run_.configuration.restart);
  std::set<std::string> there;
  for (const auto& analysis : run_.configuration.analyses) {
    std::error_code error;
    if (!folder.empty() && std::filesystem::is_directory(folder / analysis.name, error))
      there.insert(analysis.name);
  }
  run::restore_chains(run_, side_->chains(), run::Half::Behind, folder, there);
  for (size_t a = 0; a < over_.size(); ++a) {
    const auto& name = run_.configuration.analyses[a].name;
    auto& account = run_.accounts[a];
    run::SavedAnalysis before;
    if (saved && saved->analyses.contains(name)) {
      before = saved->analyses.at(name);
      account = before.costs;
      before_[a] = before.earlier;
    } else if (const auto& chain = side_->chains()[a]) {
      before_[a] = chain->publications();
    }
    account.lost = policy::take_over(policy::SavedCounts{before.over, account.lost}, over_[a]).lost;
    if (account.lost > 0)
      run_.warn(fmt::format("analysis '{}' has lost {} publications with sidecars that died", name,
                            account.lost));
  }
}

// A publication that was begun with may be what killed those who worked on it. Checkpoints and the
// end change nothing that a successor would not write again.
int64_t SidecarJob::count_interrupted(int64_t done, int64_t begun) {
  int64_t index = done;
  for (; index < begun; ++index) {
    const auto deliveries = receiver_->read(index);
    const int teller = run_.side.reduced(deliveries.empty() ? run_.side.size() : run_.side.rank(),
                                         comm::Operation::Min);
    base::Bytes bytes;
    if (run_.side.rank() == teller) bytes = transport::head_of(deliveries.front());
    run_.side.broadcast(bytes, teller);
    const auto head = transport::decode_head(bytes.data(), bytes.size());
    if (head.kind != MessageKind::Publication) break;
    const auto due = side_->due_here(head);
    for (const size_t a : due) {
      policy::SavedCounts counts{over_[a], run_.accounts[a].lost};
      policy::count_interrupted(counts);
      over_[a] = counts.ended;
      run_.accounts[a].lost = counts.lost;
    }
    if (!due.empty())
      run_.warn(
          fmt::format("the publication of step {} is lost: the sidecars that worked on it "
                      "died",
                      head.step));
  }
  return index;
}

void SidecarJob::take_attached_slot() {
  constexpr double moment = 0;
  int slot = node::primary + 1;
  for (;; ++slot) {
    if (slot == node::slot_count)
      base::fail(ErrorCode::State, "run '{}' has {} attached jobs already, and room for no more",
                 attach_.run, node::slot_count - 1);
    auto chains = side_ ? std::move(side_->chains()) : std::move(chains_);
    chains_ = std::move(chains);
    subscribe(slot);
    if (claim(true, moment) && claim(false, moment)) break;
    receiver_->leave();
  }
  together(run_.side, [&] {
    for (size_t s = 0; s < attachment_.segments.size(); ++s)
      if (attachment_.control[s])
        attachment_.segments[s]->write_control(slot, base::to_bytes(attached_job_));
  });
  receiver_->show_ready();
  const bool active = receiver_->await_activation();
  if (run_.side.reduced<int32_t>(active ? 1 : 0, comm::Operation::Min) == 0) {
    receiver_->leave();
    base::fail(ErrorCode::State, "run '{}' has ended, or has turned this attached job away",
               attach_.run);
  }
  receiver_->start_at(
      node::progress_of(run_.side.reduced(receiver_->begun(), comm::Operation::Max), 0));
  side_->set_base(run_.side.reduced(receiver_->base(), comm::Operation::Max));
}

// Holds the run's output folder with the run, and after it if the sidecar job takes longer. Without
// that hold the work continues: the lock protects only from a later run.
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

Ending SidecarJob::work() {
  try {
    const auto ending = serve();
    side_->tell();
    if (run_.progress)
      run_.progress->end(ending == Ending::Left ? run::Phase::Left : run::Phase::Ended,
                         ending == Ending::Alone ? "the simulation is gone" : "");
    return ending;
  } catch (const std::exception& e) {
    if (run_.progress) run_.progress->end(run::Phase::Failed, e.what());
    throw;
  }
}

Ending SidecarJob::serve() {
  if (is_attached_job()) take_attached_slot();
  else take_primary_slot();
  join_folder();
  start_progress();
  run_.log.info("{} sidecar ranks have joined run '{}'", run_.side.size(), attach_.run);
  saved_at_ = base::monotonic_seconds();
  if (!is_attached_job())
    save_state();  // so that whoever comes after knows that it is not the first
  const auto ending = side_->serve();
  if (ending == Ending::Left && !is_attached_job()) save_state();
  if (ending == Ending::Left && is_attached_job()) side_->finish_alone();
  if (ending == Ending::Alone) {
    side_->finish_alone();
    run_.warn("the simulation is gone without having closed its session");
  }
  if (ending == Ending::Alone || is_attached_job()) write_report();
  if (ending == Ending::Alone && !is_attached_job()) receiver_->show_over();
  if (ending != Ending::Left && successor_state_ && run_.side.rank() == 0)
    successor_state_->remove();
  receiver_->leave();
  if (unreported_) throw *unreported_;
  return ending;
}

// What is over is noted before its memory is given back, so a sidecar job that comes later knows of
// it.
void SidecarJob::after_each(const PublicationHeader& head) {
  if (is_attached_job()) return;
  for (const size_t a : side_->due_here(head)) ++over_[a];
  receiver_->set_over(over_, receiver_->next_done());
  if (head.kind == MessageKind::End) {
    write_report();
    receiver_->show_over();
    return;
  }
  constexpr double least = 1, share = 20;
  const double now = base::monotonic_seconds();
  const bool wanted = now - saved_at_ >= std::max(least, share * saving_took_);
  if (run_.side.reduced<int32_t>(wanted ? 1 : 0, comm::Operation::Max) != 0) save_state();
}

void SidecarJob::save_state() {
  const double begin = base::monotonic_seconds();
  const auto folder = successor_state_->next_folder();
  try {
    together(run_.side, [&] {
      std::error_code ignored;
      if (run_.side.rank() == 0) std::filesystem::remove_all(folder, ignored);
    });
    const std::string failure = side_->save(folder.string(), false);
    together(run_.side, [&] {
      if (!failure.empty()) throw Error(ErrorCode::File, failure);
      if (run_.side.rank() != 0) return successor_state_->complete_elsewhere();
      run::SavedState state;
      state.runs.push_back(run::id_of(run_.id));
      for (size_t a = 0; a < over_.size(); ++a)
        state.analyses[run_.configuration.analyses[a].name] = {
            .costs = run_.accounts[a], .over = over_[a], .earlier = before_[a]};
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

// If the disk does not take the report the work is done nevertheless, and nobody who came again
// could do better.
void SidecarJob::write_report() {
  const run::ReportScope part = is_attached_job()
                                    ? run::ReportScope{"-" + attached_job_.name, side_->base()}
                                    : run::ReportScope();
  try {
    run::write_report_together(run_, run_.side, {}, side_->statements(), part);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::File) throw;
    unreported_ = e;
  }
}

}  // namespace pillion::sidecar
