// SPDX-License-Identifier: BSD-3-Clause
// What a guest writes on the board of its seat: the analyses that it adds to a run, and the fields
// that they need.
#pragma once

#include "run/run_spec.hpp"

namespace pillion::run {

struct AttachedJob {
  std::string name;
  std::string text, file;  ///< YAML with `analyses:`
  base::Parameters parameters;
  CutFields needs;  ///< by analysis of the guest

  /// Its analyses, as an addition to those of a run, whose names are taken.
  [[nodiscard]] std::deque<model::AnalysisSpec> analyses(const model::Catalogue& catalogue,
                                                         const std::set<std::string>& taken) const;
};

base::Bytes bytes_of(const AttachedJob& attached_job);
AttachedJob read_attached_job(const base::Bytes& bytes);

}  // namespace pillion::run
