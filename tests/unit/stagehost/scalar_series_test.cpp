// SPDX-License-Identifier: BSD-3-Clause
#include "stagehost/scalar_series.hpp"

#include <doctest/doctest.h>
#include <pillion/stage.h>

#include <cmath>

using namespace pillion;
using namespace pillion::stagehost;
using products::ScalarValue;

TEST_CASE("scalars are looked up by step, also if they come and go") {
  ScalarSeries series;
  CHECK(series.empty());
  series.add(2, {{"a", "", 0.5}, {"gone", "", 1}});
  series.add(4, {{"a", "", 0.75}, {"gone", "", 1}});
  series.add(7, {{"a", "", 1}, {"b", "", 3}});
  const int64_t steps[] = {4, 7, 5, 2};
  const auto again = base::from_bytes<ScalarSeries>(base::to_bytes(series));
  for (const ScalarSeries* all : std::initializer_list<const ScalarSeries*>{&series, &again}) {
    const auto a = all->at("a", steps, 4);
    CHECK(a[0] == 0.75);
    CHECK(a[1] == 1);
    CHECK(std::isnan(a[2]));
    CHECK(a[3] == 0.5);
    const auto b = all->at("b", steps, 4);
    CHECK(b[1] == 3);
    CHECK((std::isnan(b[0]) && std::isnan(b[3])));
    CHECK(std::isnan(all->at("gone", steps, 1)[0]));
  }
}

TEST_CASE("a table over time gets a column for each scalar whose name is free") {
  ScalarSeries series;
  const std::vector<ScalarValue> scalars{{"a", "", 0.5}, {"mean", "", 9}};
  series.add(3, scalars);
  const int64_t step = 3;
  const double mean = 2;
  const pillion_column columns[] = {
      {sizeof(pillion_column), "step", "", nullptr, &step, 0, nullptr},
      {sizeof(pillion_column), "mean", "", &mean, nullptr, 0, nullptr}};
  pillion_table table{sizeof table, "t", "", 0, 2, 1, columns, nullptr, 0, 0};
  const TableWithScalars whole(table, &series, scalars);
  REQUIRE(whole.table().column_count == 3);
  CHECK(std::string(whole.table().columns[2].name) == "a");
  CHECK(whole.table().columns[2].reals[0] == 0.5);
  table.per_step = 1;
  CHECK(TableWithScalars(table, &series, scalars).table().column_count == 2);
  table.per_step = 0;
  table.columns = &columns[1];  // without steps there is nothing to look up by
  table.column_count = 1;
  CHECK(TableWithScalars(table, &series, scalars).table().column_count == 1);
}
