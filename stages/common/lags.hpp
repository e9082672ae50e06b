// SPDX-License-Identifier: BSD-3-Clause
// Lags between publications: which there are, means over pairs of times at each of them, and their
// table.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <pillion/stage.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace pillion::stages {

// The statistics of each lag in a time correlation: the number of samples and their sums, per
// species and component. Lags are distinguished by their number of steps; the time of a lag is the
// mean over the origins that contributed, so unequal time steps do no harm. The number of lags is
// bounded.

/// Samples of one species at one lag, and the sums of the three components' terms.
struct Moment {
  int64_t samples = 0;
  std::array<double, 3> sum{};

  void add(const Moment& other) {
    samples += other.samples;
    for (int axis = 0; axis < 3; ++axis) sum[axis] += other.sum[axis];
  }
};

struct Lag {
  int64_t origins = 0;
  double time_sum = 0;
  std::vector<Moment> species;

  [[nodiscard]] double time() const { return time_sum / static_cast<double>(origins); }
};

class Lags {
 public:
  Lags(size_t species, size_t limit) : species_(species), limit_(limit) {}

  /// Adds one origin's samples. A new lag beyond the limit is left out, and counted.
  void add(int64_t steps, double time, std::span<const Moment> species) {
    if (!lags_.contains(steps) && lags_.size() >= limit_) {
      ++left_out_;
      return;
    }
    Lag& lag = lags_[steps];
    lag.species.resize(species_);
    ++lag.origins;
    lag.time_sum += time;
    for (size_t s = 0; s < species_; ++s) lag.species[s].add(species[s]);
  }

  [[nodiscard]] const std::map<int64_t, Lag>& all() const { return lags_; }
  [[nodiscard]] size_t size() const { return lags_.size(); }
  [[nodiscard]] int64_t left_out() const { return left_out_; }

  /// For saving: first left_out, then steps, origins and samples of each lag.
  [[nodiscard]] std::vector<int64_t> integers() const {
    std::vector<int64_t> out = {left_out_};
    for (const auto& [steps, lag] : lags_) {
      out.insert(out.end(), {steps, lag.origins});
      for (const auto& moment : lag.species) out.push_back(moment.samples);
    }
    return out;
  }
  /// For saving: the sum of times and the sums of terms of each lag.
  [[nodiscard]] std::vector<double> reals() const {
    std::vector<double> out;
    for (const auto& [steps, lag] : lags_) {
      out.push_back(lag.time_sum);
      for (const auto& moment : lag.species)
        out.insert(out.end(), moment.sum.begin(), moment.sum.end());
    }
    return out;
  }
  void restore(const std::vector<int64_t>& integers, const std::vector<double>& reals) {
    const size_t wide = 2 + species_, deep = 1 + 3 * species_;
    const size_t count = integers.empty() ? 0 : (integers.size() - 1) / wide;
    if (integers.size() != 1 + count * wide || reals.size() != count * deep)
      throw std::runtime_error("saved lags do not fit the species of this run");
    lags_.clear();
    left_out_ = integers[0];
    for (size_t n = 0; n < count; ++n) restore_lag(&integers[1 + n * wide], &reals[n * deep]);
  }

 private:
  void restore_lag(const int64_t* integers, const double* reals) {
    Lag& lag = lags_[integers[0]];
    lag.origins = integers[1];
    lag.time_sum = reals[0];
    for (size_t s = 0; s < species_; ++s) {
      const double* sum = reals + 1 + 3 * s;
      lag.species.push_back({integers[2 + s], {sum[0], sum[1], sum[2]}});
    }
  }

  size_t species_, limit_;
  int64_t left_out_ = 0;
  std::map<int64_t, Lag> lags_;
};

// Columns that tables of time correlations share: lags, and means per species, total and by
// component. A lag without samples has the mean NaN.

inline std::vector<double> lag_times(const Lags& lags) {
  std::vector<double> out;
  for (const auto& [steps, lag] : lags.all()) out.push_back(lag.time());
  return out;
}

inline void add_lags(stage::Table& table, const Lags& lags, const std::string& time_units) {
  std::vector<int64_t> steps;
  for (const auto& entry : lags.all()) steps.push_back(entry.first);
  table.column("lag", time_units, lag_times(lags));
  table.column("lag_steps", "", std::move(steps));
}

/// Adds QUANTITY_NAME, QUANTITY_x_NAME, …, samples_NAME; returns the first.
inline std::vector<double> add_means(stage::Table& table, const Lags& lags, size_t species,
                                     const std::string& quantity, const std::string& name,
                                     const std::string& units) {
  std::vector<double> total;
  std::array<std::vector<double>, 3> by_axis;
  std::vector<int64_t> samples;
  for (const auto& [steps, lag] : lags.all()) {
    const Moment& m = lag.species[species];
    const double n =
        m.samples > 0 ? static_cast<double>(m.samples) : std::numeric_limits<double>::quiet_NaN();
    total.push_back((m.sum[0] + m.sum[1] + m.sum[2]) / n);
    for (int axis = 0; axis < 3; ++axis) by_axis[axis].push_back(m.sum[axis] / n);
    samples.push_back(m.samples);
  }
  table.column(quantity + "_" + name, units, total);
  const char* const axes[] = {"_x_", "_y_", "_z_"};
  for (int axis = 0; axis < 3; ++axis)
    table.column(quantity + axes[axis] + name, units, std::move(by_axis[axis]));
  table.column("samples_" + name, "", std::move(samples))
      .role(PILLION_COLUMN_COUNT, quantity + "_" + name);
  return total;
}

}  // namespace pillion::stages
