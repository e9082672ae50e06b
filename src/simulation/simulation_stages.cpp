// SPDX-License-Identifier: BSD-3-Clause
// Running, finishing and saving stages in the simulation.
#include "simulation/simulation_stages.hpp"

#include "comm/agreement.hpp"

namespace pillion::simulation {

std::set<std::string> SimulationStages::needed_by(size_t a) const {
  const auto& catalogue = run_.configuration.catalogue;
  std::set<std::string> names;
  if (front_[a]) names = front_[a]->needed();
  // What the analysis's own stages produce in the simulation is not for the program to share.
  for (const auto& name : cut_fields_[a].fields)
    if (catalogue.find_field(name) != nullptr) names.insert(name);
  names.merge(conditions_.fields(a));
  return names;
}

std::set<std::string> SimulationStages::needed() const {
  std::set<std::string> names;
  for (size_t a = 0; a < front_.size(); ++a) names.merge(needed_by(a));
  return names;
}

std::optional<Error> SimulationStages::fill(size_t a, stagehost::Publication& left) const {
  comm::Fence fence(run_.side);
  return fence.run([&] { left = sharing_.publication(needed_by(a), left.step, left.time); });
}

std::optional<run::Failure> SimulationStages::run_front(size_t a, stagehost::Publication& left) {
  if (!front_[a]) return {};
  if (const auto failure = fill(a, left)) return run::failure_to_fill(*failure);
  const auto failure = run::run_chain(run_, *front_[a], a, left, gaps_in_front(a),
                                      &run::CostCounters::simulation_seconds);
  if (failure) return failure;
  // A publication for sidecars is counted when it is sent.
  if (!run_.configuration.analyses[a].in_sidecars()) ++run_.accounts[a].publications;
  run_.accounts[a].last_step = left.step;
  return {};
}

std::optional<run::Failure> SimulationStages::run_behind(size_t a, stagehost::Publication& left) {
  const run::Stopwatch watch;
  const double waited = comm::seconds_waited();
  if (!front_[a])
    if (const auto failure = fill(a, left)) return run::failure_to_fill(*failure);
  const auto failure = run::run_chain(run_, *migration_->chain(a), a, left, gaps_behind(a),
                                      &run::CostCounters::simulation_seconds);
  if (failure) return failure;
  auto& account = run_.accounts[a];
  ++account.publications;
  ++account.here;
  account.last_step = left.step;
  migration_->ran(a, watch.seconds() - (comm::seconds_waited() - waited));
  return {};
}

// What sidecars lose later is in products of the stages here.
run::Gaps SimulationStages::gaps_in_front(size_t a) const {
  const auto counts = run_.counts(a);
  if (run_.configuration.analyses[a].in_sidecars())
    return {.skipped = counts.skipped, .lost = counts.withdrawn};
  return {.skipped = counts.skipped, .coarsened = counts.coarsened, .lost = counts.missing()};
}

// Sidecars have counted what they lost of it, and dropped, and told when it came back.
run::Gaps SimulationStages::gaps_behind(size_t a) const {
  const auto counts = run_.counts(a);
  return {
      .skipped = counts.skipped,
      .coarsened = counts.coarsened,
      .lost = run_.earlier.of(a).missing() + run_.accounts[a].withdrawn + migration_->missing(a)};
}

void SimulationStages::finish(size_t a) {
  stagehost::Chain* const behind = migration_ == nullptr ? nullptr : migration_->chain(a);
  run::Gaps missing, missing_behind;
  comm::together(run_.side, [&] {
    missing = gaps_in_front(a);
    missing.disabled = run_.disabled[a];
    if (behind == nullptr) return;
    missing_behind = gaps_behind(a);
    missing_behind.disabled = run_.disabled[a];
  });
  const auto end = [&](stagehost::Chain* chain, const run::Gaps& gaps) {
    if (chain != nullptr)
      run::finish_chain(run_, *chain, a, agenda_.last_step(), agenda_.last_time(), gaps,
                        &run::CostCounters::simulation_seconds);
  };
  end(front_[a].get(), missing);
  end(behind, missing_behind);
}

void SimulationStages::finish() {
  for (size_t a = 0; a < front_.size(); ++a)
    if (run_.enabled(a)) finish(a);
}

void SimulationStages::save(const std::filesystem::path& folder) const {
  run::save_chains(run_, front_, run::Half::Front, folder, true);
  if (migration_ != nullptr)
    run::save_chains(run_, migration_->chains(), run::Half::Behind, folder, true);
}

void SimulationStages::set_units(const std::string& name, const std::string& units) {
  for (size_t a = 0; a < front_.size(); ++a) {
    if (front_[a]) front_[a]->catalogue().set_units(name, units);
    if (migration_ != nullptr && migration_->chain(a) != nullptr)
      migration_->chain(a)->catalogue().set_units(name, units);
  }
}

}  // namespace pillion::simulation
