// SPDX-License-Identifier: BSD-3-Clause
// The manifest of a checkpoint: where the run was, and what is remembered of each analysis. What
// stages remember lies beside it, a folder for each analysis.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "run/agenda.hpp"

namespace pillion::run {

struct Manifest {
  int64_t step = 0;
  double time = 0;
  int64_t offset = 0;             ///< what was added to the program's steps
  std::vector<std::string> runs;  ///< ids of the run that made it and of the runs that it continued
  std::map<std::string, ScheduleState> analyses;
};

std::string format_manifest(const Manifest& manifest);
/// Throws ErrorCode::Configuration for what is no manifest of this version.
Manifest parse_manifest(const std::string& text, const std::string& file);

constexpr const char* manifest_name = "manifest.yaml";

}  // namespace pillion::run
