// SPDX-License-Identifier: BSD-3-Clause
// The configuration of a run as plain values. Reading it is pure, so that every rank that reads the
// same text comes to the same result or the same error.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/catalogue.hpp"
#include "model/expression.hpp"
#include "model/schedule.hpp"
#include "model/sidecars.hpp"

namespace pillion::model {

/// Where a stage runs; `Auto` on either side, as the run finds better.
enum class Place { Simulation, Sidecar, Auto };

/// What a run does with results of an earlier run that lie in its output folder.
enum class IfExists { KeepAside, Overwrite, Refuse };

struct StageSpec {
  std::string name;
  Place place = Place::Simulation;
  base::Value parameters;        ///< a map, without `at`
  std::string file{};            ///< the plug-in's, if it has been found
  bool in_separate_job = false;  ///< none of the simulation's ranks ever runs it
};

struct AnalysisSpec {
  std::string name;
  Schedule every;
  std::optional<Expression> when;
  int64_t products_every = 10;  ///< publications between writings of cumulative products
  int64_t disable_after = 3;    ///< failures in a row
  std::vector<StageSpec> stages;
  base::Value place;          ///< for messages
  bool is_whole = true;       ///< false if there are stages that could not be read
  bool wants_choice = false;  ///< says `at: auto`, whether or not there is anything to choose

  /// How many of the stages, counted from the first, run in the simulation.
  [[nodiscard]] size_t cut() const;
  [[nodiscard]] bool in_sidecars() const { return cut() < stages.size(); }
  [[nodiscard]] bool in_simulation() const { return cut() > 0; }
  /// Whether what is behind the cut may run in the simulation too.
  [[nodiscard]] bool is_movable() const {
    return in_sidecars() && stages[cut()].place == Place::Auto;
  }
};

struct Configuration {
  std::string text;  ///< the file as it was read
  std::string file;
  base::Parameters parameters;  ///< given from outside; the file's own are in its text
  std::string output = "results";
  IfExists if_exists = IfExists::KeepAside;
  std::string run;  ///< the name by which attached jobs and separate sidecars find it
  std::string time_units;
  std::string restart;  ///< "" if the run does not resume
  SidecarSpec sidecars;
  Catalogue catalogue;
  // Attached jobs add to a deque while references to what is in it stay good.
  std::deque<AnalysisSpec> analyses;
};

/// Reads a configuration. `catalogue_text` is what the program offers of its own accord (YAML with
/// `meshes:` and `fields:`, may be empty). `sidecars_wanted` are sidecar ranks that the launch
/// itself asks for, so that the file need not. `overrides` go before what the file says. With
/// `mistakes`, what can be read is, and analyses hold those of their stages that could be.
Configuration read_configuration(const std::string& text, const std::string& file,
                                 const base::Parameters& parameters,
                                 const std::string& catalogue_text, int64_t sidecars_wanted,
                                 const base::Overrides& overrides = {},
                                 base::Diagnostics* mistakes = nullptr);

/// Reads `sidecars:` alone, for a program that knows its other parameters only later. Throws where
/// it needs a parameter that has no value yet.
SidecarSpec read_sidecars_alone(const std::string& text, const std::string& file,
                                const base::Parameters& parameters, int64_t sidecars_wanted,
                                const base::Overrides& overrides);

/// Reads the analyses that an attached job adds to a run: YAML with `analyses:` and `parameters:`
/// only. All their stages run in the attached job. `taken` are the names of the run's analyses.
std::deque<AnalysisSpec> read_attached_job_analyses(const std::string& text,
                                                    const std::string& file,
                                                    const base::Parameters& parameters,
                                                    const Catalogue& catalogue,
                                                    const std::set<std::string>& taken,
                                                    base::Diagnostics* mistakes = nullptr);

}  // namespace pillion::model
