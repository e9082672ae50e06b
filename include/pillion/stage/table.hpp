// SPDX-License-Identifier: BSD-3-Clause
// A table product on its way from a stage to the host, which writes it whole or not at all.
#pragma once

#include <cstdint>
#include <pillion/stage/host.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pillion::stage {

/// A table product, filled column by column.
class Table {
 public:
  explicit Table(std::string name, std::string title = {})
      : name_(std::move(name)), title_(std::move(title)) {}

  Table& column(std::string name, std::string units, std::vector<double> values) {
    auto& added = add(std::move(name), std::move(units), true);
    added.reals = std::move(values);
    return *this;
  }
  Table& column(std::string name, std::string units, std::vector<int64_t> values) {
    auto& added = add(std::move(name), std::move(units), false);
    added.integers = std::move(values);
    return *this;
  }
  /// The same with values that stay where they are until the table is written.
  Table& column(std::string name, std::string units, std::span<const double> values) {
    add(std::move(name), std::move(units), true).lent_reals = values;
    return *this;
  }
  Table& column(std::string name, std::string units, std::span<const int64_t> values) {
    add(std::move(name), std::move(units), false).lent_integers = values;
    return *this;
  }
  /// What the last column is: PILLION_COLUMN_ERROR and so on. `of` is the column that it is about.
  Table& role(int32_t role, std::string of = {}) {
    columns_.back().role = role;
    columns_.back().of = std::move(of);
    return *this;
  }
  /// A number that belongs to the whole table.
  Table& attribute(std::string name, double value, std::string units = {}) {
    attributes_.push_back({std::move(name), std::move(units), {}, value, false});
    return *this;
  }
  Table& attribute(std::string name, std::string text) {
    attributes_.push_back({std::move(name), {}, std::move(text), 0, true});
    return *this;
  }
  /// One file for every step, rather than one that each writing replaces.
  Table& per_step() {
    per_step_ = true;
    return *this;
  }

  /// The rows are those of all peers, in their order, not the first peer's alone. All peers must
  /// have the same columns; some may have no rows.
  Table& in_parts() {
    in_parts_ = true;
    return *this;
  }

  /// Rows that an earlier writing had are as they were, so that only those behind them are added to
  /// the file. For tables with a row for every publication: what a writing takes does not grow with
  /// the run. Give the columns as spans.
  Table& growing() {
    growing_ = true;
    return *this;
  }

  [[nodiscard]] int32_t write(const pillion_stage_host* host, pillion_work* work) const;

 private:
  struct Column {
    std::string name, units;
    std::vector<double> reals;
    std::vector<int64_t> integers;
    std::span<const double> lent_reals;  ///< instead of these
    std::span<const int64_t> lent_integers;
    bool is_real;
    int32_t role = PILLION_COLUMN_VALUE;
    std::string of{};

    [[nodiscard]] std::span<const double> all_reals() const {
      return reals.empty() ? lent_reals : std::span(reals);
    }
    [[nodiscard]] std::span<const int64_t> all_integers() const {
      return integers.empty() ? lent_integers : std::span(integers);
    }
  };
  Column& add(std::string name, std::string units, bool is_real) {
    columns_.push_back({std::move(name), std::move(units), {}, {}, {}, {}, is_real});
    return columns_.back();
  }
  struct Attribute {
    std::string name, units, text;
    double value;
    bool is_text;
  };
  std::string name_, title_;
  bool per_step_ = false, in_parts_ = false, growing_ = false;
  std::vector<Column> columns_;
  std::vector<Attribute> attributes_;
};

inline int32_t Table::write(const pillion_stage_host* host, pillion_work* work) const {
  std::vector<pillion_column> columns;
  int64_t rows = 0;
  // A column without rows has a type all the same.
  constexpr double no_real = 0;
  constexpr int64_t no_integer = 0;
  for (const auto& c : columns_) {
    const auto reals = c.all_reals();
    const auto integers = c.all_integers();
    const double* first_real = reals.empty() ? &no_real : reals.data();
    const int64_t* first_integer = integers.empty() ? &no_integer : integers.data();
    columns.push_back({sizeof(pillion_column), c.name.c_str(), c.units.c_str(),
                       c.is_real ? first_real : nullptr, c.is_real ? nullptr : first_integer,
                       c.role, c.of.c_str()});
    const auto size = static_cast<int64_t>(c.is_real ? reals.size() : integers.size());
    if (columns.size() == 1) rows = size;
    if (size != rows)
      throw Error(ErrorCode::Stage,
                  "table " + name_ + ": column " + c.name + " has another length than the first");
  }
  std::vector<pillion_attribute> attributes;
  for (const auto& a : attributes_)
    attributes.push_back(
        {a.name.c_str(), a.units.c_str(), a.is_text ? a.text.c_str() : nullptr, a.value});
  pillion_table table{};
  table.size = sizeof table;
  table.name = name_.c_str();
  table.title = title_.c_str();
  table.per_step = growing_ ? 2 : per_step_ ? 1 : 0;
  table.in_parts = in_parts_ ? 1 : 0;
  table.column_count = static_cast<int32_t>(columns.size());
  table.rows = rows;
  table.columns = columns.data();
  table.attributes = attributes.data();
  table.attribute_count = static_cast<int32_t>(attributes.size());
  return host->write_table(work, &table);
}

}  // namespace pillion::stage
