// SPDX-License-Identifier: BSD-3-Clause
// Scalars as a simulation rank sets them: which ones it has set. Names that the
// catalogue lacks and values that differ between ranks are reported once each.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "simulation/step_numbers.hpp"

namespace pillion::run {
struct Run;
}

namespace pillion::simulation {

class Sharing;

class Scalars {
 public:
  /// The values are those of the run.
  explicit Scalars(run::Run& run);

  /// Sets one as of now. A name that the catalogue lacks is a fault that `noting` notes, or, where
  /// that is null, a warning.
  void set(const std::string& name, double value, Sharing* noting);
  /// Throws unless all that conditions use have been set.
  void check(const std::set<size_t>& used) const;
  /// Warns that ranks differ in a number, the first time.
  void report(const std::optional<StepNumbers::Difference>& difference);

 private:
  run::Run& run_;
  std::vector<bool> set_;          ///< by scalar: whether the program has set it
  std::set<std::string> unknown_;  ///< names that were warned of
  std::set<std::string> differ_;   ///< numbers whose difference was reported
};

}  // namespace pillion::simulation
