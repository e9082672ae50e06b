// SPDX-License-Identifier: BSD-3-Clause
// What ranks know for the report, added up. Summaries of any ranks join to one of all of them, in
// the order of ranks, so that a tree of ranks makes the report and its size does not grow with the
// number of ranks: apart from products and messages to people, which few ranks have.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "base/bytes.hpp"
#include "run/costs.hpp"
#include "run/run.hpp"
#include "stagehost/sink.hpp"

namespace pillion::run {

/// What the simulation alone knows of the run.
struct Outcome {
  double started = 0;  ///< calendar seconds
  StepCounts counts;   ///< since the run first began
  int64_t last_step = 0;
  int64_t restarts = 0;  ///< of sidecars
  double time = 0;
  size_t budget = 0;
  size_t peak = 0;              ///< bytes of staging memory that this rank used
  int64_t in_place = 0;         ///< bytes of this rank that sidecars read where they were
  int64_t direct = 0;           ///< bytes of this rank that went at once where stages wanted them
  int64_t thread_level = -1;    ///< of MPI, as comm::thread_level has it
  bool is_provisional = false;  ///< sidecars had not finished, and may write products after this
};

/// Of a number of each rank.
struct SumMax {
  double sum = 0;
  double max = 0;
};

/// The costs of one analysis on the ranks of one side.
struct AnalysisSummary {
  int64_t ranks = 0;
  CostCounters first;  ///< of the first rank
  SumMax simulation_seconds, waiting, copy_seconds;
  SumMax sidecar_seconds, sidecar_waiting, stall_seconds, closing_seconds;
  int64_t bytes = 0;              ///< of all ranks
  int64_t spilled = 0, lost = 0;  ///< the most of a rank
  std::string disabled;           ///< why, by the first rank that has a reason

  static constexpr auto members() {
    using A = AnalysisSummary;
    return std::tuple{&A::ranks,           &A::first,         &A::simulation_seconds,
                      &A::waiting,         &A::copy_seconds,  &A::sidecar_seconds,
                      &A::sidecar_waiting, &A::stall_seconds, &A::closing_seconds,
                      &A::bytes,           &A::spilled,       &A::lost,
                      &A::disabled};
  }
};

struct SideSummary {
  int64_t ranks = 0;
  Outcome outcome;  ///< of the first rank
  int64_t peak = 0;
  int64_t exchanging = 0;            ///< bytes of node memory for plans, the most of a rank
  int64_t in_place = 0, direct = 0;  ///< of all ranks
  std::vector<AnalysisSummary> analyses;
  std::vector<AnalysisSummary> departed;  ///< of Run::departed
  std::vector<MigrationRecord> moves;     ///< of the first rank; all have the same

  static constexpr auto members() {
    using S = SideSummary;
    return std::tuple{&S::ranks,  &S::outcome,  &S::peak,     &S::exchanging, &S::in_place,
                      &S::direct, &S::analyses, &S::departed, &S::moves};
  }
};

struct Summary {
  SideSummary simulation, sidecars;
  std::vector<stagehost::Product> products;
  std::vector<std::string> warnings;
  std::vector<std::string> remarks;

  static constexpr auto members() {
    using S = Summary;
    return std::tuple{&S::simulation, &S::sidecars, &S::products, &S::warnings, &S::remarks};
  }
};

/// The costs of an analysis on one rank.
AnalysisSummary summary_of(const CostCounters& costs, const std::string& disabled);

/// What became of the publications of an analysis in this execution, by what both sides know.
/// Without sidecars there, what the simulation has handed on and not counted as lost is taken to be
/// worked on.
Counts counts_of(const model::Configuration& configuration, const model::AnalysisSpec& analysis,
                 const AnalysisSummary& here, const AnalysisSummary& there);

/// Whether a list has a product of that name, perhaps with another last file.
bool lists(const std::vector<stagehost::Product>& products, const stagehost::Product& product);

/// What one rank knows. On sidecars the outcome is ignored, but for what it says of memory.
Summary summary_of(const Run& run, const Outcome& outcome);

/// Adds what later ranks know.
void join(Summary& to, Summary later);

}  // namespace pillion::run
