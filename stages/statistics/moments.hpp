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

#include "../common/cells.hpp"
#include "../common/elements.hpp"
#include "../common/patches.hpp"
#include "../common/rows.hpp"
#include "../common/sums.hpp"
#include "../common/volumes.hpp"

namespace pillion::stages::statistics {

// Count, least, greatest, mean and spread of numbers, each with a weight, seen in stretches. The
// sum of squared deviations is taken about the mean of each stretch and stretches are merged by the
// formula of Chan, Golub and LeVeque, so a small spread about a large mean keeps its digits.

struct Moments {
  int64_t count = 0;       ///< finite values
  double weight = 0;       ///< the sum of theirs
  int64_t not_finite = 0;  ///< NaN and infinities, left out of all else
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double mean = 0;
  double rest = 0;     ///< the mean is mean + rest
  double squares = 0;  ///< weighted sum of squared deviations from the mean

  /// How far the mean lies above a number.
  [[nodiscard]] double above(double number) const { return (mean - number) + rest; }

  void merge(const Moments& other) {
    not_finite += other.not_finite;
    if (other.count == 0 && !(other.weight > 0)) return;
    const double n = weight, m = other.weight;
    const double apart = other.above(mean) - rest;
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    if (count == 0 && !(n > 0)) mean = other.mean, rest = other.rest, squares = other.squares;
    else if (m > 0) {
      squares += other.squares + apart * apart * (n * m / (n + m));
      move(rest + apart * (m / (n + m)));
    }
    count += other.count;
    weight += other.weight;
  }

  /// Values of one weight. Those beyond 1024 at a time are cut into stretches of that size.
  void add(std::span<const double> values, double each = 1) {
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
      merge(of_finite(finite.data(), static_cast<int64_t>(n)).times(each));
    }
  }

