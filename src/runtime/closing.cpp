// SPDX-License-Identifier: BSD-3-Clause
// How a simulation rank checkpoints and closes. These wait for sidecars; for those of another job
// never longer than the deadline.
#include <algorithm>

#include "comm/agreement.hpp"
#include "products/table.hpp"
#include "products/whole_file.hpp"
#include "runtime/keepsake.hpp"
#include "runtime/luggage.hpp"
#include "runtime/report.hpp"
#include "runtime/simulation_side.hpp"

namespace pillion::runtime {

using transport::Kind;

bool SimulationSide::await(const std::function<bool()>& holds) {
  constexpr std::chrono::milliseconds patience{5};
  const auto& spec = run_.configuration.sidecars;
  const bool may_die = spec.job == model::Job::Separate;
  const Stopwatch watch;
  const Waiting waiting(run_.mark);
  link_.sender->poll();
  while (!holds()) {
    if (loss_.heard()) return false;
    launcher_.tend();
    const bool hopeless = may_die && spec.restart == 0 && !link_.sender->is_served();
    link_.sender->wait(patience);
    if (holds()) break;
    if (hopeless || (may_die && watch.seconds() >= spec.deadline)) return false;
  }
  return true;
}

bool SimulationSide::await_sidecars() {
  return await([&] { return link_.sender->behind() == 0; });
}

std::byte* SimulationSide::reserve_at_last(size_t size) {
  std::byte* to = nullptr;
  (void)await([&] {
    to = link_.sender->reserve(size);
    return to != nullptr || link_.sender->behind() == 0;
  });
  return to;
}

std::vector<Gaps> SimulationSide::gaps() const {
  std::vector<Gaps> out;
  for (size_t a = 0; a < chains_.size(); ++a) out.push_back(gaps_here(a));
  return out;
}

// Reductions under way end before anything that every rank does together.
void SimulationSide::settle_all() {
  if (link_.sender) (void)meet();
  judge();
  welcome_all();
  for (size_t a = 0; a < triggers_.size(); ++a)
    if (triggers_[a]) agenda_.memory(a).fired = triggers_[a]->settle(agenda_.memory(a).fired);
}

void SimulationSide::save_manifest(const std::filesystem::path& folder) const {
  Manifest manifest{.step = agenda_.last_step(),
                    .time = time_,
                    .offset = agenda_.offset(),
                    .runs = run_.continues,
                    .analyses = {}};
  manifest.runs.push_back(id_of(run_.id));
  for (size_t a = 0; a < own_analyses_; ++a)
    if (run_.enabled(a)) manifest.analyses[run_.configuration.analyses[a].name] = agenda_.memory(a);
  products::write_whole(folder / manifest_name, format_manifest(manifest), true);
}

void SimulationSide::checkpoint(const std::filesystem::path& path) {
  const Stopwatch watch;
  const auto folder = products::aside(path);
  const bool root = run_.side.rank() == 0;
  settle_all();
  comm::together(run_.side, [&] {
    if (path.filename().empty())
      base::fail(ErrorCode::Argument, "'{}' cannot name a checkpoint", path.string());
    if (link_.sender && !link_.sender->fits_head())
      base::fail(ErrorCode::State, "no checkpoint can be made: the sidecars do not answer");
    if (!root) return;
    products::discard_folder_aside(path);
    products::make_folder(folder);
  });
  comm::together(run_.side, [&] {
    save_chains(run_, chains_, Half::Front, folder, true);
    save_chains(run_, here_, Half::Behind, folder, true);
  });
  bool answered = true;
  if (link_.sender) {
    auto head = head_of(Kind::Checkpoint, agenda_.last_step(), time_);
    head.path = std::filesystem::absolute(folder).string();
    send_head(head);
    answered = await_sidecars();
  }
  comm::together(run_.side, [&] {
    if (!answered)
      base::fail(ErrorCode::State, "no checkpoint was made: sidecars {}",
                 loss_.heard() ? "have ended early: " + loss_.why()
                               : "did not save their state within the deadline");
    if (link_.sender && !link_.sender->failure().empty())
      throw Error(ErrorCode::File,
                  "sidecars could not save their state: " + link_.sender->failure());
    if (!root) return;
    save_manifest(folder);
    products::put_folder_in_place(path);
  });
  watch.end(run_.timeline, "checkpoint", "checkpoint", agenda_.last_step());
}

// Sidecars of another job write the report, for they know both sides; so they are told what this
// one has to say: all of it, or what fits where heads go, or nothing.
void SimulationSide::send_end() {
  auto head = head_of(Kind::End, agenda_.last_step(), time_);
  for (size_t a = 0; a < chains_.size(); ++a)
    head.due.push_back({.analysis = static_cast<int32_t>(a),
                        .unusable = run_.enabled(a) ? 0 : 1,
                        .skipped = agenda_.memory(a).skipped,
                        .coarsened = run_.accounts[a].coarsened});
  for (const bool timeline : {true, false}) {
    if (link_.node == nullptr) break;
    head.statement = state(run_, outcome(), timeline);
    const transport::Encoder encoder(head, {});
    std::byte* to =
        timeline ? reserve_at_last(encoder.size()) : link_.sender->reserve_head(encoder.size());
    if (to == nullptr) continue;
    encoder.encode(to);
    link_.sender->commit(head.sequence);
    return;
  }
  head.statement.clear();
  send_head(head);
}

void SimulationSide::note_outstanding(int64_t sequence, const std::vector<size_t>& due) {
  if (run_.configuration.sidecars.job != model::Job::Separate) return;
  const int64_t finished = sequence_ - 1 - link_.sender->behind();
  while (!outstanding_.empty() && outstanding_.front().first <= finished) outstanding_.pop_front();
  outstanding_.emplace_back(sequence, due);
}

void SimulationSide::count_unfinished() {
  const int64_t finished = sequence_ - link_.sender->behind();
  for (const auto& [sequence, due] : outstanding_)
    if (sequence > finished)
      for (const size_t a : due)
        if (a < own_analyses_) ++run_.accounts[a].lost;
}

// No sidecar will write anything more, so a publication that is in no product is lost, whatever
// sidecars that died had computed.
void SimulationSide::count_unwritten(const Keepsake::Content& kept) {
  for (size_t a = 0; a < std::min(own_analyses_, kept.accounts.size()); ++a) {
    const auto& analysis = run_.configuration.analyses[a];
    if (!analysis.in_sidecars()) continue;
    const auto written =
        products::publications_in(std::filesystem::path(run_.configuration.output) / analysis.name);
    auto& account = run_.accounts[a];
    int64_t whole = 0;
    if (written.in_series) whole = *written.in_series - kept.before[a];
    else if (written.any) whole = kept.accounts[a].publications;
    account.lost = std::max<int64_t>(account.publications - std::max<int64_t>(whole, 0), 0);
  }
}

// Sidecars that came from here on would find nothing to go on from, and spoil the report.
bool SimulationSide::give_up() {
  const bool mine = run_.side.rank() == 0 && link_.node->writer().retire();
  if (mine) {
    Keepsake keepsake(run_.configuration.output, link_.berth.segment->identity().run);
    try {
      if (const auto kept = keepsake.read()) count_unwritten(*kept);
    } catch (const Error& e) {
      run_.warn(fmt::format("lost publications are counted roughly: {}", e.what()));
    }
    keepsake.remove();
  }
  const bool alone = run_.side.reduced<int32_t>(mine ? 1 : 0, comm::Operation::Max) != 0;
  // The first rank has counted for all.
  for (size_t a = 0; alone && !mine && a < own_analyses_; ++a) run_.accounts[a].lost = 0;
  return alone;
}

// A rank whose own sidecar has finished everything may not know yet that another has not.
void SimulationSide::settle_loss() {
  lost_ = loss_.heard_by_any();
  if (!lost_) return;
  loss_.await();
  note_loss();
  run_.warn(fmt::format("sidecars ended early, and what they worked on is not complete: {}",
                        loss_.why()));
  loss_.end_job_at_finalize();
}

void SimulationSide::note_loss() {
  for (size_t a = 0; a < own_analyses_; ++a)
    if (run_.enabled(a) && is_there(a))
      run_.disabled[a] = "the sidecars ended early: " + loss_.why();
}

void SimulationSide::close() {
  warn_of_known_steps();
  settle_all();
  for (auto* chains : {&chains_, &here_})
    finish_chains(run_, *chains, agenda_.last_step(), time_, gaps(), &Account::simulation_seconds);
  if (!link_.sender) return;
  const bool separate = run_.configuration.sidecars.job == model::Job::Separate;
  const bool own = has_own_sidecars();
  bool done = own;
  try {
    send_end();
  } catch (const Error& e) {
    done = false;
    run_.log.warn("rank {}: {}", run_.side.rank(), e.what());
  }
  if (link_.node != nullptr) link_.node->writer().close();
  done = await_sidecars() && done;
  behind_ = link_.sender->behind();
  if (survey_ && run_.side.rank() == 0) {
    hear_effort(run_, effort_);  // so that no message is left
    remove_luggage(run_);
  }
  if (!separate) return settle_loss();
  if (own && !done) count_unfinished();
  finished_by_sidecars_ = run_.side.reduced<int32_t>(done ? 1 : 0, comm::Operation::Min) != 0;
  if (!own || finished_by_sidecars_) return;
  const bool alone = give_up();
  if (!refused_)
    run_.warn(alone ? "no sidecars were there to finish when the simulation ended"
                    : "the sidecars had not finished when the simulation ended; they go on and "
                      "complete the report");
}

}  // namespace pillion::runtime
