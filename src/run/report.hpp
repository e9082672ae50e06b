// SPDX-License-Identifier: BSD-3-Clause
// The run report and the timelines, made at the end of what every rank knows. A tree of ranks adds
// up the report, and each node writes its own timeline, so that no rank holds what grows with the
// number of ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "run/summary.hpp"

namespace pillion::run {

constexpr const char* report_name = "report.json";
constexpr const char* timeline_folder = "timeline";

/// The part of a run that a report is about: all of it, or what an attached job has added.
struct ReportScope {
  std::string attached_job;  ///< its name, which is in the names of the files; "" for the run
  size_t first = 0;          ///< number of its first analysis in the simulation's numbering
};

/// Counts as lost what attached jobs that died had worked on and not written, by what is in their
/// products. Reads the disk.
void count_unwritten(Run& run);

/// Writes report.json in the output folder.
void write_report(const Run& run, Summary summary, const ReportScope& scope = {});

/// Writes the timelines of this side: timeline/SIDE-RANK.json for each node, by the first rank of
/// the side there, whose number is in the name. [collective over the side] Throws the same error on
/// every rank if a file cannot be written.
void write_timelines(const Run& run, const ReportScope& scope = {});

/// Both, of what all ranks of this side know, and of what other ranks have told them: `more` holds
/// their summaries as bytes. The first rank writes the report. [collective over the side] Throws
/// the same error on every rank if a file cannot be written.
void write_report_together(const Run& run, const Outcome& outcome,
                           const std::vector<base::Bytes>& more = {},
                           const ReportScope& scope = {});

/// Writes the timelines of sidecars of the simulation's job, and tells the simulation that they
/// have finished and what they know for its report. Waits for no rank of the simulation.
/// [collective over the sidecars]
void report_to_simulation(Run& run);

}  // namespace pillion::run
