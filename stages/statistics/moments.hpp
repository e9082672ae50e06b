// SPDX-License-Identifier: BSD-3-Clause
// Moments of values, merged over blocks and ranks, and their series over time.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../common/elements.hpp"
#include "../common/sums.hpp"

namespace pillion::stages::statistics {

// Count, least, greatest, mean and spread of numbers seen in stretches. The sum of squared
// deviations is taken about the mean of each stretch and stretches are merged by the formula of
// Chan, Golub and LeVeque, so a small spread about a large mean keeps its digits.

struct Moments {
  int64_t count = 0;       ///< finite values
  int64_t not_finite = 0;  ///< NaN and infinities, left out of all else
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double mean = 0;
  double rest = 0;     ///< the mean is mean + rest
  double squares = 0;  ///< sum of squared deviations from the mean

  /// How far the mean lies above a number.
  [[nodiscard]] double above(double number) const { return (mean - number) + rest; }

  void merge(const Moments& other) {
    not_finite += other.not_finite;
    if (other.count == 0) return;
    const auto n = static_cast<double>(count), m = static_cast<double>(other.count);
    const double apart = other.above(mean) - rest;
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    squares += other.squares + apart * apart * (n * m / (n + m));
    if (count == 0) mean = other.mean, rest = other.rest;
    else move(rest + apart * (m / (n + m)));
    count += other.count;
  }

  /// Values beyond 1024 at a time are cut into stretches of that size.
  void add(std::span<const double> values) {
    std::array<double, 1024> finite;
    while (!values.empty()) {
      const auto stretch = values.first(std::min(values.size(), finite.size()));
      values = values.subspan(stretch.size());
      size_t n = 0;
      for (const double v : stretch) {
        finite[n] = v;
        n += std::isfinite(v) ? 1 : 0;
      }
      not_finite += static_cast<int64_t>(stretch.size() - n);
      merge(of_finite(finite.data(), static_cast<int64_t>(n)));
    }
  }

 private:
  /// Sets the mean to mean + offset.
  void move(double offset) {
    const double from = mean;
    mean = from + offset;
    rest = offset - (mean - from);
  }

  static Moments of_finite(const double* values, int64_t n) {
    Moments out;
    if (n == 0) return out;
    out.count = n;
    for (int64_t i = 0; i < n; ++i) {
      out.min = std::min(out.min, values[i]);
      out.max = std::max(out.max, values[i]);
    }
    const auto size = static_cast<double>(n);
    const double mean = sum_of(n, [=](int64_t i) { return values[i]; }) / size;
    out.mean = mean;
    out.rest = sum_of(n, [=](int64_t i) { return values[i] - mean; }) / size;
    out.squares = sum_of(n, [=](int64_t i) { return (values[i] - mean) * (values[i] - mean); }) -
                  size * out.rest * out.rest;
    return out;
  }
};

/// One row of the table: what is derived from moments. NaN where nothing was counted.
struct Summary {
  double min, max, mean, deviation, rms;
};

inline Summary summary_of(const Moments& m) {
  if (m.count == 0) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan, nan, nan, nan};
  }
  const double variance = std::max(0.0, m.squares / static_cast<double>(m.count));
  return {m.min, m.max, m.mean + m.rest, std::sqrt(variance),
          std::sqrt(m.mean * m.mean + variance)};
}

// One field of the stage `statistics`: reading this rank's part of it, the rows so far, the table
// they make, and their way to and from disk.

/// What is summarised: the only component, or each and then the magnitude.
inline std::vector<int32_t> components_of(const pillion_field_description& field) {
  std::vector<int32_t> out;
  for (int32_t c = 0; c < field.components; ++c) out.push_back(c);
  if (field.components > 1) out.push_back(magnitude_of_all);
  return out;
}

/// One field: how to read it, and the rows so far.
class MomentSeries {
 public:
  MomentSeries(const stage::Setup& setup, const std::string& name, const stage::Value& place)
      : name_(name),
        field_(setup.field(name, place)),
        mesh_(field_.mesh),
        components_(components_of(field_)),
        input_(setup.input(stage::Input::as_shared({name}))) {
    setup.product("statistics_" + name + ".csv");
  }

  [[nodiscard]] std::vector<Moments> look(const stage::Step& step) const {
    std::vector<Moments> out(components_.size());
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      const auto array = unfolded(block[0], field_);
      for (size_t p = 0; p < components_.size(); ++p)
        for_each_stretch(array, extent_of(block, field_), components_[p],
                         [&](std::span<const double> values) { out[p].add(values); });
    }
    return out;
  }

  void append(const stage::Step& step, std::vector<Moments> moments) {
    steps_.push_back(step.index());
    times_.push_back(step.time());
    coarsening_.push_back(one_of(step, mesh_, field_));
    moments_.insert(moments_.end(), moments.begin(), moments.end());
  }

  [[nodiscard]] stage::Table table(const stage::Step& step) const {
    stage::Table out("statistics_" + name_, "Statistics of " + name_);
    out.column("step", "", steps_).column("time", step.units("time"), times_);
    if (std::any_of(coarsening_.begin(), coarsening_.end(), [](int64_t n) { return n > 1; }))
      out.column("coarsening", "", coarsening_);
    const auto units = step.units(name_);
    for (size_t p = 0; p < components_.size(); ++p) add_columns(out, p, units);
    return out;
  }

  void save(const stage::State& state) const {
    state.save(name_ + "_steps", steps_);
    state.save(name_ + "_times", times_);
    state.save(name_ + "_coarsening", coarsening_);
    state.save(name_ + "_moments", moments_);
  }
  void restore(const stage::State& state) {
    steps_ = state.load<int64_t>(name_ + "_steps");
    times_ = state.load<double>(name_ + "_times");
    coarsening_ = state.load<int64_t>(name_ + "_coarsening");
    moments_ = state.load<Moments>(name_ + "_moments");
    if (moments_.size() != steps_.size() * components_.size())
      throw Error(ErrorCode::Configuration,
                  "the saved statistics of '" + name_ + "' have another number of components");
  }

  [[nodiscard]] size_t parts() const { return components_.size(); }
  [[nodiscard]] bool empty() const { return steps_.empty(); }

 private:
  void add_columns(stage::Table& table, size_t part, const std::string& units) const {
    std::vector<int64_t> count, not_finite;
    std::vector<double> min, max, mean, deviation, rms;
    for (size_t row = part; row < moments_.size(); row += components_.size()) {
      const auto summary = summary_of(moments_[row]);
      count.push_back(moments_[row].count);
      not_finite.push_back(moments_[row].not_finite);
      min.push_back(summary.min);
      max.push_back(summary.max);
      mean.push_back(summary.mean);
      deviation.push_back(summary.deviation);
      rms.push_back(summary.rms);
    }
    const auto ending = ending_of(components_[part], field_.components);
    table.column("count" + ending, "", std::move(count));
    table.column("not_finite" + ending, "", std::move(not_finite));
    table.column("min" + ending, units, std::move(min));
    table.column("max" + ending, units, std::move(max));
    table.column("mean" + ending, units, std::move(mean));
    table.column("standard_deviation" + ending, units, std::move(deviation));
    table.column("rms" + ending, units, std::move(rms));
  }

  std::string name_;
  pillion_field_description field_;
  std::string mesh_;
  std::vector<int32_t> components_;
  int32_t input_;
  std::vector<int64_t> steps_;
  std::vector<double> times_;
  std::vector<int64_t> coarsening_;  ///< of how many values each row saw one
  std::vector<Moments> moments_;
};

}  // namespace pillion::stages::statistics
