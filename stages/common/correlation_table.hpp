// SPDX-License-Identifier: BSD-3-Clause
// Columns that tables of time correlations share: lags, and means per species, total and by
// component. A lag without samples has the mean NaN.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <pillion/stage.hpp>
#include <string>
#include <vector>

#include "lags.hpp"

namespace pillion::stages {

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
  table.column("samples_" + name, "", std::move(samples));
  return total;
}

}  // namespace pillion::stages
