// SPDX-License-Identifier: BSD-3-Clause
#include "model/configuration.hpp"

#include <doctest/doctest.h>

using namespace pillion;
using namespace pillion::model;

namespace {

const std::string head =
    "meshes:\n"
    "  grid: {kind: uniform, cells: [8, 8], length: [1, 2], units: m, periodic: [true, false]}\n"
    "fields:\n"
    "  density: {mesh: grid, type: float64, units: kg}\n";

Configuration read(const std::string& text, int64_t sidecars = 0,
                   const std::string& catalogue = {}) {
  return read_configuration(text, "f", {}, catalogue, sidecars);
}

std::string error_of(const std::string& text, int64_t sidecars = 0) {
  try {
    read(text, sidecars);
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::Configuration);
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a whole configuration is read") {
  const auto c = read(head +
                      "output: out\nunits: {time: s}\n"
                      "sidecars: {ranks: 2, memory: 1 MiB, when_full: wait, deadline: 5 s}\n"
                      "analyses:\n"
                      "  a:\n    every: 2 steps\n    when: max(density) > 1\n    stages:\n"
                      "      - one: {at: simulation, x: 1}\n      - two: {}\n"
                      "  b: {stages: [{three: }]}\n");
  CHECK(c.output == "out");
  CHECK(c.time_units == "s");
  CHECK(c.sidecars.ranks == 2);
  CHECK(c.sidecars.memory == 1 << 20);
  CHECK(c.sidecars.when_full == WhenFull::Wait);
  const auto& mesh = c.catalogue.mesh("grid");
  CHECK(mesh.axes == 2);
  CHECK(mesh.cells == std::array<int64_t, 3>{8, 8, 1});
  CHECK(mesh.periodic == std::array<bool, 3>{true, false, false});
  REQUIRE(c.analyses.size() == 2);
  CHECK(c.analyses[0].cut() == 1);
  CHECK(c.analyses[0].stages[0].parameters.find("at") == nullptr);
  CHECK(c.analyses[0].when->text() == "max(density) > 1");
  CHECK(c.analyses[1].cut() == 0);
  CHECK(c.analyses[1].in_sidecars());
}

TEST_CASE("stages may leave open where they run") {
  const std::string sidecars = "sidecars: {per_node: 1}\n";
  const std::string analyses =
      "analyses:\n"
      "  a: {stages: [{one: {at: auto}}, {two: {at: auto}}]}\n"
      "  b: {stages: [{one: {at: simulation}}, {two: {at: auto}}]}\n"
      "  c: {stages: [{one: }]}\n";
  const auto c = read(head + sidecars + analyses);
  CHECK(c.analyses[0].is_movable());
  CHECK(c.analyses[0].cut() == 0);
  CHECK(c.analyses[1].is_movable());
  CHECK(c.analyses[1].cut() == 1);
  CHECK_FALSE(c.analyses[2].is_movable());
  CHECK_FALSE(c.analyses[2].wants_choice);
  // Where there is nothing to choose from they run in the simulation.
  const auto alone = read(head + analyses);
  for (const size_t a : {0, 1}) {
    CHECK(alone.analyses[a].wants_choice);
    CHECK_FALSE(alone.analyses[a].is_movable());
    CHECK_FALSE(alone.analyses[a].in_sidecars());
  }
}

TEST_CASE("what overrides an entry goes before the file, and is checked as the file is") {
  const std::string text = head +
                           "output: $name\nparameters: {name: out}\n"
                           "sidecars: {per_node: 1, when_full: spill, spill: {folder: x}}\n"
                           "analyses: {a: {stages: [{one: {}}]}}\n";
  const auto with = [&](const base::Overrides& overrides) {
    return read_configuration(text, "f", {}, {}, 0, overrides);
  };
  const auto c = with({{"output", "else"},
                       {"sidecars.when_full", "wait"},
                       {"sidecars.spill", "null"},
                       {"analyses.a.every", "3 steps"}});
  CHECK(c.output == "else");
  CHECK(c.sidecars.when_full == WhenFull::Wait);
  CHECK(c.sidecars.per_node == 1);
  CHECK(c.analyses[0].every.steps == 3);
  CHECK(c.text == text);
  for (const auto& [key, said] : base::Overrides{
           {"sidecars.when_fill", "unknown key 'when_fill' in 'sidecars'"},
           {"sidecars.when_full", "what overrides 'sidecars.when_full':1: unknown policy 'often'"},
           {"parameters.name", "cannot be overridden"}})
    CHECK_THROWS_WITH_AS(with({{key, "often"}}), doctest::Contains(said.c_str()), Error);
}

TEST_CASE("without sidecars everything runs in the simulation") {
  const auto c = read(head + "analyses: {a: {stages: [{one: {}}]}}\n");
  CHECK_FALSE(c.analyses[0].in_sidecars());
  CHECK(c.analyses[0].every.steps == 1);
}

TEST_CASE("a program's own catalogue gives way to the file's entries") {
  const auto c =
      read(head + "analyses: {}\n", 0,
           "meshes: {atoms: {kind: particles}}\n"
           "fields: {id: {mesh: atoms, type: int64}, density: {mesh: atoms, type: int32}}");
  CHECK(c.catalogue.find_field("id") != nullptr);
  CHECK(c.catalogue.field("density").mesh == "grid");
}

TEST_CASE("sidecars may come from the launch instead of the file") {
  CHECK(read(head + "analyses: {a: {stages: [{one: {}}]}}\n", 3).sidecars.ranks == 3);
  CHECK(error_of(head + "sidecars: {ranks: 1}\nanalyses: {}\n", 3).find("3 ranks were started") !=
        std::string::npos);
}

TEST_CASE("with sidecars of any kind, stages run there") {
  for (const char* sidecars : {"{ranks: 1}", "{per_node: 1}", "{job: separate}"}) {
    const auto c =
        read(head + "sidecars: " + sidecars + "\nanalyses: {a: {stages: [{one: {}}]}}\n");
    CAPTURE(sidecars);
    CHECK(c.analyses[0].in_sidecars());
  }
}

TEST_CASE("a run has a name, its own or that of its output folder") {
  const std::string most(60, 'x');
  CHECK(read("run: md_2.a-b\nanalyses: {}\n").run == "md_2.a-b");
  CHECK(read("run: " + most + "\nanalyses: {}\n").run == most);
  CHECK(error_of("run: x" + most + "\nanalyses: {}\n").find("f:1: ") == 0);
  const std::pair<std::string, std::string> outputs[] = {
      {"results", "results"},
      {"/scratch/me/out-1", "out-1"},
      {"out/", "out"},
      {"a/b/../c/./", "c"},
      {"my run, b", "my_run__b"},
      {".", "run"},
      {"..", "run"},
      {"/", "run"},
      {"a/..", "run"},
      {"-v", "_v"},
      {".hidden", "_hidden"},
      {"é", "__"},
      {most + "yz", most},
  };
  for (const auto& [output, name] : outputs) {
    CAPTURE(output);
    CHECK(read("output: '" + output + "'\nanalyses: {}\n").run == name);
  }
  CHECK(read("analyses: {}\n").run == "results");
}

namespace {

std::deque<AnalysisSpec> read_attached_job(const std::string& text) {
  const auto run = read(head + "sidecars: {per_node: 1}\nanalyses: {a: {stages: [{one: {}}]}}\n");
  return read_attached_job_analyses(text, "g", {{"n", "7"}}, run.catalogue, {"a"});
}

}  // namespace

TEST_CASE("an attached job brings analyses, all of whose stages run in it") {
  const auto added = read_attached_job(
      "parameters: {n: 5, m: 2}\n"
      "analyses:\n"
      "  b: {every: $n steps, when: max(density) > $m, stages: [{one: {}}, {two: {at: sidecar}}]}\n"
      "  c: {stages: [{one: }]}\n");
  REQUIRE(added.size() == 2);
  CHECK(added[0].name == "b");
  CHECK(added[0].every.steps == 7);
  CHECK(added[0].when->text() == "max(density) > 2");
  CHECK(added[0].stages.size() == 2);
  CHECK(added[0].cut() == 0);
  CHECK(added[1].in_sidecars());
}

TEST_CASE("what an attached job may not say is pointed at") {
  const std::pair<const char*, const char*> mistakes[] = {
      {"output: x\nanalyses: {b: {stages: [{s: }]}}\n", "g:1: 'output' is the run's to say"},
      {"analyses: {b: {stages: [{s: }]}}\nsidecars: {ranks: 1}\n", "g:2: 'sidecars' is the run's"},
      {"analysis: {}\n", "lacks 'analyses'; is 'analysis' meant to be it?"},
      {"analyses: {b: {stages: [{s: }]}}\nextra: 1\n", "'extra'"},
      {"analyses: {}\n", "at least one analysis"},
      {"analyses: {b: {stages: [{s: {at: simulation}}]}}\n",
       "run in the attached job; leave out 'at'"},
      {"analyses: {b: {stages: [{s: }, {t: {at: simulation}}]}}\n", "run in the attached job"},
      {"analyses: {b: {stages: [{s: {at: auto}}]}}\n", "run in the attached job; leave out 'at'"},
      {"analyses:\n  b: {stages: [{s: }]}\n  a: {stages: [{s: }]}\n",
       "g:3: the run has an analysis 'a' already"},
      {"analyses: {b: {when: max(dens) > 1, stages: [{s: }]}}\n", "unknown field 'dens'"},
  };
  for (const auto& [text, expected] : mistakes) {
    CAPTURE(text);
    std::string error = "no error";
    try {
      read_attached_job(text);
    } catch (const Error& e) {
      error = e.what();
    }
    CAPTURE(error);
    CHECK(error.find(expected) != std::string::npos);
  }
}

TEST_CASE("mistakes are pointed at") {
  const std::pair<const char*, const char*> mistakes[] = {
      {"analysis: {}\n", "the configuration lacks 'analyses'; is 'analysis' meant to be it?"},
      {"analyses: {a: {evry: 5, stages: [{s: {}}]}}\n", "did you mean 'every'?"},
      {"analyses: {a: {every: 5}}\n", "analysis 'a' lacks 'stages'"},
      {"analyses: {a: {stages: []}}\n", "needs a list of at least one stage"},
      {"analyses: {a: {stages: [s]}}\n", "a stage is written"},
      {"analyses: {a: {stages: [{s: {at: sidecar}}]}}\n", "wants a sidecar, but there are none"},
      {"analyses: {a: {stages: [{s: {at: sidecr}}]}}\n", "did you mean 'sidecar'?"},
      {"analyses: {a/b: {stages: [{s: {}}]}}\n", "cannot name an analysis"},
      {"sidecars: {ranks: 1}\nanalyses: {a: {stages: [{s: {at: sidecar}}, {t: {at: "
       "simulation}}]}}\n",
       "stages in the simulation come first"},
      {"sidecars: {ranks: -1}\nanalyses: {}\n", "cannot be -1"},
      {"sidecars: {ranks: 1, memory: lots}\nanalyses: {}\n", "expected a number of bytes"},
      {"run: a/b\nanalyses: {}\n", "'a/b' cannot name a run; use at most 60 letters"},
      {"run: -a\nanalyses: {}\n", "'-a' cannot name a run"},
      {"run: ..\nanalyses: {}\n", "'..' cannot name a run"},
      {"analyses: {a: {when: max(dens) > 1, stages: [{s: {}}]}}\n", "unknown field 'dens'"},
      {"analyses: [1]\n", "'analyses' must be a map"},
  };
  for (const auto& [text, expected] : mistakes) {
    const auto error = error_of(head + text);
    CAPTURE(error);
    CHECK(error.find(expected) != std::string::npos);
    CHECK(error.starts_with("f:"));
  }
}

TEST_CASE("mistakes in meshes and fields are pointed at") {
  const std::pair<const char*, const char*> mistakes[] = {
      {"meshes: {g: {kind: unifrom, cells: [4]}}\n", "did you mean 'uniform'?"},
      {"meshes: {g: {kind: curvilinear}}\n", "lacks 'cells'"},
      {"meshes: {g: {kind: curvilinear, cells: [4]}}\n", "has 2 or 3 axes"},
      {"meshes: {g: {kind: curvilinear, cells: [4, 4]}}\n", "lacks 'coordinates'"},
      {"meshes: {g: {kind: unstructured, patches: [a, a]}}\n", "patch 'a' is listed twice"},
      {"meshes: {g: {kind: unstructured, of: h}}\n", "unknown mesh 'h'"},
      {"meshes: {g: {kind: unstructured, dimensions: 4}}\n", "have 1, 2 or 3 dimensions"},
      {"meshes: {g: {kind: uniform}}\n", "lacks 'cells'"},
      {"meshes: {g: {kind: uniform, cells: [0]}}\n", "must be positive"},
      {"meshes: {g: {kind: uniform, cells: [1, 2, 3, 4]}}\n", "1 to 3 integers"},
      {"meshes: {g: {kind: uniform, cells: [4], length: [1, 2]}}\n", "list of 1 values"},
      {"meshes: {g: {kind: uniform, cells: [4]}}\nfields: {d: {mesh: h, type: int32}}\n",
       "unknown mesh 'h'; did you mean 'g'?"},
      {"meshes: {g: {kind: uniform, cells: [4]}}\nfields: {d: {mesh: g, type: double}}\n",
       "unknown type 'double'"},
      {"meshes: {g: {kind: uniform, cells: [4]}}\nfields: {d: {mesh: g, type: bool}}\n",
       "unknown type 'bool'; it is called 'uint8' here"},
      {"meshes: {g: {kind: uniform, cells: [4]}}\nfields: {d: {mesh: g, type: unit8}}\n",
       "unknown type 'unit8'; did you mean 'uint8'?"},
      {"meshes: {g: {kind: uniform, cells: [4]}}\nfields: {d: {mesh: g, type: int32, components: "
       "0}}\n",
       "components must be 1"},
  };
  for (const auto& [text, expected] : mistakes) {
    const auto error = error_of(std::string(text) + "analyses: {}\n");
    CAPTURE(error);
    CHECK(error.find(expected) != std::string::npos);
  }
}

TEST_CASE("scalars are a list of names or a map") {
  const std::string rest = "analyses: {a: {when: a > 1, stages: [one: {}]}}\n";
  auto c = read(head + "scalars: [a, dt]\n" + rest);
  CHECK(c.catalogue.scalar_names() == std::vector<std::string>{"a", "dt"});
  c = read(head + "scalars: {dt: {units: s}, b: }\n" + rest, 0, "scalars: {a: {}, dt: {}}");
  CHECK(c.catalogue.scalar_names() == std::vector<std::string>{"a", "dt", "b"});
  CHECK(c.catalogue.scalars()[1].units == "s");
  CHECK(c.catalogue.set_units("a", "1"));
  CHECK(c.catalogue.scalars()[0].units == "1");
  CHECK(error_of(head + "scalars: [a, mean]\n" + rest) ==
        "f:5: 'mean' has a meaning in conditions, so it cannot name a scalar");
  CHECK(error_of(head + "scalars: {a-b: {}}\n" + rest) ==
        "f:5: 'a-b' cannot name a scalar; use letters, digits and '_', with a letter first");
  CHECK(error_of(head + "scalars: {a: {unit: s}}\n" + rest).starts_with("f:5: "));
  std::string many = "scalars: [a";
  for (int n = 0; n < 500; ++n) many += fmt::format(", a{}", n);
  CHECK(error_of(head + many + "]\n" + rest) ==
        "f:5: there are 501 scalars; at most 500 are possible");
  CHECK(error_of(head + rest).find("'a' is not known") != std::string::npos);
}
