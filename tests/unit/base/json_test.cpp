// SPDX-License-Identifier: BSD-3-Clause
// JSON that we write, read and written again by nlohmann's library.
#include "base/json.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

using namespace pillion::base;

TEST_CASE("a tree of every kind of value is text that another library writes alike") {
  Json tree = {{"truth", true},
               {"least", std::numeric_limits<int64_t>::min()},
               {"unsigned", uint32_t{4294967295}},
               {"real", 0.1},
               {"whole", 3.0},
               {"tiny", 5e-324},
               {"text", "a \"b\"\n\t\\ é \x01"},
               {"texts", std::vector<std::string>{"one", "two"}},
               {"numbers", std::map<std::string, int64_t>{{"a", 1}, {"b", 2}}},
               {"nothing", Json()},
               {"no elements", Json::array()},
               {"no entries", Json::object()},
               {"nested", {{"deeper", {{"deepest", 1}}}}}};
  Json list;
  list.push_back(1);
  list.push_back({{"name", "x"}});
  list.push_back(Json::array());
  tree["list"] = std::move(list);
  tree["later"]["added"] = 2;
  tree["truth"] = false;
  for (const int indent : {-1, 0, 2, 4}) {
    CAPTURE(indent);
    const auto text = format_json(tree, indent);
    const auto read = nlohmann::ordered_json::parse(text);
    CHECK(read.dump(indent) == text);
    CHECK(read.size() == 15);
    CHECK(read["truth"] == false);
    CHECK(read["least"] == std::numeric_limits<int64_t>::min());
    CHECK(read["unsigned"] == 4294967295);
    CHECK(read["real"] == 0.1);
    CHECK(read["tiny"] == 5e-324);
    CHECK(read["text"] == "a \"b\"\n\t\\ é \x01");
    CHECK(read["texts"] == nlohmann::ordered_json{"one", "two"});
    CHECK(read["numbers"]["b"] == 2);
    CHECK(read["nothing"].is_null());
    CHECK(read["no elements"].is_array());
    CHECK(read["no entries"].is_object());
    CHECK(read["nested"]["deeper"]["deepest"] == 1);
    CHECK(read["list"].size() == 3);
    CHECK(read["list"][1]["name"] == "x");
    CHECK(read["later"]["added"] == 2);
  }
}

TEST_CASE("entries keep their order, and numbers that are not finite are null") {
  Json tree;
  tree["z"] = std::numeric_limits<double>::infinity();
  tree["a"] = std::numeric_limits<double>::quiet_NaN();
  tree["z"] = -std::numeric_limits<double>::infinity();
  CHECK(format_json(tree) == R"({"z":null,"a":null})");
}

TEST_CASE("bytes that are no UTF-8 are replaced, in names as in values") {
  const auto read =
      nlohmann::json::parse(format_json(Json({{"a\xff", "b\xc3"}, {"c", "\xf0\x9f\x98\x80"}})));
  CHECK(read["a\ufffd"] == "b\ufffd");
  CHECK(read["c"] == "\U0001F600");
}
