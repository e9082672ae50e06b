// SPDX-License-Identifier: BSD-3-Clause
// What the executions of a run before this one have done: a checkpoint holds it, and the execution
// that resumes from there adds its own numbers where it shows any.
#pragma once

#include <tuple>
#include <vector>

#include "run/costs.hpp"
#include "stagehost/sink.hpp"

namespace pillion::run {

/// Of a run that is not resumed, nothing.
struct Earlier {
  StepCounts steps;
  std::vector<Counts> counts;  ///< by analysis; none for one that starts from scratch
  std::vector<stagehost::Product> products;

  /// Zeros for an analysis that is new.
  [[nodiscard]] Counts of(size_t analysis) const {
    return analysis < counts.size() ? counts[analysis] : Counts();
  }

  static constexpr auto members() {
    return std::tuple{&Earlier::steps, &Earlier::counts, &Earlier::products};
  }
};

}  // namespace pillion::run
