// SPDX-License-Identifier: BSD-3-Clause
// The table of what writing a dataset took, with a row for each step.
#pragma once

#include <chrono>
#include <cstdint>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pillion::stages::write {

/// Measures from its construction.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

class CostTable {
 public:
  CostTable(std::string name, std::string title)
      : name_(std::move(name)), title_(std::move(title)) {}

  /// Adds a step: the longest time of all peers, and the sum of what they wrote. [peers]
  void add(const stage::Step& step, double seconds, int64_t bytes) {
    step.max(std::span(&seconds, 1));
    step.sum(std::span(&bytes, 1));
    steps_.push_back(step.index());
    seconds_.push_back(seconds);
    bytes_.push_back(bytes);
  }
  /// A stage may add columns to it.
  [[nodiscard]] stage::Table table() const {
    stage::Table out(name_, title_);
    out.column("step", "", steps_).column("write_seconds", "s", seconds_);
    out.column("bytes", "", bytes_);
    return out;
  }
  void save(stage::State& state) const {
    state.save("written", steps_);
    state.save("seconds", seconds_);
    state.save("bytes", bytes_);
  }
  void restore(stage::State& state) {
    steps_ = state.load<int64_t>("written");
    seconds_ = state.load<double>("seconds");
    bytes_ = state.load<int64_t>("bytes");
  }

 private:
  std::string name_, title_;
  std::vector<int64_t> steps_, bytes_;
  std::vector<double> seconds_;
};

}  // namespace pillion::stages::write
