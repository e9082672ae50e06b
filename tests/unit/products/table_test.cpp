// SPDX-License-Identifier: BSD-3-Clause
#include "products/table.hpp"

#include <doctest/doctest.h>
#include <pillion/stage.h>
#include <yaml-cpp/yaml.h>

#include <cmath>
#include <sstream>
#include <vector>

#include "base/error.hpp"

using namespace pillion;
using namespace pillion::products;

namespace {

/// The head of a table, read as its readers do.
YAML::Node head_of(const std::string& text, std::string& rows) {
  std::istringstream in(text);
  std::string head;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("# ")) head += line.substr(2) + "\n";
    else rows += line + "\n";
  return YAML::Load(head);
}

}  // namespace

TEST_CASE("a table reads back as it was, head and rows") {
  const std::vector<double> r = {0.1, 1e-300, std::nan("")};
  const std::vector<int64_t> n = {1, -2, int64_t{1} << 60};
  const pillion_column columns[] = {
      {sizeof(pillion_column), "r", "Å", r.data(), nullptr, 0, nullptr},
      {sizeof(pillion_column), "n", "", nullptr, n.data(), PILLION_COLUMN_COUNT, "r"}};
  const pillion_attribute attributes[] = {{"D", "m^2/s", nullptr, 1e-05},
                                          {"how", "", "\"odd\"\n", 0}};
  const pillion_table table{sizeof table, "rdf", "A title", 0, 2, 3, columns, attributes, 2, 0};
  Origin origin{
      "12e4", "structure", "rdf", 0, "output: x\n\tanalyses:  \"y\" # z\n", {{"n", "4"}}, "fs", 50,
      2.5,    3,           1,     {}};
  std::string rows;
  const auto head = head_of(format_table(table, origin), rows);
  CHECK(head["pillion"].as<std::string>() == "table 1");
  CHECK(head["run"].as<std::string>() == "12e4");
  CHECK(head["run"].Tag() == "!");  // a text to every reader, whatever its digits look like
  CHECK(head["step"].as<int64_t>() == 50);
  CHECK(head["time"].as<double>() == 2.5);
  CHECK(head["skipped"].as<int>() == 1);
  CHECK(head["columns"][0]["units"].as<std::string>() == "Å");
  CHECK(!head["columns"][0]["role"]);
  CHECK(head["columns"][1]["role"].as<std::string>() == "count");
  CHECK(head["columns"][1]["of"].as<std::string>() == "r");
  CHECK(head["attributes"][0]["value"].as<double>() == 1e-05);
  CHECK(head["attributes"][1]["value"].as<std::string>() == "\"odd\"\n");
  CHECK(head["parameters"]["n"].as<std::string>() == "4");
  CHECK(head["configuration"].as<std::string>() == origin.configuration);
  CHECK(rows == "r,n\n0.1,1\n1e-300,-2\nnan,1152921504606846976\n");
  CHECK(table_path(table, origin) == "structure/rdf.csv");
}

TEST_CASE("tables of one step carry it in their name; senseless ones are refused") {
  const double x = 1;
  const pillion_column column{sizeof(pillion_column), "x", "", &x, nullptr, 0, nullptr};
  pillion_table table{sizeof table, "t", "", 1, 1, 1, &column, nullptr, 0, 0};
  Origin origin;
  origin.analysis = "a";
  origin.stage = "s";
  origin.step = 50;
  CHECK(table_path(table, origin) == "a/t.000000050.csv");
  table.name = "../t";
  CHECK_THROWS_AS(format_table(table, origin), Error);
  table.name = "t";
  table.column_count = 0;
  CHECK_THROWS_AS(format_table(table, origin), Error);
}

