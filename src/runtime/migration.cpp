// SPDX-License-Identifier: BSD-3-Clause
// Moves between the sides, and the measurements that they are judged by.
#include "runtime/migration.hpp"

#include <algorithm>

#include "comm/agreement.hpp"
#include "runtime/luggage.hpp"

namespace pillion::runtime {

using policy::AgreedEvent;
using policy::Moved;
using policy::MoveFailed;
using transport::Kind;

Migration::Migration(Run& run, Publisher& publisher, const Agenda& agenda,
                     const policy::Policy& policy, Chains chains, Produced produced)
    : run_(run),
      publisher_(publisher),
      agenda_(agenda),
      policy_(policy),
      chains_(std::move(chains)),
      produced_(std::move(produced)),
      costs_(run.side, comm::Operation::Max) {
  for (size_t a = 0; a < chains_.size(); ++a)
    if (chains_[a]) movables_.push_back({.analysis = a});
}

const Migration::Movable* Migration::movable(size_t analysis) const {
  const auto at = std::find_if(movables_.begin(), movables_.end(),
                               [&](const Movable& m) { return m.analysis == analysis; });
  return at == movables_.end() ? nullptr : &*at;
}

Migration::Movable* Migration::movable(size_t analysis) {
  return const_cast<Movable*>(std::as_const(*this).movable(analysis));
}

stagehost::Chain* Migration::chain(size_t analysis) const {
  return analysis < chains_.size() ? chains_[analysis].get() : nullptr;
}

// Every rank reads the same numbers, so every rank judges alike.
void Migration::judge() {
  const auto values = costs_.settle();
  if (!values) return;
  const double* v = values->data();
  for (auto& movable : movables_) {
    const Sample all{.interval = v[0], .own = v[1], .worked = v[2], .finished = v[3], .busy = v[4]};
    if (all.interval > 0) movable.why = movable.placement.note(all);
    v += 5;
  }
}

void Migration::begin(const std::vector<size_t>& due) {
  for (const size_t a : due)
    if (auto* found = movable(a)) {
      ++found->due;
      found->own = 0;
    }
}

std::set<size_t> Migration::should_move(const std::vector<size_t>& due, bool ahead) const {
  std::set<size_t> out;
  for (const size_t a : due)
    if (const auto* found = movable(a)) {
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
  auto& movable = *this->movable(a);
  const Stopwatch watch;
  movable.folder = luggage_of(run_, a, ++movable.moves);
  try {
    comm::together(run_.side, [&] {
      if (const auto why = publisher_.failed_sidecars(); !why.empty())
        base::fail(ErrorCode::State, "{}", why);
    });
    pack(run_, *chains_[a], a, movable.folder, movable.missing);
  } catch (const Error& e) {
    run_.warn(fmt::format("analysis '{}' stays in the simulation: {}",
                          run_.configuration.analyses[a].name, e.what()));
    return MoveFailed{a, true};
  }
  send(Kind::Take, movable);
  chains_[a].reset();
  note_move(movable, true, watch, step, std::exchange(movable.why, {}));
  return Moved{a, true};
}

void Migration::send(Kind kind, const Movable& movable) {
  const size_t a = movable.analysis;
  auto head = publisher_.header(kind, agenda_.last_step(), agenda_.last_time());
  head.path = movable.folder.string();
  head.due.push_back(
      {static_cast<int32_t>(a), 0, agenda_.memory(a).skipped, run_.accounts[a].coarsened});
  publisher_.send(head);
}

void Migration::note_move(Movable& movable, bool to_sidecars, const Stopwatch& watch, int64_t step,
                          const std::string& why) {
  const size_t a = movable.analysis;
  const auto& name = run_.configuration.analyses[a].name;
  const std::string reason = run_.move_at.empty() ? why : "PILLION_MOVE_AT names this publication";
  const double mine = watch.end(run_.timeline, name + " (move)", "move", step);
  const double seconds = run_.side.reduced(mine, comm::Operation::Max);
  movable.placement.moved(seconds);
  run_.moves.push_back(
      {a, step, to_sidecars, base::calendar_seconds() - run_.started, seconds, reason});
  run_.remark(fmt::format("analysis '{}' moves to the {} at step {}: {}", name,
                          to_sidecars ? "sidecars" : "simulation", step, reason));
}

AgreedEvent Migration::recall(size_t a) {
  if (!all_fit_header()) return MoveFailed{a};
  auto& movable = *this->movable(a);
  movable.folder = luggage_of(run_, a, ++movable.moves);
  movable.why_back = std::exchange(movable.why, {});
  send(Kind::Give, movable);
  movable.recall = publisher_.sequence();
  return policy::Recalled{a};
}

AgreedEvent Migration::take_back(size_t a, int64_t step) {
  auto& movable = *this->movable(a);
  const Stopwatch watch;
  (void)publisher_.await([&] { return publisher_.finished() >= movable.recall; });
  const double waited = watch.seconds();
  publisher_.add_stall(waited);
  run_.accounts[a].stall_seconds += waited;
  // What sidecars could not save they have kept, and they work on it.
  if (!is_packed(run_, movable.folder)) {
    const auto& disabled = publisher_.sender().disabled();
    if (publisher_.failed_sidecars().empty() && !disabled.contains(static_cast<int32_t>(a)))
      run_.warn(
          fmt::format("analysis '{}' stays in the sidecars, which could not save what "
                      "it remembers",
                      run_.configuration.analyses[a].name));
    return MoveFailed{a, true};
  }
  auto unpacked = unpack(run_, a, produced_, movable.folder);
  chains_[a] = std::move(unpacked.chain);
  movable.missing = unpacked.missing;
  movable.why.clear();
  note_move(movable, false, watch, step, movable.why_back);
  return Moved{a, false};
}

void Migration::add_gaps(size_t a, Gaps& gaps) const {
  const auto* found = movable(a);
  if (found == nullptr) return;
  gaps.coarsened = run_.accounts[a].coarsened;
  gaps.lost = found->missing;
}

void Migration::measure(const std::vector<size_t>& due) {
  std::vector<double> mine;
  for (auto& movable : movables_) {
    Sample sample;
    const bool is_due = std::find(due.begin(), due.end(), movable.analysis) != due.end();
    if (is_due && run_.enabled(movable.analysis)) sample = sample_of(movable);
    mine.insert(mine.end(),
                {sample.interval, sample.own, sample.worked, sample.finished, sample.busy});
  }
  costs_.start(std::move(mine));
}

Sample Migration::sample_of(Movable& movable) const {
  const size_t a = movable.analysis;
  const auto& account = run_.accounts[a];
  const double now = base::monotonic_seconds();
  const double before = std::exchange(movable.ended, now);
  const double paid = account.copy_seconds + account.stall_seconds;
  const double more = paid - std::exchange(movable.paid, paid);
  Sample sample{.interval = before > 0 ? now - before : 0,
                .own = policy_.is_in_sidecars(a) ? more : movable.own,
                .busy = load_.busy};
  if (a < load_.worked.size()) {
    sample.worked = load_.worked[a];
    sample.finished = load_.finished[a];
  }
  return sample;
}

void Migration::hear_load() {
  if (run_.side.rank() == 0) hear_effort(run_, load_);
}

void Migration::clean_up() {
  hear_load();  // so that no message is left
  if (run_.side.rank() == 0) remove_luggage(run_);
}

}  // namespace pillion::runtime
