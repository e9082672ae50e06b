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

std::optional<Error> SimulationStages::run_front(size_t a, stagehost::Publication& left) {
  if (!front_[a]) return {};
  if (const auto failure = fill(a, left)) return failure;
  const auto failure =
      run::run_chain(run_, *front_[a], a, left, {.skipped = agenda_.schedule_state(a).skipped},
                     &run::CostCounters::simulation_seconds);
  if (failure) return failure;
  // A publication for sidecars is counted when it is sent.
  if (!run_.configuration.analyses[a].in_sidecars()) ++run_.accounts[a].publications;
  run_.accounts[a].last_step = left.step;
  return {};
}

std::optional<Error> SimulationStages::run_behind(size_t a, stagehost::Publication& left) {
  const run::Stopwatch watch;
  const double waited = comm::seconds_waited();
  if (!front_[a])
    if (const auto failure = fill(a, left)) return failure;
  const auto failure = run::run_chain(run_, *migration_->chain(a), a, left, gaps(a),
                                      &run::CostCounters::simulation_seconds);
  if (failure) return failure;
  auto& account = run_.accounts[a];
  ++account.publications;
  ++account.here;
  account.last_step = left.step;
  migration_->ran(a, watch.seconds() - (comm::seconds_waited() - waited));
  return {};
}

run::Gaps SimulationStages::gaps(size_t a) const {
  run::Gaps missing{.skipped = agenda_.schedule_state(a).skipped,
                    .coarsened = 0,
                    .lost = run_.accounts[a].dropped};
  if (migration_ != nullptr) migration_->add_gaps(a, missing);
  return missing;
}

void SimulationStages::finish(size_t a) {
  run::Gaps missing;
  comm::together(run_.side, [&] {
    missing = gaps(a);
    missing.disabled = run_.disabled[a];
  });
  const auto end = [&](stagehost::Chain* chain) {
    if (chain != nullptr)
      run::finish_chain(run_, *chain, a, agenda_.last_step(), agenda_.last_time(), missing,
                        &run::CostCounters::simulation_seconds);
  };
  end(front_[a].get());
  if (migration_ != nullptr) end(migration_->chain(a));
}

void SimulationStages::finish() {
  std::vector<run::Gaps> missing;
  comm::together(run_.side, [&] {
    for (size_t a = 0; a < front_.size(); ++a) missing.push_back(gaps(a));
  });
  const auto end = [&](run::Chains& chains) {
    run::finish_chains(run_, chains, agenda_.last_step(), agenda_.last_time(), missing,
                       &run::CostCounters::simulation_seconds);
  };
  end(front_);
  if (migration_ != nullptr) end(migration_->chains());
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
