// SPDX-License-Identifier: BSD-3-Clause
// The configuration of a run as plain values. Reading it is pure, so that every rank that reads the
// same text comes to the same result or the same error.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/catalogue.hpp"
#include "model/expression.hpp"
#include "model/schedule.hpp"

namespace pillion::model {

/// Where a stage runs.
enum class Place { Simulation, Sidecar };

/// What happens when sidecars cannot keep up.
enum class WhenFull { Skip, Wait };
const char* name_of(WhenFull policy);

struct SidecarSpec {
  int64_t ranks = 0;
  int64_t memory = int64_t{256} << 20;  ///< bytes of publications in flight per node
  WhenFull when_full = WhenFull::Skip;
  double deadline = 60;  ///< seconds that `wait` waits at most
};

struct StageSpec {
  std::string name;
  Place place = Place::Simulation;
  base::Value parameters;  ///< a map, without `at`
};

struct AnalysisSpec {
  std::string name;
  Schedule every;
  std::optional<Expression> when;
  int64_t products_every = 10;  ///< publications between writings of cumulative products
  std::vector<StageSpec> stages;
  base::Value place;  ///< for messages

  /// How many of the stages, counted from the first, run in the simulation.
  [[nodiscard]] size_t cut() const;
  [[nodiscard]] bool in_sidecars() const { return cut() < stages.size(); }
  [[nodiscard]] bool in_simulation() const { return cut() > 0; }
};

struct Configuration {
  std::string text;  ///< the file as it was read
  std::string file;
  base::Parameters parameters;  ///< given from outside; the file's own are in its text
  std::string output = "results";
  std::string time_units;
  std::string restart;  ///< "" if the run does not resume
  SidecarSpec sidecars;
  Catalogue catalogue;
  std::vector<AnalysisSpec> analyses;
};

/// Reads a configuration. `catalogue_text` is what the program offers of its own accord (YAML with
/// `meshes:` and `fields:`, may be empty). `sidecars_wanted` are sidecar ranks that the launch
/// itself asks for, so that the file need not.
Configuration read_configuration(const std::string& text, const std::string& file,
                                 const base::Parameters& parameters,
                                 const std::string& catalogue_text, int64_t sidecars_wanted);

}  // namespace pillion::model