TEST_CASE("a column that is about another one names a value of the table, in its units") {
  const double x = 1;
  const auto written = [&](int32_t role, const char* of, const char* units = "m") {
    const pillion_column columns[] = {
        {sizeof(pillion_column), "x", "m", &x, nullptr, PILLION_COLUMN_VALUE, nullptr},
        {sizeof(pillion_column), "dx", "m", &x, nullptr, PILLION_COLUMN_ERROR, "x"},
        {sizeof(pillion_column), "y", units, &x, nullptr, role, of}};
    const pillion_table table{sizeof table, "t", "", 0, 3, 1, columns, nullptr, 0, 0};
    return format_table(table, Origin{});
  };
  CHECK(written(PILLION_COLUMN_LOWER, "x").find("role: lower, of: \"x\"") != std::string::npos);
  CHECK(written(PILLION_COLUMN_COUNT, nullptr, "").find("role: count}") != std::string::npos);
  CHECK_NOTHROW(written(PILLION_COLUMN_WEIGHT, "x", "kg"));
  CHECK_THROWS_WITH(written(PILLION_COLUMN_ERROR, "z"), doctest::Contains("not a column"));
  CHECK_THROWS_WITH(written(PILLION_COLUMN_ERROR, "dx"), doctest::Contains("not a column"));
  CHECK_THROWS_WITH(written(PILLION_COLUMN_ERROR, ""), doctest::Contains("must name a column"));
  CHECK_THROWS_WITH(written(PILLION_COLUMN_ERROR, "x", "km"), doctest::Contains("units 'km'"));
  CHECK_THROWS_WITH(written(PILLION_COLUMN_VALUE, "x"), doctest::Contains("only other roles"));
  CHECK_THROWS_WITH(written(6, nullptr), doctest::Contains("role 6"));
}

TEST_CASE("names of columns that CSV gives a meaning stand in quotes") {
  const double x = 1;
  const auto names_of = [&](std::initializer_list<const char*> names) {
    std::vector<pillion_column> columns;
    for (const char* name : names)
      columns.push_back({sizeof(pillion_column), name, "", &x, nullptr, 0, nullptr});
    const pillion_table table{
        sizeof table,   "t",     "", 0, static_cast<int32_t>(columns.size()), 1,
        columns.data(), nullptr, 0,  0};
    std::string rows;
    const auto head = head_of(format_table(table, Origin{}), rows);
    size_t n = 0;
    for (const char* name : names) CHECK(head["columns"][n++]["name"].as<std::string>() == name);
    return rows.substr(0, rows.find('\n'));
  };
  CHECK(names_of({"a", "T(0,0)", "say \"x\"", "b"}) == "a,\"T(0,0)\",\"say \"\"x\"\"\",b");
  CHECK(names_of({"#a", " b", "it's", ""}) == "\"#a\",\" b\",\"it's\",\"\"");
  CHECK_THROWS_AS(names_of({"a", "a"}), Error);
  CHECK_THROWS_AS(names_of({"a\nb"}), Error);
}

TEST_CASE("names of products that no file can have are refused") {
  CHECK(fault_of_product_name("statistics_mole fraction.csv").empty());
  const std::vector<std::string> names{"", "a/b.csv", ".a", "a\x01", std::string(221, 'x')};
  for (const auto& name : names) CHECK_MESSAGE(!fault_of_product_name(name).empty(), name);
}

TEST_CASE("the head has the parameters of the stage") {
  const double x = 1;
  const pillion_column column{sizeof(pillion_column), "x", "", &x, nullptr, 0, nullptr};
  const pillion_table table{sizeof table, "t", "", 0, 1, 1, &column, nullptr, 0, 0};
  Origin origin;
  origin.stage_parameters = R"({"field": "u", "bins": 10})";
  std::string rows;
  const auto head = head_of(format_table(table, origin), rows);
  CHECK(head["stage_parameters"]["bins"].as<int>() == 10);
  CHECK(head["stage_parameters"]["field"].as<std::string>() == "u");
}

TEST_CASE("tables of one step have the run's scalars as attributes") {
  const double x = 1;
  const pillion_column column{sizeof(pillion_column), "x", "", &x, nullptr, 0, nullptr};
  const pillion_attribute own{"a", "own", nullptr, 7};
  pillion_table table{sizeof table, "t", "", 1, 1, 1, &column, &own, 1, 0};
  Origin origin;
  origin.scalars = {{"a", "", 0.5}, {"dt", "Gyr", 1e-05}};
  std::string rows;
  auto head = head_of(format_table(table, origin), rows);
  REQUIRE(head["attributes"].size() == 2);
  CHECK(head["attributes"][0]["units"].as<std::string>() == "own");
  CHECK(head["attributes"][1]["name"].as<std::string>() == "dt");
  CHECK(head["attributes"][1]["value"].as<double>() == 1e-05);
  CHECK(head["attributes"][1]["units"].as<std::string>() == "Gyr");
  CHECK(head["scalars"]["a"]["value"].as<double>() == 0.5);
  table.per_step = 0;
  CHECK(head_of(format_table(table, origin), rows)["attributes"].size() == 1);
}
