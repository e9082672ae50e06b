// SPDX-License-Identifier: BSD-3-Clause
// What sidecars of another job will need, before there are any. Their stages are looked at in a
// process of their own, so that no library of a stage is ever loaded into the simulation, and none
// that is broken can hurt it.
#pragma once

#include "run/run_spec.hpp"

namespace pillion::run {

/// The program that attaches sidecars to runs: PILLION_ATTACH, or the one installed or built with
/// this library. Throws ErrorCode::Configuration if there is none.
std::string attach_program();

/// Asks that program. Throws what it says is wrong with the stages.
CutFields ask_cut_fields(const RunSpec& spec);

/// What the program answers: reads a word from one descriptor, writes the answer to the other.
void answer_cut_fields(int in, int out);

// What an attached job writes on the control page of its slot: the analyses that it adds to a run,
// and the fields that they need.

struct AttachedJob {
  std::string name;
  std::string text, file;  ///< YAML with `analyses:`
  base::Parameters parameters;
  CutFields needs;  ///< by analysis of the attached job

  /// Its analyses, as an addition to those of a run, whose names are taken.
  [[nodiscard]] std::deque<model::AnalysisSpec> analyses(const model::Catalogue& catalogue,
                                                         const std::set<std::string>& taken) const;

  static constexpr auto members() {
    return std::tuple{&AttachedJob::name, &AttachedJob::text, &AttachedJob::file,
                      &AttachedJob::parameters, &AttachedJob::needs};
  }
};

}  // namespace pillion::run
