// SPDX-License-Identifier: BSD-3-Clause
// Moves between the sides, and the measurements that they are judged by.
#include "simulation/migration.hpp"

#include <algorithm>

#include "comm/agreement.hpp"
#include "run/saved_state.hpp"

namespace pillion::simulation {

using policy::AgreedEvent;
using policy::Moved;
using policy::MoveFailed;
using transport::MessageKind;

namespace {

constexpr size_t numbers_of_sample = 5;

}  // namespace

Migration::Migration(run::Run& run, Publisher& publisher, const run::Agenda& agenda,
                     const policy::Policy& policy, run::Chains chains, run::ProducedFields produced)
    : run_(run),
      publisher_(publisher),
      agenda_(agenda),
      policy_(policy),
      chains_(std::move(chains)),
      produced_(std::move(produced)),
      costs_(run.for_migration, comm::Operation::Max) {
  for (size_t a = 0; a < chains_.size(); ++a)
    if (chains_[a]) movables_.push_back({.analysis = a});
  costs_.reserve(numbers_of_sample * movables_.size());
}

const Migration::MigratingAnalysis* Migration::migrating(size_t analysis) const {
  const auto at = std::find_if(movables_.begin(), movables_.end(),
                               [&](const MigratingAnalysis& m) { return m.analysis == analysis; });
  return at == movables_.end() ? nullptr : &*at;
}

Migration::MigratingAnalysis* Migration::migrating(size_t analysis) {
  return const_cast<MigratingAnalysis*>(std::as_const(*this).migrating(analysis));
}

stagehost::Chain* Migration::chain(size_t analysis) const {
  return analysis < chains_.size() ? chains_[analysis].get() : nullptr;
}

// Every rank reads the same numbers, so every rank makes the same decision.
void Migration::judge() {
  const auto values = costs_.settle();
  if (!values) return;
  const double* v = values->data();
  for (auto& migrating : movables_) {
    const policy::Sample all{
        .interval = v[0], .own = v[1], .worked = v[2], .finished = v[3], .busy = v[4]};
    if (all.interval > 0) migrating.why = migrating.placement.note(all);
    v += numbers_of_sample;
  }
}

void Migration::begin(const std::vector<size_t>& due) {
  for (const size_t a : due)
    if (auto* found = migrating(a)) {
      ++found->due;
      found->own = 0;
    }
}

std::set<size_t> Migration::should_move(const std::vector<size_t>& due, bool ahead) const {
  std::set<size_t> out;
  for (const size_t a : due)
    if (const auto* found = migrating(a)) {
      const bool forced = run_.move_at.contains(found->due + (ahead ? 1 : 0));
      if (run_.move_at.empty() ? !found->why.empty() : forced) out.insert(a);
    }
  return out;
}

// A rank without room for a header would keep the others waiting later.
bool Migration::all_fit_header() const {
  return run_.side.reduced<int32_t>(publisher_.fits_header() ? 1 : 0, comm::Operation::Min) != 0;
}

AgreedEvent Migration::move_to_sidecars(size_t a, int64_t step) {
  if (!all_fit_header()) return MoveFailed{a};
  auto& migrating = *this->migrating(a);
  const run::Stopwatch watch;
  migrating.folder = run::migration_folder(run_, a, ++migrating.moves);
  try {
    comm::together(run_.side, [&] {
      if (const auto why = publisher_.failed_sidecars(); !why.empty())
        base::fail(ErrorCode::State, "{}", why);
    });
    run::save_for_migration(run_, *chains_[a], a, migrating.folder, migrating.missing);
  } catch (const Error& e) {
    run_.warn(fmt::format("analysis '{}' stays in the simulation: {}",
                          run_.configuration.analyses[a].name, e.what()));
    return MoveFailed{a, true};
  }
  send(MessageKind::Take, migrating);
  chains_[a].reset();
  note_move(migrating, true, watch, step, std::exchange(migrating.why, {}));
  return Moved{a, true};
}

void Migration::send(MessageKind kind, const MigratingAnalysis& migrating) {
  const size_t a = migrating.analysis;
  auto head = publisher_.header(kind, agenda_.last_step(), agenda_.last_time());
  head.path = migrating.folder.string();
  head.due.push_back(run::due_of(run_, a));
  publisher_.send(head);
}

void Migration::note_move(MigratingAnalysis& migrating, bool to_sidecars,
                          const run::Stopwatch& watch, int64_t step, const std::string& why) {
  const size_t a = migrating.analysis;
  const auto& name = run_.configuration.analyses[a].name;
  const std::string reason = run_.move_at.empty() ? why : "PILLION_MOVE_AT names this publication";
  const double mine = watch.end(run_.timeline, name + " (move)", "move", step);
  const double seconds = run_.side.reduced(mine, comm::Operation::Max);
  migrating.placement.moved(seconds);
  run_.moves.push_back(
      {a, step, to_sidecars, base::calendar_seconds() - run_.started, seconds, reason});
  run_.remark(fmt::format("analysis '{}' moves to the {} at step {}: {}", name,
                          to_sidecars ? "sidecars" : "simulation", step, reason));
}

AgreedEvent Migration::recall(size_t a) {
  if (!all_fit_header()) return MoveFailed{a};
  auto& migrating = *this->migrating(a);
  migrating.folder = run::migration_folder(run_, a, ++migrating.moves);
  migrating.why_back = std::exchange(migrating.why, {});
  send(MessageKind::Give, migrating);
  migrating.recall = publisher_.sequence();
  return policy::Recalled{a};
}

// What sidecars could not save they have kept, and they work on it. But if they are only late, they
// will save it and let it go, and then leave out what is published for it: so they take it again,
// and the two messages together change nothing.
void Migration::leave_in_sidecars(const MigratingAnalysis& migrating) {
  const size_t a = migrating.analysis;
  const auto& name = run_.configuration.analyses[a].name;
  enum : int32_t { failed, no_room, may_send };
  int32_t state = publisher_.fits_header() ? may_send : no_room;
  if (!publisher_.failed_sidecars().empty()) state = failed;
  state = run_.side.reduced(state, comm::Operation::Min);
  if (state == failed) return;
  if (state == no_room)
    base::fail(ErrorCode::State,
               "sidecars did not give '{}' back within the deadline, and no message to them fits",
               name);
  send(MessageKind::Take, migrating);
  if (!publisher_.sender().disabled().contains(static_cast<int32_t>(a)))
    run_.warn(
        fmt::format("analysis '{}' stays in the sidecars, which could not save its state, or not "
                    "within the deadline",
                    name));
}

AgreedEvent Migration::take_back(size_t a, int64_t step) {
  auto& migrating = *this->migrating(a);
  const run::Stopwatch watch;
  (void)publisher_.await([&] { return publisher_.finished() >= migrating.recall; });
  const double waited = watch.seconds();
  publisher_.add_stall(waited);
  run_.accounts[a].stall_seconds += waited;
  if (!run::is_saved(run_, migrating.folder)) {
    leave_in_sidecars(migrating);
    return MoveFailed{a, true};
  }
  auto migrated = run::restore_migrated(run_, a, produced_, migrating.folder);
  chains_[a] = std::move(migrated.chain);
  migrating.missing = migrated.missing;
  migrating.why.clear();
  note_move(migrating, false, watch, step, migrating.why_back);
  return Moved{a, false};
}

int64_t Migration::missing(size_t a) const {
  const auto* found = migrating(a);
  return found == nullptr ? 0 : found->missing;
}

void Migration::measure(const std::vector<size_t>& due) {
  auto mine = costs_.prepare(numbers_of_sample * movables_.size()).begin();
  for (auto& migrating : movables_) {
    policy::Sample sample;
    const bool is_due = std::find(due.begin(), due.end(), migrating.analysis) != due.end();
    if (is_due && run_.enabled(migrating.analysis)) sample = sample_of(migrating);
    for (const double number :
         {sample.interval, sample.own, sample.worked, sample.finished, sample.busy})
      *mine++ = number;
  }
  costs_.start();
}

policy::Sample Migration::sample_of(MigratingAnalysis& migrating) const {
  const size_t a = migrating.analysis;
  const auto& account = run_.accounts[a];
  const double now = base::monotonic_seconds();
  const double before = std::exchange(migrating.ended, now);
  const double paid = account.copy_seconds + account.stall_seconds;
  const double more = paid - std::exchange(migrating.paid, paid);
  policy::Sample sample{.interval = before > 0 ? now - before : 0,
                        .own = policy_.is_in_sidecars(a) ? more : migrating.own,
                        .busy = load_.busy};
  if (a < load_.worked.size()) {
    sample.worked = load_.worked[a];
    sample.finished = load_.finished[a];
  }
  return sample;
}

void Migration::hear_load() {
  if (run_.side.rank() == 0) run::receive_load_report(run_, load_);
}

void Migration::clean_up() {
  hear_load();  // so that no message is left
  if (run_.side.rank() == 0) run::remove_migration_folders(run_);
}

}  // namespace pillion::simulation
