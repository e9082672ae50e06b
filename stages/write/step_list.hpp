// SPDX-License-Identifier: BSD-3-Clause
// The steps that a dataset has whole, in order, alike on every peer.
#pragma once

#include <cstdint>
#include <pillion/stage.hpp>
#include <vector>

namespace pillion::stages {

struct StoredStep {
  int64_t step = 0;
  double time = 0;
  int64_t coarsening = 1;
  int64_t count = 0;  ///< of cells or particles
};

class StepList {
 public:
  /// Whether an earlier run's dataset is gone on with.
  [[nodiscard]] bool is_resumed() const { return is_resumed_; }
  [[nodiscard]] const std::vector<StoredStep>& steps() const { return steps_; }
  /// A run that resumes at an earlier step writes those after it anew.
  void add(const StoredStep& step) {
    while (!steps_.empty() && steps_.back().step >= step.step) steps_.pop_back();
    steps_.push_back(step);
  }

  void save(stage::State& state) const { state.save("steps", steps_); }
  void restore(stage::State& state) {
    steps_ = state.load<StoredStep>("steps");
    is_resumed_ = true;
  }

 private:
  std::vector<StoredStep> steps_;
  bool is_resumed_ = false;
};

}  // namespace pillion::stages
