// SPDX-License-Identifier: BSD-3-Clause
// The rows of a table over the run, to which publications add. Columns are kept as the host takes
// them, so that a writing takes what its new rows take, however long the run has been.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <pillion/stage.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pillion::stages {

class Rows {
 public:
  /// The next value of the row that is being made. All rows have the columns of the first one, in
  /// its order. The first column begins a row: what was left of one without an end is dropped.
  /// `role` is that of the column: a value, or a count or weight of the row.
  void add(std::string_view name, std::string_view units, double value,
           int32_t role = PILLION_COLUMN_VALUE) {
    auto& column = next(name, units, true);
    column.role = role;
    column.reals.push_back(value);
  }
  void add(std::string_view name, std::string_view units, int64_t value,
           int32_t role = PILLION_COLUMN_VALUE) {
    auto& column = next(name, units, false);
    column.role = role;
    column.integers.push_back(value);
  }
  void end_row() {
    if (next_ != columns_.size()) fail("ends before column " + columns_[next_].name);
    next_ = 0;
    ++count_;
  }

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] size_t columns() const { return columns_.size(); }
  /// The integers of a column; none if there is no such column.
  [[nodiscard]] std::span<const int64_t> integers(std::string_view name) const {
    const auto at = std::find_if(columns_.begin(), columns_.end(),
                                 [&](const Column& column) { return column.name == name; });
    if (at == columns_.end()) return {};
    return at->integers;
  }

  /// Puts the columns into a table, which must be written before rows are added; all but one, if
  /// its name is given. A row that a failed publication has begun is left out.
  void put_into(stage::Table& table, std::string_view but = {}) const {
    for (const auto& column : columns_) {
      if (column.name == but) continue;
      if (column.is_real)
        table.column(column.name, column.units, std::span(column.reals).first(count_));
      else table.column(column.name, column.units, std::span(column.integers).first(count_));
      table.role(column.role);
    }
    table.growing();
  }

  void save(const stage::State& state, const std::string& prefix = "rows") const {
    std::vector<char> described;
    for (const auto& column : columns_) {
      described.push_back(column.is_real ? 'r' : 'i');
      described.push_back(static_cast<char>('0' + column.role));
      for (const auto* text : {&column.name, &column.units}) {
        described.insert(described.end(), text->begin(), text->end());
        described.push_back('\0');
      }
    }
    state.save(prefix + "_columns", described);
    for (size_t c = 0; c < columns_.size(); ++c) {
      const auto name = prefix + "_" + std::to_string(c);
      if (columns_[c].is_real) state.save(name, columns_[c].reals);
      else state.save(name, columns_[c].integers);
    }
  }
  void restore(const stage::State& state, const std::string& prefix = "rows") {
    columns_.clear();
    next_ = count_ = 0;
    const auto described = state.load<char>(prefix + "_columns");
    for (size_t at = 0; at < described.size();) {
      const bool is_real = described[at++] == 'r';
      const int32_t role = at < described.size() ? described[at++] - '0' : 0;
      std::string texts[2];
      for (auto& text : texts)
        for (; at < described.size() && described[at++] != '\0';) text += described[at - 1];
      columns_.push_back({texts[0], texts[1], is_real, {}, {}, role});
    }
    for (size_t c = 0; c < columns_.size(); ++c) {
      const auto name = prefix + "_" + std::to_string(c);
      auto& column = columns_[c];
      if (column.is_real) column.reals = state.load<double>(name);
      else column.integers = state.load<int64_t>(name);
      const size_t size = column.is_real ? column.reals.size() : column.integers.size();
      if (c > 0 && size != count_)
        throw Error(ErrorCode::File, "the saved rows are not all of one length");
      count_ = size;
    }
  }

 private:
  struct Column {
    std::string name, units;
    bool is_real;
    std::vector<double> reals;
    std::vector<int64_t> integers;
    int32_t role = PILLION_COLUMN_VALUE;
  };

  Column& next(std::string_view name, std::string_view units, bool is_real) {
    if (next_ > 0 && name == columns_.front().name) drop_begun();
    if (count_ == 0 && next_ == columns_.size())
      columns_.push_back({std::string(name), {}, is_real, {}, {}, PILLION_COLUMN_VALUE});
    if (next_ == columns_.size() || columns_[next_].name != name ||
        columns_[next_].is_real != is_real)
      fail("has the column " + std::string(name) + ", which the first one has not there");
    auto& column = columns_[next_++];
    if (column.units != units) column.units = units;
    return column;
  }
  /// The row that a failed publication has begun.
  void drop_begun() {
    if (count_ == 0) columns_.clear();
    for (auto& column : columns_)
      if (column.is_real) column.reals.resize(count_);
      else column.integers.resize(count_);
    next_ = 0;
  }
  [[noreturn]] static void fail(const std::string& what) {
    throw Error(ErrorCode::Stage, "a row of a table " + what);
  }

  std::vector<Column> columns_;
  size_t next_ = 0;   ///< column of the row that is being made
  size_t count_ = 0;  ///< of whole rows
};

}  // namespace pillion::stages
