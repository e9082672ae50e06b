// SPDX-License-Identifier: BSD-3-Clause
// How analyses change sides, as a simulation rank lives it. To the sidecars one goes before a
// publication: what it remembers is saved, and a message that comes before all further ones says
// where. Back it comes before the publication after that at which it was called: sidecars finish
// what they were given first, so that nothing is lost, and meanwhile the simulation goes on until
// it needs the analysis.
#include <algorithm>

#include "comm/agreement.hpp"
#include "runtime/luggage.hpp"
#include "runtime/simulation_side.hpp"

namespace pillion::runtime {

using transport::Kind;

void SimulationSide::adopt(Chains chains, Produced produced) {
  here_ = std::move(chains);
  produced_ = std::move(produced);
  for (size_t a = 0; a < here_.size(); ++a)
    if (here_[a]) movables_.emplace_back().analysis = a;
  if (movables_.empty()) return;
  survey_.emplace(run_.side, movables_.size());
}

bool SimulationSide::is_there(size_t a) const {
  return run_.configuration.analyses[a].in_sidecars() && (a >= here_.size() || !here_[a]);
}

std::vector<Movable*> SimulationSide::movables_in(const std::vector<size_t>& due) {
  std::vector<Movable*> out;
  for (auto& movable : movables_)
    if (std::find(due.begin(), due.end(), movable.analysis) != due.end()) out.push_back(&movable);
  return out;
}

// Every rank hears the same, so every rank judges alike.
void SimulationSide::judge() {
  if (!survey_) return;
  const auto said = survey_->settle();
  for (size_t m = 0; m < said.size(); ++m)
    if (said[m].interval > 0) movables_[m].why = movables_[m].relocation.note(said[m]);
}

bool SimulationSide::shall_move(const Movable& movable, int64_t publication) const {
  if (movable.stays || movable.called_back) return false;
  if (!run_.move_at.empty()) return run_.move_at.contains(publication);
  return !movable.why.empty();
}

void SimulationSide::settle_places(const std::vector<size_t>& due, int64_t step) {
  judge();
  for (auto* movable : movables_in(due)) {
    ++movable->due;
    movable->own = 0;
    if (movable->called_back) welcome(*movable, step);
    else if (!is_there(movable->analysis) && shall_move(*movable, movable->due))
      send_away(*movable, step);
  }
}

void SimulationSide::send_away(Movable& movable, int64_t step) {
  if (!all_fit_head()) return;
  const size_t a = movable.analysis;
  const Stopwatch watch;
  movable.folder = luggage_of(run_, a, ++movable.moves);
  try {
    comm::together(run_.side, [&] {
      if (loss_.heard()) base::fail(ErrorCode::State, "the sidecars ended early: {}", loss_.why());
    });
    pack(run_, *here_[a], a, movable.folder, movable.missing);
  } catch (const Error& e) {
    movable.stays = true;
    run_.warn(fmt::format("analysis '{}' stays in the simulation: {}",
                          run_.configuration.analyses[a].name, e.what()));
    return;
  }
  send_move(Kind::Take, movable);
  here_[a].reset();
  note_move(movable, watch, step, reason_of(std::exchange(movable.why, {})));
  // What all said of the room in the sidecars may be of long ago.
  look();
}

void SimulationSide::send_move(Kind kind, const Movable& movable) {
  const size_t a = movable.analysis;
  auto head = head_of(kind, agenda_.last_step(), time_);
  head.path = movable.folder.string();
  head.due.push_back(
      {static_cast<int32_t>(a), 0, agenda_.memory(a).skipped, run_.accounts[a].coarsened});
  send_head(head);
}

std::string SimulationSide::reason_of(const std::string& why) const {
  return run_.move_at.empty() ? why : "PILLION_MOVE_AT names this publication";
}

void SimulationSide::note_move(Movable& movable, const Stopwatch& watch, int64_t step,
                               const std::string& reason) {
  const size_t a = movable.analysis;
  const bool there = is_there(a);
  const auto& name = run_.configuration.analyses[a].name;
  const double mine = watch.end(run_.timeline, name + " (move)", "move", step);
  const double seconds = run_.side.reduced(mine, comm::Operation::Max);
  movable.relocation.moved(seconds);
  run_.moves.push_back({a, step, there, base::calendar_seconds() - run_.started, seconds, reason});
  run_.remark(fmt::format("analysis '{}' moves to the {} at step {}: {}", name,
                          there ? "sidecars" : "simulation", step, reason));
  // Nobody waits for a publication of it now.
  turns_.pass(a);
}

// A rank without room for a head would keep the others waiting later.
bool SimulationSide::all_fit_head() const {
  return run_.side.reduced<int32_t>(link_.sender->fits_head() ? 1 : 0, comm::Operation::Min) != 0;
}

void SimulationSide::call_back(Movable& movable) {
  if (!all_fit_head()) return;
  movable.folder = luggage_of(run_, movable.analysis, ++movable.moves);
  movable.why_back = std::exchange(movable.why, {});
  send_move(Kind::Give, movable);
  movable.called_back = sequence_;
}

void SimulationSide::welcome(Movable& movable, int64_t step) {
  const size_t a = movable.analysis;
  const Stopwatch watch;
  const int64_t message = *std::exchange(movable.called_back, {});
  (void)await([&] { return sequence_ - link_.sender->behind() >= message; });
  const double waited = watch.seconds();
  stall_ += waited;
  run_.accounts[a].stall_seconds += waited;
  // What sidecars could not save they have kept, and they go on with it.
  if (!is_packed(run_, movable.folder)) {
    movable.stays = true;
    if (loss_.heard() || link_.sender->disabled().contains(static_cast<int32_t>(a))) return;
    return run_.warn(
        fmt::format("analysis '{}' stays in the sidecars, which could not save what "
                    "it remembers",
                    run_.configuration.analyses[a].name));
  }
  try {
    auto unpacked = unpack(run_, a, produced_, movable.folder);
    here_[a] = std::move(unpacked.chain);
    movable.missing = unpacked.missing;
  } catch (const Error& e) {
    return disable(a, e);
  }
  movable.why.clear();
  note_move(movable, watch, step, reason_of(movable.why_back));
}

void SimulationSide::welcome_all() {
  for (auto& movable : movables_)
    if (movable.called_back && run_.enabled(movable.analysis))
      welcome(movable, agenda_.last_step());
}

void SimulationSide::run_movable(size_t a, stagehost::Publication& publication) {
  const Stopwatch watch;
  if (!chains_[a]) {
    comm::Fence fence(run_.side);
    const auto failure = fence.run([&] {
      publication = sharing_.publication(needed_by(a), publication.step, publication.time);
    });
    if (failure) return disable(a, *failure);
  }
  const auto stopped =
      run_chain(run_, *here_[a], a, publication, gaps_here(a), &Account::simulation_seconds);
  if (stopped) return disable(a, *stopped);
  auto& account = run_.accounts[a];
  ++account.publications;
  ++account.here;
  account.last_step = publication.step;
  for (auto* movable : movables_in({a})) movable->own = watch.seconds();
}

Gaps SimulationSide::gaps_here(size_t a) const {
  Gaps gaps{.skipped = agenda_.memory(a).skipped, .coarsened = 0, .lost = 0};
  for (const auto& movable : movables_)
    if (movable.analysis == a) {
      gaps.coarsened = run_.accounts[a].coarsened;
      gaps.lost = movable.missing;
    }
  return gaps;
}

void SimulationSide::take_stock(const std::vector<size_t>& due) {
  std::vector<Sample> samples(movables_.size());
  for (auto* movable : movables_in(due)) {
    if (!run_.enabled(movable->analysis)) continue;
    if (is_there(movable->analysis) && shall_move(*movable, movable->due + 1)) call_back(*movable);
    // What stages in front of the cut kept to themselves says nothing of those behind it.
    const auto& front = chains_[movable->analysis];
    if (front && front->withheld()) continue;
    samples[static_cast<size_t>(movable - movables_.data())] = sample_of(*movable);
  }
  survey_->start(samples);
}

Sample SimulationSide::sample_of(Movable& movable) const {
  const size_t a = movable.analysis;
  const auto& account = run_.accounts[a];
  const double now = base::monotonic_seconds();
  const double before = std::exchange(movable.ended, now);
  const double paid = account.copy_seconds + account.stall_seconds;
  const double more = paid - std::exchange(movable.paid, paid);
  Sample sample{.interval = before > 0 ? now - before : 0,
                .own = is_there(a) ? more : movable.own,
                .busy = effort_.busy};
  if (a < effort_.worked.size()) {
    sample.worked = effort_.worked[a];
    sample.finished = effort_.finished[a];
  }
  return sample;
}

}  // namespace pillion::runtime
