// SPDX-License-Identifier: BSD-3-Clause
// What simulations and their users name, steps and times, and what goes back to the simulation.
#include "options.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <pillion/error.hpp>

#include "results.hpp"
#include "tree.hpp"

using namespace pillion::catalyst;
using test::Tree;

namespace {

std::string refusal_of(const Tree& tree) {
  try {
    (void)read_options(tree.node());
  } catch (const pillion::Error& problem) {
    return problem.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a script with the ending of YAML is the configuration") {
  Tree tree;
  tree.set("catalyst/scripts/a", "pipeline.py").set("catalyst/scripts/b/filename", "run.yml");
  const Options options = read_options(tree.node());
  CHECK(options.file == "run.yml");
  CHECK(options.others == std::vector<std::string>{"pipeline.py"});
  tree.set("catalyst/scripts/c", "more.yaml");
  CHECK(refusal_of(tree) ==
        "'catalyst/scripts' names two files for Pillion, 'run.yml' and 'more.yaml'; put all "
        "analyses in one");
  tree.set("catalyst/pillion/file", "first.yaml");
  CHECK(read_options(tree.node()).file == "first.yaml");
}

TEST_CASE("parameters, ranks and the communicator") {
  Tree tree;
  CHECK(refusal_of(tree).starts_with("no configuration for Pillion"));
  tree.set("catalyst/pillion/file", "a.yaml")
      .set("catalyst/pillion/parameters/n", 64)
      .set("catalyst/pillion/parameters/length", 0.1)
      .set("catalyst/pillion/parameters/name", "box");
  Options options = read_options(tree.node());
  const std::vector<std::pair<std::string, std::string>> wanted = {
      {"n", "64"}, {"length", "0.10000000000000001"}, {"name", "box"}};
  CHECK(options.parameters == wanted);
  CHECK(!options.communicator);
  CHECK(!options.is_in_world);
  tree.set("mpi_comm", 7);
  CHECK(read_options(tree.node()).communicator == 7);
  tree.set("catalyst/mpi_comm", 8).set("catalyst/pillion/ranks", "world");
  options = read_options(tree.node());
  CHECK(options.communicator == 8);
  CHECK(options.is_in_world);
  tree.set("catalyst/pillion/ranks", "some");
  CHECK(refusal_of(tree) == "the session's ranks are 'some'; set 'communicator' or 'world'");
}

TEST_CASE("steps and times of either form") {
  Tree none, old, now;
  old.set("catalyst/timestep", 4).set("catalyst/time", 0.5);
  now.set("catalyst/state/cycle", 6);
  CHECK(read_step(none.node(), 3).step == 3);
  CHECK(read_step(none.node(), 3).time == 3);
  CHECK(read_step(old.node(), 0).step == 4);
  CHECK(read_step(old.node(), 0).time == 0.5);
  CHECK(read_step(now.node(), 0).step == 6);
  now.set("catalyst/state/timestep", 7).set("catalyst/state/time", 0.25);
  CHECK(read_step(now.node(), 0).step == 7);
  CHECK(read_step(now.node(), 0).time == 0.25);
}

TEST_CASE("domains of particles") {
  Tree tree;
  tree.set("lo", std::vector<double>{-1, 0}).set("hi", std::vector<double>{1, 2});
  tree.set("periodic", std::vector<int32_t>{0, 1});
  const pillion_domain domain = read_domain(tree.node());
  CHECK(domain.lo[0] == -1);
  CHECK(domain.hi[1] == 2);
  CHECK(domain.periodic[1] == 1);
  CHECK(domain.periodic[0] == 0);
  CHECK(domain.hi[2] == 1);
}

TEST_CASE("the last rows of tables come back, and of nothing else") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("pillion_rows_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "flow");
  std::ofstream(folder / "flow/mean.csv")
      << "# pillion: table 1\nstep,time,mean\n0,0,1\n2,0.5,inf\n";
  std::ofstream(folder / "flow/empty.csv") << "# pillion: table 1\nstep,time,mean\n";
  std::ofstream(folder / "flow/histogram.000000004.csv") << "# x\nlow,high\n1,2\n";
  std::ofstream(folder / "flow/short.csv") << "step,time,mean\n1,2\n";
  std::ofstream(folder / "report.json") << "{}";
  const std::string rows = last_rows(folder / "report.json");
  Tree tree;
  auto* root = const_cast<RawNode*>(&tree.raw());
  put_rows(rows, test::functions(), root);
  CHECK(tree.node("catalyst/pillion/tables/flow/mean/step").real() == 2);
  CHECK(tree.node("catalyst/pillion/tables/flow/mean/mean").real() > 1e300);
  CHECK(tree.node("catalyst/pillion/tables/flow").children().size() == 1);
  CHECK(last_rows(folder / "absent/report.json") == "{}");
  std::filesystem::remove_all(folder);
}
