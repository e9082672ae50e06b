// SPDX-License-Identifier: BSD-3-Clause
// Stages that run in the simulation's own ranks: those in front of the cut, and, while they are
// here, those behind it of analyses that may move.
#pragma once

#include "run/agenda.hpp"
#include "simulation/conditions.hpp"
#include "simulation/cut_data.hpp"
#include "simulation/migration.hpp"

namespace pillion::simulation {

class SimulationStages {
 public:
  SimulationStages(run::Run& run, run::Chains front, const run::CutFields& cut_fields,
                   const Sharing& sharing, const run::Agenda& agenda, const Conditions& conditions)
      : run_(run),
        front_(std::move(front)),
        cut_fields_(cut_fields),
        sharing_(sharing),
        agenda_(agenda),
        conditions_(conditions) {}

  /// Where stages behind the cut may be.
  void set_migration(Migration* migration) { migration_ = migration; }
  /// An analysis of an attached job, which has no stage here.
  void add() { front_.emplace_back(); }
  /// Forgets those from number `analyses` on.
  void resize(size_t analyses) { front_.resize(analyses); }

  /// Shared fields that an analysis needs, at a step or for its condition; or all of them.
  [[nodiscard]] std::set<std::string> needed_by(size_t analysis) const;
  [[nodiscard]] std::set<std::string> needed() const;
  /// Run on a publication; `left` is what they leave. Return the failure, the same on every rank.
  /// [collective]
  std::optional<run::Failure> run_front(size_t analysis, stagehost::Publication& left);
  std::optional<run::Failure> run_behind(size_t analysis, stagehost::Publication& left);
  /// Whether the stages of an analysis keep the publication from those after the cut.
  [[nodiscard]] bool withheld(size_t analysis) const {
    return front_[analysis] && front_[analysis]->withheld();
  }
  /// Writes what the stages of a disabled analysis have computed. [collective]
  void finish(size_t analysis);
  /// The same for all that are not disabled. [collective]
  void finish();
  /// Saves their state. Throws the same error on every rank. [collective]
  void save(const std::filesystem::path& folder) const;
  void set_units(const std::string& name, const std::string& units);

 private:
  [[nodiscard]] run::Gaps gaps_in_front(size_t analysis) const;
  [[nodiscard]] run::Gaps gaps_behind(size_t analysis) const;
  std::optional<Error> fill(size_t analysis, stagehost::Publication& left) const;

  run::Run& run_;
  run::Chains front_;
  const run::CutFields& cut_fields_;
  const Sharing& sharing_;
  const run::Agenda& agenda_;
  const Conditions& conditions_;
  Migration* migration_ = nullptr;
};

}  // namespace pillion::simulation
