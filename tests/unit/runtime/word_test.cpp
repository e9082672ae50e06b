// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/word.hpp"

#include <doctest/doctest.h>

using namespace pillion;
using namespace pillion::runtime;

TEST_CASE("a word is read as it was said") {
  Word word;
  word.file = "a.yaml";
  word.text = std::string("output: x\n\0y", 12);
  word.catalogue = "meshes: {}";
  word.restart = "state";
  word.folder = "/some/where";
  word.parameters = {{"nx", "64"}, {"empty", ""}};
  word.overrides = {{"sidecars.memory", "1 MiB"}};
  word.pretence = {3, "numa:2 core:4"};
  word.run = ~uint64_t{0} - 5;
  model::Field speed;
  speed.name = "speed";
  speed.mesh = "grid";
  speed.type = model::ElementType::Float32;
  speed.components = 3;
  speed.units = "m/s";
  word.produced = {{}, {speed}, {}};
  word.declared = {{{"a.csv", "statistics", 12}}, {}};
  const Word out = read_word(bytes_of(word));
  CHECK(out.file == word.file);
  CHECK(out.text == word.text);
  CHECK(out.catalogue == word.catalogue);
  CHECK(out.restart == word.restart);
  CHECK(out.folder == word.folder);
  CHECK(out.parameters == word.parameters);
  CHECK(out.overrides == word.overrides);
  CHECK(out.pretence.nodes == 3);
  CHECK(out.pretence.topology == "numa:2 core:4");
  CHECK(out.run == word.run);
  REQUIRE(out.declared.size() == 2);
  REQUIRE(out.declared[0].size() == 1);
  CHECK(out.declared[0][0].name == "a.csv");
  CHECK(out.declared[0][0].stage == "statistics");
  CHECK(out.declared[0][0].line == 12);
  REQUIRE(out.produced.size() == 3);
  CHECK(out.produced[0].empty());
  REQUIRE(out.produced[1].size() == 1);
  const auto& field = out.produced[1][0];
  CHECK(field.name == "speed");
  CHECK(field.mesh == "grid");
  CHECK(field.type == model::ElementType::Float32);
  CHECK(field.components == 3);
  CHECK(field.units == "m/s");
  const auto whole = bytes_of(word);
  for (size_t cut : {size_t{0}, size_t{4}, whole.size() / 2, whole.size() - 1})
    CHECK_THROWS_AS(read_word({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut)}),
                    Error);
}

TEST_CASE("settings are lines NAME=VALUE") {
  const auto settings = read_settings("a=1\n\n  \nkey.of.it={x: [1, 2]}\nlast==\n", "V", "N=V");
  CHECK(settings == std::map<std::string, std::string>{
                        {"a", "1"}, {"key.of.it", "{x: [1, 2]}"}, {"last", "="}});
  CHECK(read_settings("", "V", "N=V").empty());
  for (const char* wrong : {"a", "=1", "a=1\nb"})
    CHECK_THROWS_WITH_AS(read_settings(wrong, "THE_VARIABLE", "N=V"),
                         doctest::Contains("THE_VARIABLE"), Error);
}

TEST_CASE("the configuration is the text's, and what the program asked for goes before") {
  Word word;
  word.file = "a.yaml";
  word.text =
      "output: $name\nrestart: of_the_file\nmeshes: {g: {kind: uniform, cells: [4]}}\n"
      "fields: {d: {mesh: g, type: float64}}\n"
      "analyses: {a: {every: 1 steps, stages: [statistics: {fields: d}]}}\n";
  word.parameters = {{"name", "there"}};
  CHECK(word.configuration(0).output == "there");
  CHECK(word.configuration(0).restart == "of_the_file");
  word.restart = "of_the_program";
  CHECK(word.configuration(0).restart == "of_the_program");
  word.overrides = {{"output", "elsewhere"}};
  CHECK(word.configuration(0).output == "elsewhere");
}

TEST_CASE("paths are those of the folder in which the session was opened") {
  Word word;
  word.file = "a.yaml";
  word.folder = "/where/it/began";
  const std::string rest = "\nmeshes: {g: {kind: uniform, cells: [4]}}\nanalyses: {}\n";
  for (const auto& [said, meant] :
       std::map<std::string, std::string>{{"results", "/where/it/began/results"},
                                          {".", "/where/it/began"},
                                          {"./a/./b/", "/where/it/began/a/b"},
                                          {"../other", "/where/it/began/../other"},
                                          {"/scratch/r", "/scratch/r"}}) {
    word.text = "output: " + said + "\nrestart: " + said + rest;
    CHECK(word.configuration(0).output == meant);
    CHECK(word.configuration(0).restart == meant);
  }
  word.text = "output: {path: r, if_exists: refuse}" + rest;
  CHECK(word.configuration(0).output == "/where/it/began/r");
  CHECK(word.configuration(0).if_exists == model::IfExists::Refuse);
  CHECK(word.configuration(0).restart.empty());
  word.overrides = {{"output", "elsewhere"}};
  CHECK(word.configuration(0).output == "/where/it/began/elsewhere");
  CHECK(word.configuration(0).if_exists == model::IfExists::Refuse);
  word.text = "output: r" + rest;
  word.overrides = {{"output.if_exists", "overwrite"}};
  CHECK(word.configuration(0).output == "/where/it/began/r");
  CHECK(word.configuration(0).if_exists == model::IfExists::Overwrite);
}

TEST_CASE("what crosses the cut is read as it was said, empty analyses too") {
  for (const Crossing& crossing :
       {Crossing{}, Crossing{{}},
        Crossing{{{"density", "velocity"}, "power_spectrum"}, {}, {{"id"}, ""}, {}}})
    CHECK(read_crossing(bytes_of(crossing)) == crossing);
}
