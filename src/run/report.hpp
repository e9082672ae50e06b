// SPDX-License-Identifier: BSD-3-Clause
// The run report and the timeline, made from what every rank has to say at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"

namespace pillion::comm {
class Communicator;
}

namespace pillion::run {

struct Run;

/// What the simulation alone knows of the run.
struct Outcome {
  double started = 0;  ///< calendar seconds
  int64_t first_step = 0;
  int64_t last_step = 0;
  int64_t steps = 0;
  int64_t publications = 0;
  int64_t skipped = 0;
  int64_t restarts = 0;  ///< of sidecars
  double time = 0;
  size_t budget = 0;
  size_t peak = 0;       ///< bytes of staging memory that this rank used
  int64_t in_place = 0;  ///< bytes of this rank that sidecars read where they were
  int64_t direct = 0;    ///< bytes of this rank that went at once where stages wanted them
};

constexpr const char* report_name = "report.json";
constexpr const char* timeline_name = "timeline.json";

/// What one rank has to say, with or without its timeline. On sidecars the outcome is not looked
/// at.
base::Bytes state(const Run& run, const Outcome& outcome, bool timeline = true);

/// The part of a run that a report is about: all of it, or what an attached job has added.
struct ReportScope {
  std::string suffix;  ///< of the names of its files, before the dot
  size_t first = 0;    ///< number of its first analysis in the simulation's numbering
};

/// Writes report.json and timeline.json in the output folder, from what ranks have to say.
void write_report(const Run& run, const std::vector<base::Bytes>& statements,
                  const ReportScope& part = {});

/// The same with what all ranks of `ranks` know; the first of them writes. [collective over
/// `ranks`] Throws the same error on every rank if a file cannot be written.
void write_report_together(const Run& run, const comm::Communicator& ranks, const Outcome& outcome,
                           std::vector<base::Bytes> more = {}, const ReportScope& part = {});

}  // namespace pillion::run