  /// Up to 1024 values, each with a weight of its own.
  void add(std::span<const double> values, std::span<const double> weights) {
    std::array<double, 1024> finite, weight_of;
    size_t n = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      finite[n] = values[i];
      weight_of[n] = weights[i];
      n += std::isfinite(values[i]) ? 1 : 0;
    }
    not_finite += static_cast<int64_t>(values.size() - n);
    merge(of_weighted(finite.data(), weight_of.data(), static_cast<int64_t>(n)));
  }

  /// Takes the counts of values back, which are counted elsewhere. Their weights stay.
  void take_back(std::span<const double> values) {
    for (const double v : values) --(std::isfinite(v) ? count : not_finite);
  }

  /// Values that weigh, but are not counted: they lie between counted ones.
  void weigh(std::span<const double> values, std::span<const double> weights) {
    Moments out;
    out.add(values, weights);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    out.count = out.not_finite = 0;
    out.min = infinity;
    out.max = -infinity;
    merge(out);
  }

 private:
  /// Sets the mean to mean + offset.
  void move(double offset) {
    const double from = mean;
    mean = from + offset;
    rest = offset - (mean - from);
  }

  [[nodiscard]] Moments times(double each) const {
    Moments out = *this;
    out.weight *= each;
    out.squares *= each;
    return out;
  }

  void take_extremes(const double* values, int64_t n) {
    count = n;
    for (int64_t i = 0; i < n; ++i) {
      min = std::min(min, values[i]);
      max = std::max(max, values[i]);
    }
  }

  // As below, with every term times its weight. Values that weigh nothing have no mean.
  static Moments of_weighted(const double* values, const double* weights, int64_t n) {
    Moments out;
    if (n == 0) return out;
    out.take_extremes(values, n);
    out.weight = sum_of(n, [=](int64_t i) { return weights[i]; });
    if (!(out.weight > 0)) return out;
    const double mean = sum_of(n, [=](int64_t i) { return weights[i] * values[i]; }) / out.weight;
    out.mean = mean;
    out.rest = sum_of(n, [=](int64_t i) { return weights[i] * (values[i] - mean); }) / out.weight;
    out.squares =
        sum_of(n, [=](int64_t i) { return weights[i] * (values[i] - mean) * (values[i] - mean); }) -
        out.weight * out.rest * out.rest;
    return out;
  }

  static Moments of_finite(const double* values, int64_t n) {
    Moments out;
    if (n == 0) return out;
    out.take_extremes(values, n);
    out.weight = static_cast<double>(n);
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
  if (!(m.weight > 0)) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan, nan, nan, nan};
  }
  const double variance = std::max(0.0, m.squares / m.weight);
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
  MomentSeries(const stage::Setup& setup, const std::string& name, const stage::Value& place,
               VolumesByMesh& volumes)
      : name_(name),
        field_(setup.field(name, place)),
        mesh_(field_.mesh),
        components_(components_of(field_)),
        patches_(setup["patches"], field_),
        weighing_(setup, field_, place, volumes) {
    std::vector<std::string> fields = {name};
    weighing_.add_to(fields);
    input_ = setup.input(stage::Input::as_shared(fields).with_levels().with_points());
    setup.product("statistics_" + name + ".csv");
  }

  [[nodiscard]] std::vector<Moments> look(const stage::Step& step) {
    std::vector<Moments> out(components_.size());
    weighing_.find_shared(step, input_);
    for (int32_t b = 0; b < step.block_count(input_); ++b) {
      const auto block = step.block(input_, b);
      const auto array = unfolded(block[0], field_);
      const auto weights = patches_.among(weighing_.of(step, block), block);
      if (weighing_.samples_cells()) {
        sample(step, block, array, weights, out);
        continue;
      }
      for (size_t p = 0; p < components_.size(); ++p)
        for_each_weighted({&array, components_[p]}, extent_of(block, field_), weights,
                          [&](std::span<const double> values, std::span<const double> each) {
                            if (each.empty()) out[p].add(values, weights.each);
                            else out[p].add(values, each);
                          });
    }
    return out;
  }

  void append(const stage::Step& step, std::span<const Moments> moments) {
    const auto units = step.units(name_);
    const auto volume = is_weighted() ? volume_units(step.mesh(mesh_)).text() : std::string();
    rows_.add("step", "", step.index());
    rows_.add("time", step.units("time"), step.time());
    const int64_t coarsening = one_of(step, mesh_, field_);
    is_coarse_ = is_coarse_ || coarsening > 1;
    rows_.add("coarsening", "", coarsening);
    for (size_t p = 0; p < components_.size(); ++p) {
      const auto ending = ending_of(components_[p], field_.components);
      if (is_weighted())
        rows_.add("volume" + ending, volume, moments[p].weight, PILLION_COLUMN_WEIGHT);
      add(moments[p], ending, units);
    }
    rows_.end_row();
  }

  /// Whether values have different weights. The same on every peer.
  [[nodiscard]] bool is_weighted() const { return weighing_.is_by_volume(); }

  [[nodiscard]] stage::Table table() const {
    stage::Table out("statistics_" + name_, "Statistics of " + name_);
    rows_.put_into(out, is_coarse_ ? "" : "coarsening");
    if (is_weighted()) out.attribute("weighted", "by volume");
    return out;
  }

  void save(const stage::State& state) const { rows_.save(state, name_); }
  void restore(const stage::State& state) {
    rows_.restore(state, name_);
    const size_t columns = 3 + components_.size() * (is_weighted() ? 8 : 7);
    if (!rows_.empty() && rows_.columns() != columns)
      throw Error(ErrorCode::Configuration,
                  "the saved statistics of '" + name_ + "' have another number of components");
    const auto coarsening = rows_.integers("coarsening");
    is_coarse_ = std::any_of(coarsening.begin(), coarsening.end(), [](int64_t n) { return n > 1; });
  }

  [[nodiscard]] size_t parts() const { return components_.size(); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }

 private:
  /// Of values at points that cells share.
  void sample(const stage::Step& step, const stage::Block& block, const stage::Array& array,
              const CellWeights& weights, std::vector<Moments>& out) const {
    std::vector<Selected> all;
    for (const int32_t component : components_) all.push_back({&array, component});
    weighing_.for_each(step, block, all, weights,
                       [&](const std::vector<std::span<double>>& values,
                           std::span<const double> each, int32_t times) {
                         for (size_t p = 0; p < out.size(); ++p) {
                           if (times > 0) out[p].add(values[p], each);
                           else if (times == 0) out[p].weigh(values[p], each);
                           else out[p].take_back(values[p]);
                         }
                       });
  }
  void add(const Moments& moments, const std::string& ending, const std::string& units) {
    const auto summary = summary_of(moments);
    rows_.add("count" + ending, "", moments.count, PILLION_COLUMN_COUNT);
    rows_.add("not_finite" + ending, "", moments.not_finite);
    rows_.add("min" + ending, units, summary.min);
    rows_.add("max" + ending, units, summary.max);
    rows_.add("mean" + ending, units, summary.mean);
    rows_.add("standard_deviation" + ending, units, summary.deviation);
    rows_.add("rms" + ending, units, summary.rms);
  }

  std::string name_;
  pillion_field_description field_;
  std::string mesh_;
  std::vector<int32_t> components_;
  PatchChoice patches_;
  Weighing weighing_;
  int32_t input_ = 0;
  Rows rows_;
  bool is_coarse_ = false;  ///< some row saw one of several values
};

}  // namespace pillion::stages::statistics
