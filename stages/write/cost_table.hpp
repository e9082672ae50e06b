// SPDX-License-Identifier: BSD-3-Clause
// The table of what writing a dataset took, with a row for each step.
#pragma once

#include <chrono>
#include <cstdint>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <utility>

#include "../common/rows.hpp"

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
    begin_row(step, seconds, bytes);
    rows_.end_row();
  }
  /// The same with a column of the stage's own, with the same value on every peer.
  void add(const stage::Step& step, double seconds, int64_t bytes, const char* name,
           int64_t value) {
    begin_row(step, seconds, bytes);
    rows_.add(name, "", value);
    rows_.end_row();
  }
  [[nodiscard]] stage::Table table() const {
    stage::Table out(name_, title_);
    rows_.put_into(out);
    return out;
  }
  void save(const stage::State& state) const { rows_.save(state, "costs"); }
  void restore(const stage::State& state) { rows_.restore(state, "costs"); }

 private:
  void begin_row(const stage::Step& step, double seconds, int64_t bytes) {
    step.max(std::span(&seconds, 1));
    step.sum(std::span(&bytes, 1));
    rows_.add("step", "", step.index());
    rows_.add("write_seconds", "s", seconds);
    rows_.add("bytes", "", bytes);
  }

  std::string name_, title_;
  Rows rows_;
};

}  // namespace pillion::stages::write
