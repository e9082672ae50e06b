// SPDX-License-Identifier: BSD-3-Clause
#include "base/value.hpp"

#include <doctest/doctest.h>

using namespace pillion;
using namespace pillion::base;

namespace {

std::string error_of(const auto& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a tree knows its lines") {
  const auto root = parse_yaml("a: 1\nb:\n  c: [x, y]\n", "f.yaml", {});
  CHECK(root.find("a")->as_integer() == 1);
  CHECK(root.find("b")->find("c")->place() == "f.yaml:3");
  CHECK(root.find("b")->find("c")->entries[1].second.as_text() == "y");
  CHECK(root.find("d") == nullptr);
}

TEST_CASE("parameters are replaced, given ones before the file's own") {
  const std::string text = "parameters: {n: 4, who: me}\na: $n\nb: x${n}y\nc: $$5\nd: $who";
  const auto root = parse_yaml(text, "f", {{"n", "8"}});
  CHECK(root.find("a")->as_integer() == 8);
  CHECK(root.find("b")->as_text() == "x8y");
  CHECK(root.find("c")->as_text() == "$5");
  CHECK(root.find("d")->as_text() == "me");
  CHECK(error_of([] {
          parse_yaml("a: 1\nb: $nx", "f", {{"ny", "1"}});
        }) ==
        "f:2: parameter '$nx' has no value; give it under 'parameters:', with --set or in a call; "
        "did you mean 'ny'?");
}

TEST_CASE("what is not YAML, and keys that appear twice, are refused with their line") {
  CHECK(error_of([] { parse_yaml("a: [1, 2\nb: 3", "f", {}); }).starts_with("f:2: not valid YAML"));
  CHECK(error_of([] { parse_yaml("a: 1\na: 2", "f", {}); }) ==
        "f:2: key 'a' appears twice in one map, first on line 1; keep one of them");
  CHECK(error_of([] { parse_yaml("a:\n\tb: 1", "f", {}); }).find("with a tab") !=
        std::string::npos);
}

TEST_CASE("an entry knows the line of its key") {
  const auto root = parse_yaml("a:\n  b: 1\nc:\n  - d\n", "f", {});
  CHECK(root.find("a")->line == 2);
  CHECK(root.find("a")->key_line == 1);
  CHECK(error_of([&] { root.find("c")->fail_at_key("no"); }) == "f:3: no");
}

TEST_CASE("whoever wants all mistakes gets them, and not what follows from them") {
  Diagnostics mistakes;
  const auto root =
      parse_yaml("a: $x\nb: [$y, $x]\nc: 1\nc: 2\nd: $$\n", "f", {{"z", "1"}}, &mistakes);
  REQUIRE(mistakes.found.size() == 4);
  CHECK(std::string(mistakes.found[1].what()).starts_with("f:2: parameter '$y'"));
  CHECK(std::string(mistakes.found[3].what()).starts_with("f:4: key 'c'"));
  CHECK(mistakes.used_parameters == std::set<std::string>{"x", "y"});
  // Nothing can be said of a value that is not known.
  CHECK_FALSE(attempt(&mistakes, [&] { (void)root.find("a")->as_integer(); }));
  CHECK(mistakes.found.size() == 4);
  Reader reader(root, "it");
  reader.find("a");
  reader.finish(&mistakes);
  REQUIRE(mistakes.found.size() == 6);  // b is on a line without meaning, c and d are not
}

TEST_CASE("without anybody to keep them the first mistake is thrown") {
  CHECK_THROWS_AS(attempt(nullptr, [] { throw Error(ErrorCode::Configuration, "x"); }), Error);
}

TEST_CASE("keys that are nearly right are put right, and said to be wrong") {
  Diagnostics mistakes;
  auto root = parse_yaml("meshs: 1\nfield: 2\nfields: 3\nother: 4\n", "f", {});
  mend_keys(root, "it", {"meshes", "fields"}, mistakes);
  CHECK(to_flow(root) == "{meshes: 1, field: 2, fields: 3, other: 4}");
  REQUIRE(mistakes.found.size() == 1);
  CHECK(std::string(mistakes.found[0].what()) ==
        "f:1: unknown key 'meshs' in it; did you mean 'meshes'?");
}

TEST_CASE("null is no value, but a quoted null is a text") {
  const auto root = parse_yaml("a: null\nb: 'null'\nc: ~\nd:", "f", {});
  CHECK(root.find("a")->is_null());
  CHECK(root.find("b")->as_text() == "null");
  CHECK(root.find("c")->is_null());
  CHECK(root.find("d")->is_null());
}

TEST_CASE("a value of another kind is refused with what was seen") {
  const auto root = parse_yaml("a: soon\nb: [1]\n", "f", {});
  CHECK(error_of([&] { (void)root.find("a")->as_integer(); }) ==
        "f:1: expected an integer, found 'soon'");
  CHECK(error_of([&] { (void)root.find("b")->as_real(); }) ==
        "f:2: expected a number, found a list");
  CHECK(error_of([&] { (void)root.find("a")->as_boolean(); }) ==
        "f:1: expected true or false, found 'soon'");
}

TEST_CASE("an entry is put where its path says, and maps on the way are made") {
  auto root = parse_yaml("a: 1\nb: {c: 2, d: 3}\ne:\nf: [4]\n", "f", {});
  set_entry(root, "a", parse_yaml("{x: 5}", "g", {}));
  set_entry(root, "b.c", parse_yaml("6", "g", {}));
  set_entry(root, "b.d", parse_yaml("null", "g", {}));
  set_entry(root, "e.y.z", parse_yaml("7", "g", {}));
  set_entry(root, "h", parse_yaml("8", "g", {}));
  CHECK(to_flow(root) == "{a: {x: 5}, b: {c: 6, d: null}, e: {y: {z: 7}}, f: [4], h: 8}");
  CHECK(error_of([&] { set_entry(root, "f.g", parse_yaml("9", "g", {})); }) ==
        "f:4: expected a map with the key 'g', found a list");
  CHECK(error_of([&] { (void)root.find("h")->as_boolean(); }) ==
        "g:1: expected true or false, found '8'");
}

TEST_CASE("a reader refuses what nobody asked for") {
  const auto root = parse_yaml("evry: 5\nstages: 1\n", "f", {});
  Reader reader(root, "analysis 'x'");
  CHECK(reader.find("every") == nullptr);
  CHECK(reader.require("stages").as_integer() == 1);
  CHECK(error_of([&] { reader.finish(); }) ==
        "f:1: unknown key 'evry' in analysis 'x'; did you mean 'every'?");
  CHECK(error_of([&] { (void)reader.require("when"); }) == "f:1: analysis 'x' lacks 'when'");
}

TEST_CASE("a value is written as JSON that reads back") {
  const auto value = parse_yaml(
      "{a: 1, b: 1e-5, c: true, d: [x, 'say \"y\"', ~], 'e f': {}, g: '1 MiB', h: nan}", "f", {});
  CHECK(to_json(value) ==
        R"({"a": 1, "b": 1e-5, "c": true, "d": ["x", "say \"y\"", null], "e f": {}, )"
        R"("g": "1 MiB", "h": "nan"})");
}
