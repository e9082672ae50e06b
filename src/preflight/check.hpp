// SPDX-License-Identifier: BSD-3-Clause
// Everything that can be known of a configuration without the simulation: mistakes, what is allowed
// but unlikely to be meant, and what will happen. Nothing is written, and MPI is not needed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "preflight/dry_run.hpp"

namespace pillion::preflight {

struct CheckRequest {
  std::string file;
  std::string of;  ///< the run's configuration if `file` is an attached job's; else ""
  base::Parameters parameters;
  base::Overrides overrides;
  std::string catalogue;       ///< YAML that the program offers
  std::string catalogue_file;  ///< where it is from, for messages
  std::string restart;         ///< overrides the file's `restart`
  LaunchSize start;
};

struct Finding {
  std::string file;
  int line = 0;  ///< 0: none in particular
  std::string message;
};

struct CheckResult {
  std::vector<Finding> mistakes, notes;
  model::Configuration configuration;
  run::Chains in_simulation, in_sidecars;
  std::optional<DryRun> forecast;  ///< of the above, if there are no mistakes
};

/// Never throws for a mistake in the configuration.
std::unique_ptr<CheckResult> check(const CheckRequest& request);

/// What is allowed but unlikely to be meant: sentences, with "file:line: " first if they have a
/// place. `root` is the file.
std::vector<std::string> lint(const DryRun& forecast, const base::Value& root);

}  // namespace pillion::preflight
