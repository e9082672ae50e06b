// SPDX-License-Identifier: BSD-3-Clause
#include "model/names.hpp"

#include <doctest/doctest.h>

#include "base/value.hpp"

using namespace pillion;
using namespace pillion::model;

namespace {

std::string fault_of_path(const std::string& path) {
  base::Value value;
  value.kind = base::Value::Kind::Scalar;
  value.text = path;
  value.file = std::make_shared<const std::string>("f");
  try {
    return read_path(value) == path ? "" : "another path";
  } catch (const Error& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("names are printable, and parts of files and keys") {
  for (const std::string name : {"u", "mole fraction", "a,b", "say \"x\"", "x$y$", "ρ", "日本",
                                 "..a", "#a", "Y(H2)", "a\\b", "~", "%s"})
    CHECK_MESSAGE(fault_of_name(name).empty(), name);
  CHECK(fault_of_name(std::string(200, 'x')).empty());
  for (const std::string name :
       {"", "a/b", "/", ".", "..", " a", "a ", "a\tb", "a\nb", "\x01", "\xff", "a\xc2\x85"})
    CHECK_MESSAGE(!fault_of_name(name).empty(), shown(name));
  CHECK(fault_of_name(std::string(201, 'x')) == "its 201 bytes are too many; use 200 at most");
}

TEST_CASE("an analysis is called neither as a file of the run nor as a hidden folder") {
  for (const std::string name : {"a", "a b", " a", "x$y"})
    CHECK_MESSAGE(fault_of_analysis_name(name).empty(), name);
  for (const std::string name :
       {"", ".a", "a/b", "timeline", "compare", "report.json", "progress-x.json", "report.html"})
    CHECK_MESSAGE(!fault_of_analysis_name(name).empty(), name);
}

TEST_CASE("paths that only a shell expands are refused") {
  for (const std::string path : {"r", "./~", "a/~b", "/tmp/r", "my results", "it's", "ä"})
    CHECK_MESSAGE(fault_of_path(path).empty(), path);
  CHECK(fault_of_path("~/r").find("`~` is expanded by shells") != std::string::npos);
  CHECK(fault_of_path("~").find("'./~'") != std::string::npos);
  CHECK(fault_of_path("~root/r").find("expanded by shells") != std::string::npos);
  CHECK(fault_of_path("“r”").find("typographic quote") != std::string::npos);
  CHECK(fault_of_path("a\x01").find("cannot be printed") != std::string::npos);
}
