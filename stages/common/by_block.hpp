// SPDX-License-Identifier: BSD-3-Clause
// What a stage keeps of each block from step to step. When a program divides its mesh again, what
// belonged to blocks before must not stay in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace pillion::stages {

template <class T>
class ByBlock {
 public:
  /// What is kept of a block, asked for at a step; a new T if it was not asked for at the step
  /// before. References are good until the step changes.
  T& at(int64_t step, int64_t block) {
    if (step != step_) {
      std::erase_if(kept_, [&](const auto& of) { return of.second.step != step_; });
      step_ = step;
    }
    Kept& found = kept_[block];
    found.step = step;
    return found.value;
  }
  /// The number of blocks that have something.
  [[nodiscard]] size_t size() const { return kept_.size(); }

 private:
  struct Kept {
    int64_t step = 0;
    T value;
  };
  int64_t step_ = 0;  ///< the last one
  std::map<int64_t, Kept> kept_;
};

}  // namespace pillion::stages
