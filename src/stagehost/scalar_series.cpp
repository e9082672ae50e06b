// SPDX-License-Identifier: BSD-3-Clause
// Looking scalars up by step.
#include "stagehost/scalar_series.hpp"

#include <pillion/stage.h>

#include <algorithm>
#include <limits>
#include <string_view>

namespace pillion::stagehost {

void ScalarSeries::add(int64_t step, const std::vector<products::ScalarValue>& scalars) {
  if (scalars.empty()) return;
  steps_.push_back(step);
  for (const auto& scalar : scalars) values_[scalar.name].push_back(scalar.value);
  // A scalar that the configuration has no more, after a restart.
  std::erase_if(values_, [&](const auto& entry) {
    return std::none_of(scalars.begin(), scalars.end(),
                        [&](const auto& scalar) { return scalar.name == entry.first; });
  });
}

std::vector<double> ScalarSeries::at(const std::string& scalar, const int64_t* steps,
                                     int64_t count) const {
  std::vector<double> out(static_cast<size_t>(count), std::numeric_limits<double>::quiet_NaN());
  const auto known = values_.find(scalar);
  if (known == values_.end()) return out;
  const auto& values = known->second;
  const size_t before = steps_.size() - values.size();  // steps without it
  for (size_t row = 0; row < out.size(); ++row) {
    const auto at = std::lower_bound(steps_.begin(), steps_.end(), steps[row]);
    const auto place = static_cast<size_t>(at - steps_.begin());
    if (at != steps_.end() && *at == steps[row] && place >= before)
      out[row] = values[place - before];
  }
  return out;
}

struct TableWithScalars::Columns {
  pillion_table table;
  std::vector<pillion_column> all;
  std::vector<std::vector<double>> values;
};

TableWithScalars::TableWithScalars(const pillion_table& table, const ScalarSeries* series,
                                   const std::vector<products::ScalarValue>& scalars)
    : columns_(new Columns{table, {}, {}}) {
  if (table.per_step == 1 || series == nullptr || scalars.empty() || table.column_count < 1) return;
  auto& all = columns_->all;
  all.assign(table.columns, table.columns + table.column_count);
  const auto named = [&](std::string_view name) {
    return std::find_if(all.begin(), all.end(), [&](const auto& c) { return name == c.name; });
  };
  const auto step = named("step");
  if (step == all.end() || step->integers == nullptr) return;
  const int64_t* steps = step->integers;
  for (const auto& scalar : scalars) {
    if (named(scalar.name) != all.end()) continue;
    columns_->values.push_back(series->at(scalar.name, steps, table.rows));
    all.push_back({sizeof(pillion_column), scalar.name.c_str(), scalar.units.c_str(),
                   columns_->values.back().data(), nullptr, PILLION_COLUMN_VALUE, nullptr});
  }
  columns_->table.columns = all.data();
  columns_->table.column_count = static_cast<int32_t>(all.size());
}

TableWithScalars::~TableWithScalars() = default;

const pillion_table& TableWithScalars::table() const { return columns_->table; }

}  // namespace pillion::stagehost
