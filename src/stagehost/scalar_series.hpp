// SPDX-License-Identifier: BSD-3-Clause
// The scalars of all publications that a stage has worked on, so that tables over time have a
// column for each of them. They are a part of the stage's state.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/bytes.hpp"
#include "products/table.hpp"

namespace pillion::stagehost {

class ScalarSeries {
 public:
  /// Notes the scalars of a step. Steps come in ascending order.
  void add(int64_t step, const std::vector<products::ScalarValue>& scalars);
  [[nodiscard]] bool empty() const { return steps_.empty(); }
  /// The values of a scalar at these steps; not a number where they are not known.
  [[nodiscard]] std::vector<double> at(const std::string& scalar, const int64_t* steps,
                                       int64_t count) const;

  static constexpr auto members() {
    return std::tuple{&ScalarSeries::steps_, &ScalarSeries::values_};
  }

 private:
  std::vector<int64_t> steps_;
  std::map<std::string, std::vector<double>> values_;  ///< may begin later: the ends are aligned
};

/// A table over time with a column for each scalar beside its own.
class TableWithScalars {
 public:
  /// `table` stays. It is unchanged unless it has a column `step` and a name is still free.
  TableWithScalars(const pillion_table& table, const ScalarSeries* series,
                   const std::vector<products::ScalarValue>& scalars);
  TableWithScalars(const TableWithScalars&) = delete;
  TableWithScalars& operator=(const TableWithScalars&) = delete;
  ~TableWithScalars();
  [[nodiscard]] const pillion_table& table() const;

 private:
  struct Columns;
  std::unique_ptr<Columns> columns_;
};

}  // namespace pillion::stagehost
