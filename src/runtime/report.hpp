// SPDX-License-Identifier: BSD-3-Clause
// The run report and the timeline, made from what every rank has to say at the end.
#pragma once

#include "runtime/run.hpp"

namespace pillion::runtime {

/// What the simulation alone knows of the run.
struct Outcome {
  int64_t first_step = 0;
  int64_t last_step = 0;
  int64_t steps = 0;
  int64_t publications = 0;
  int64_t skipped = 0;
  double time = 0;
  size_t budget = 0;
  size_t peak = 0;  ///< bytes of staging memory that this rank used
};

constexpr const char* report_name = "report.json";
constexpr const char* timeline_name = "timeline.json";

/// Gathers what all ranks know and writes report.json and timeline.json in the output folder. On
/// sidecars the outcome is not looked at. [collective over the world] Throws the same error on
/// every rank if a file cannot be written.
void write_report(const Run& run, const Outcome& outcome);

}  // namespace pillion::runtime
