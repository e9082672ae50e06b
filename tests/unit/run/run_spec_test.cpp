// SPDX-License-Identifier: BSD-3-Clause
#include "run/run_spec.hpp"

#include <doctest/doctest.h>

using namespace pillion;
using namespace pillion::run;

TEST_CASE("a word is read as it was said") {
  RunSpec spec;
  spec.file = "a.yaml";
  spec.text = std::string("output: x\n\0y", 12);
  spec.catalogue = "meshes: {}";
  spec.restart = "state";
  spec.folder = "/some/where";
  spec.parameters = {{"nx", "64"}, {"empty", ""}};
  spec.overrides = {{"sidecars.memory", "1 MiB"}};
  spec.test_overrides = {3, "numa:2 core:4"};
  spec.run = ~uint64_t{0} - 5;
  model::Field speed;
  speed.name = "speed";
  speed.mesh = "grid";
  speed.type = model::ElementType::Float32;
  speed.components = 3;
  speed.units = "m/s";
  spec.produced = {{}, {speed}, {}};
  spec.declared = {{{"a.csv", "statistics", 12}}, {}};
  const RunSpec out = base::from_bytes<RunSpec>(base::to_bytes(spec));
  CHECK(out.file == spec.file);
  CHECK(out.text == spec.text);
  CHECK(out.catalogue == spec.catalogue);
  CHECK(out.restart == spec.restart);
  CHECK(out.folder == spec.folder);
  CHECK(out.parameters == spec.parameters);
  CHECK(out.overrides == spec.overrides);
  CHECK(out.test_overrides.nodes == 3);
  CHECK(out.test_overrides.topology == "numa:2 core:4");
  CHECK(out.run == spec.run);
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
  const auto whole = base::to_bytes(spec);
  for (size_t cut : {size_t{0}, size_t{4}, whole.size() / 2, whole.size() - 1})
    CHECK_THROWS_AS(base::from_bytes<RunSpec>(base::Bytes{
                        whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut)}),
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
  RunSpec spec;
  spec.file = "a.yaml";
  spec.text =
      "output: $name\nrestart: of_the_file\nmeshes: {g: {kind: uniform, cells: [4]}}\n"
      "fields: {d: {mesh: g, type: float64}}\n"
      "analyses: {a: {every: 1 steps, stages: [statistics: {fields: d}]}}\n";
  spec.parameters = {{"name", "there"}};
  CHECK(spec.configuration(0).output == "there");
  CHECK(spec.configuration(0).restart == "of_the_file");
  spec.restart = "of_the_program";
  CHECK(spec.configuration(0).restart == "of_the_program");
  spec.overrides = {{"output", "elsewhere"}};
  CHECK(spec.configuration(0).output == "elsewhere");
}

TEST_CASE("paths are those of the folder in which the session was opened") {
  RunSpec spec;
  spec.file = "a.yaml";
  spec.folder = "/where/it/began";
  const std::string rest = "\nmeshes: {g: {kind: uniform, cells: [4]}}\nanalyses: {}\n";
  for (const auto& [said, meant] :
       std::map<std::string, std::string>{{"results", "/where/it/began/results"},
                                          {".", "/where/it/began"},
                                          {"./a/./b/", "/where/it/began/a/b"},
                                          {"../other", "/where/it/began/../other"},
                                          {"/scratch/r", "/scratch/r"}}) {
    spec.text = "output: " + said + "\nrestart: " + said + rest;
    CHECK(spec.configuration(0).output == meant);
    CHECK(spec.configuration(0).restart == meant);
  }
  spec.text = "output: {path: r, if_exists: refuse}" + rest;
  CHECK(spec.configuration(0).output == "/where/it/began/r");
  CHECK(spec.configuration(0).if_exists == model::IfExists::Refuse);
  CHECK(spec.configuration(0).restart.empty());
  spec.overrides = {{"output", "elsewhere"}};
  CHECK(spec.configuration(0).output == "/where/it/began/elsewhere");
  CHECK(spec.configuration(0).if_exists == model::IfExists::Refuse);
  spec.text = "output: r" + rest;
  spec.overrides = {{"output.if_exists", "overwrite"}};
  CHECK(spec.configuration(0).output == "/where/it/began/r");
  CHECK(spec.configuration(0).if_exists == model::IfExists::Overwrite);
}

TEST_CASE("what crosses the cut is read as it was said, empty analyses too") {
  for (const CutFields& cut_fields :
       {CutFields{}, CutFields{{}},
        CutFields{{{"density", "velocity"}, "power_spectrum"}, {}, {{"id"}, ""}, {}}})
    CHECK(base::from_bytes<CutFields>(base::to_bytes(cut_fields)) == cut_fields);
}

TEST_CASE("a launcher chooses the id of the run that it names, once") {
  RunSpec spec;
  spec.run = 7;
  spec.given_ids = {{"box", "00000000000000ff"}, {"bad", "ff"}, {"worse", "00000000000000fg"}};
  CHECK(choose_id(spec, "box", "") == 0xff);
  CHECK(choose_id(spec, "box", "0000000000000001") == 0xff);
  CHECK(choose_id(spec, "box", "00000000000000ff") == 7);
  CHECK(choose_id(spec, "another", "") == 7);
  for (const auto* name : {"bad", "worse"})
    CHECK_THROWS_WITH(choose_id(spec, name, ""), doctest::Contains("16 hexadecimal digits"));
}
