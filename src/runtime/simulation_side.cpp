// SPDX-License-Identifier: BSD-3-Clause
// Steps, as a simulation rank lives them. Publishing and closing are in publish.cpp.
#include "runtime/simulation_side.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "comm/agreement.hpp"

namespace pillion::runtime {

SimulationSide::SimulationSide(Run& run, Chains chains, Crossing crossing, Link link,
                               Launcher launcher)
    : run_(run),
      chains_(std::move(chains)),
      crossing_(std::move(crossing)),
      link_(std::move(link)),
      allocations_(link_.berth.segment.get()),
      launcher_(std::move(launcher)),
      sharing_(run.configuration.catalogue),
      agenda_(run.configuration.analyses),
      consensus_(run.side, run.configuration.analyses.size()),
      next_look_(link_.node != nullptr ? 1 : std::numeric_limits<int64_t>::max()),
      loss_(run),
      own_analyses_(run.configuration.analyses.size()) {
  for (const auto& analysis : run.configuration.analyses) {
    auto& trigger = triggers_.emplace_back();
    if (analysis.when)
      trigger = std::make_unique<Trigger>(*analysis.when, run.configuration.catalogue, run.side);
  }
}

bool SimulationSide::has_own_sidecars() const {
  const auto& analyses = run_.configuration.analyses;
  return std::any_of(analyses.begin(), analyses.begin() + static_cast<ptrdiff_t>(own_analyses_),
                     [](const auto& analysis) { return analysis.in_sidecars(); });
}

void* SimulationSide::allocate(const std::string& field, int32_t block, size_t size,
                               int32_t buffers) {
  if (run_.configuration.catalogue.find_field(field) == nullptr)
    base::fail(ErrorCode::Argument, "the catalogue has no field '{}'{}", field,
               base::suggestion(field, run_.configuration.catalogue.field_names()));
  return allocations_.allocate(field, block, size, buffers);
}

void* SimulationSide::swap(const std::string& field, int32_t block) {
  if (link_.node != nullptr) allocations_.reclaim(link_.node->writer().reclaim());
  const auto [before, now, size] = allocations_.swap(field, block);
  sharing_.move(field, block, before, size, now);
  return now;
}

void SimulationSide::unshare(const std::string& field, int32_t block) {
  sharing_.unshare(field, block);
  allocations_.free(field, block);
}

bool SimulationSide::set_units(const std::string& name, const std::string& units) {
  if (name == "time") {
    run_.configuration.time_units = units;
    parcels_.clear();
    return true;
  }
  if (!run_.configuration.catalogue.set_units(name, units)) return false;
  for (auto* chains : {&chains_, &here_})
    for (auto& chain : *chains)
      if (chain) chain->catalogue().set_units(name, units);
  units_[name] = units;
  parcels_.clear();
  return true;
}

void SimulationSide::resume(const Manifest& manifest) {
  for (size_t a = 0; a < chains_.size(); ++a) {
    const auto saved = manifest.analyses.find(run_.configuration.analyses[a].name);
    if (saved != manifest.analyses.end()) agenda_.memory(a) = saved->second;
  }
  agenda_.resume(manifest.step, manifest.time, manifest.offset);
  time_ = manifest.time;
}

std::set<std::string> SimulationSide::needed_by(size_t analysis) const {
  const auto& catalogue = run_.configuration.catalogue;
  std::set<std::string> names;
  if (chains_[analysis]) names = chains_[analysis]->needed();
  // What the analysis's own stages produce in the simulation is not for the program to share.
  for (const auto& name : crossing_[analysis].fields)
    if (catalogue.find_field(name) != nullptr) names.insert(name);
  if (triggers_[analysis]) names.merge(triggers_[analysis]->fields());
  return names;
}

std::set<std::string> SimulationSide::needed() const {
  std::set<std::string> names;
  for (size_t a = 0; a < chains_.size(); ++a) names.merge(needed_by(a));
  return names;
}

void SimulationSide::ready() {
  if (refused_) throw *refused_;
  if (ready_) return;
  try {
    sharing_.check(needed(), run_.side);
    comm::together(run_.side, [&] { check_budget(); });
  } catch (const Error& e) {
    refused_ = e;
    if (run_.side.rank() == 0) run_.log.failure("{}", e.what());
    throw;
  }
  ready_ = true;
  if (run_.configuration.sidecars.when_full != model::WhenFull::Coarsen) return;
  for (size_t a = 0; a < own_analyses_; ++a)
    if (needs_whole(a))
      run_.warn(
          fmt::format("analysis '{}' skips publications where others are coarsened, for its "
                      "stage '{}' cannot use coarse ones",
                      run_.configuration.analyses[a].name, crossing_[a].whole_for));
}

bool SimulationSide::is_due(int64_t step, double time) const {
  if (agenda_.idle(step, time)) return false;
  const auto numbered = agenda_.number(step, time);
  if (numbered.known) return false;
  const auto scheduled = agenda_.scheduled(numbered.step, time);
  return std::any_of(scheduled.begin(), scheduled.end(), [&](size_t a) {
    return !triggers_[a] || triggers_[a]->may_hold(numbered.step, time);
  });
}

void SimulationSide::busy_step(int64_t step, double time) {
  ready();
  const auto numbered = agenda_.number(step, time);
  if (numbered.known) {
    ++known_steps_;
    return;
  }
  // A guest that comes now is served from the next step on: for this one the program was told what
  // is due, and has prepared that.
  std::vector<size_t> scheduled;
  contain(scheduled, [&] {
    scheduled = agenda_.scheduled(numbered.step, time);
    if (numbered.begins_segment || numbered.turns_back) note_segment(numbered, step, time);
  });
  if (steps_ >= next_look_) look();
  if (steps_ == 0) {
    first_offer_ = base::monotonic_seconds();
    first_step_ = numbered.step;
  }
  agenda_.offer(step, time);
  run_.mark.set(numbered.step, time);
  time_ = time;
  ++steps_;
  contain(scheduled, [&] {
    const auto due = fired(scheduled, numbered.step, time);
    if (!due.empty()) work(due, numbered.step, time);
  });
}

void SimulationSide::note_segment(const NumberedStep& numbered, int64_t step, double time) {
  constexpr int64_t most_remarks = 10;
  if (++segments_ > most_remarks) return;
  const char* last = segments_ == most_remarks ? " (later changes are not reported)" : "";
  if (!numbered.begins_segment)
    return run_.remark(
        fmt::format("the program's time went back from {} to {} at step {}; "
                    "schedules in time count from there{}",
                    time_, time, numbered.step, last));
  run_.remark(fmt::format(
      "after step {}, at time {}, the program offered step {}, at time {}; "
      "from here on its step n is step n + {} of this run{}",
      agenda_.last_step() - agenda_.offset(), time_, step, time, numbered.step - step, last));
}

// The other ranks wait for this one at the next agreement. So it keeps taking part, and asks there
// that every rank disables the analyses.
void SimulationSide::note_failure(const std::vector<size_t>& due, const char* why) {
  for (const size_t a : due) failed_.insert(static_cast<int32_t>(a));
  if (std::exchange(contained_, true)) return;
  const auto message = fmt::format(
      "rank {}: step {} failed inside Pillion: {}; the program continues, but the "
      "analyses that were due are incomplete",
      run_.side.rank(), agenda_.last_step(), why);
  if (run_.side.rank() == 0) run_.warn(message);
  else run_.log.warn("{}", message);
}

void SimulationSide::warn_of_known_steps() {
  if (steps_ > 0 || known_steps_ == 0) return;
  run_.warn(
      fmt::format("nothing was analysed: the checkpoint is of step {}, time {}, and none of "
                  "the {} steps that the program offered has a later time",
                  agenda_.last_step(), time_, known_steps_));
}

std::vector<size_t> SimulationSide::fired(const std::vector<size_t>& scheduled, int64_t step,
                                          double time) {
  std::vector<size_t> due;
  for (const size_t a : scheduled) {
    if (!run_.enabled(a)) continue;
    if (triggers_[a]) check_condition(a, step, time);
    if (!triggers_[a] || agenda_.memory(a).fired) due.push_back(a);
    else turns_.pass(a);
  }
  return due;
}

// A rank whose blocks do not fit still takes part in the reduction, for the others wait for it.
void SimulationSide::check_condition(size_t a, int64_t step, double time) {
  bool& fired = agenda_.memory(a).fired;
  if (triggers_[a]->is_immediate()) {
    fired = triggers_[a]->may_hold(step, time);
    return;
  }
  const Stopwatch watch;
  fired = triggers_[a]->settle(fired);
  stagehost::Publication look{.step = step, .time = time, .meshes = {}, .domains = {}};
  try {
    look = sharing_.publication(triggers_[a]->fields(), step, time);
  } catch (const Error& e) {
    run_.log.warn("rank {} is left out of a condition at step {}: {}", run_.side.rank(), step,
                  e.what());
  }
  triggers_[a]->start(look);
  run_.accounts[a].simulation_seconds += watch.end(
      run_.timeline, run_.configuration.analyses[a].name + " (condition)", "condition", step);
}

void SimulationSide::work(const std::vector<size_t>& due, int64_t step, double time) {
  ++published_;
  const bool may_move = survey_ && !movables_in(due).empty();
  if (may_move) settle_places(due, step);
  std::vector<stagehost::Publication> left(chains_.size());
  for (const size_t a : due) {
    left[a].step = step;
    left[a].time = time;
    if (chains_[a]) run_here(a, left[a]);
  }
  std::vector<size_t> crossing;
  for (const size_t a : due) {
    if (!run_.enabled(a) || !run_.configuration.analyses[a].in_sidecars()) continue;
    if (chains_[a] && chains_[a]->withheld()) turns_.pass(a);
    else if (is_there(a)) crossing.push_back(a);
    else run_movable(a, left[a]);
  }
  if (!crossing.empty()) publish(crossing, left, step, time);
  // Also when nothing that moves is due, or what sidecars tell would gather in MPI.
  if (survey_ && run_.side.rank() == 0) hear_effort(run_, effort_);
  if (may_move) take_stock(due);
  tell();
}

void SimulationSide::tell() {
  run_.tell([&](Snapshot& snapshot) {
    snapshot.publications = published_;
    snapshot.skipped = skipped_;
    snapshot.restarts = launcher_.restarts();
    if (!link_.sender) return;
    snapshot.behind = behind_;
    snapshot.budget = static_cast<int64_t>(link_.budget);
    snapshot.in_use = static_cast<int64_t>(link_.sender->in_flight());
    snapshot.peak = static_cast<int64_t>(link_.sender->peak());
  });
}

void SimulationSide::run_here(size_t a, stagehost::Publication& publication) {
  comm::Fence fence(run_.side);
  const auto failure = fence.run([&] {
    publication = sharing_.publication(needed_by(a), publication.step, publication.time);
  });
  if (failure) return disable(a, *failure);
  const auto stopped =
      run_chain(run_, *chains_[a], a, publication, {.skipped = agenda_.memory(a).skipped},
                &Account::simulation_seconds);
  if (stopped) return disable(a, *stopped);
  // A publication for sidecars is counted when it is sent.
  if (!run_.configuration.analyses[a].in_sidecars()) ++run_.accounts[a].publications;
  run_.accounts[a].last_step = publication.step;
}

void SimulationSide::disable(size_t a, const Error& failure) {
  run_.disable(a, failure);
  finish_disabled(a);
}

// A disabled analysis must not hold up others that wait for room either.
void SimulationSide::finish_disabled(size_t a) {
  turns_.pass(a);
  Gaps gaps = gaps_here(a);
  gaps.disabled = run_.disabled[a];
  for (auto* chains : {&chains_, &here_})
    if (a < chains->size() && (*chains)[a])
      finish_chain(run_, *(*chains)[a], a, agenda_.last_step(), time_, gaps,
                   &Account::simulation_seconds);
}

Outcome SimulationSide::outcome() const {
  return {.started = run_.started,
          .first_step = first_step_,
          .last_step = agenda_.last_step(),
          .steps = steps_,
          .publications = published_,
          .skipped = skipped_,
          .restarts = launcher_.restarts(),
          .time = time_,
          .budget = budget(),
          .peak = peak(),
          .in_place = in_place_,
          .direct = direct_};
}

Progress SimulationSide::progress() const {
  Progress progress;
  progress.step = agenda_.last_step() - agenda_.offset();
  progress.time = time_;
  const double seconds = steps_ > 0 ? base::monotonic_seconds() - first_offer_ : 0;
  if (seconds > 0) progress.steps_per_second = static_cast<double>(steps_ - 1) / seconds;
  progress.publications = published_;
  progress.skipped = skipped_;
  progress.behind = link_.sender ? link_.sender->behind() : 0;
  progress.stall_seconds = stall_;
  for (const auto& why : run_.disabled) progress.disabled += why.empty() ? 0 : 1;
  return progress;
}

}  // namespace pillion::runtime
