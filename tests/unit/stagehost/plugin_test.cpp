// SPDX-License-Identifier: BSD-3-Clause
#include "stagehost/plugin.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "comm/communicator.hpp"
#include "run/chains.hpp"

using namespace pillion;
using namespace pillion::stagehost;
namespace fs = std::filesystem;

namespace {

const fs::path stages = PILLION_TEST_STAGES;

base::Value some_place() { return *base::parse_yaml("a: 1", "somewhere", {}).find("a"); }

}  // namespace

TEST_CASE("a stage is loaded from the file that another rank found, without a search") {
  const Plugin found("not_the_name_of_a_file", some_place(), (stages / "magnitude.so").string());
  CHECK(std::string(found.table().name) == "magnitude");
  CHECK(found.path() == stages / "magnitude.so");
}

TEST_CASE("a rank that does not see that file searches itself") {
  setenv("PILLION_STAGE_PATH", stages.c_str(), 1);
  const Plugin found("magnitude", some_place(), "/nowhere/magnitude.so");
  CHECK(found.path() == stages / "magnitude.so");
  CHECK_THROWS_AS(Plugin("nothing", some_place(), "/nowhere/nothing.so"), Error);
  unsetenv("PILLION_STAGE_PATH");
}

TEST_CASE("the first rank finds stages for all") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto folder = fs::temp_directory_path() / ("pillion-plugin-" + std::to_string(::getpid()));
  std::string file = (folder / "only_here.so").string();
  if (world.rank() == 0) {
    fs::create_directory(folder);
    std::ofstream(file) << "a file";
    setenv("PILLION_STAGE_PATH", folder.c_str(), 1);
  }
  world.broadcast(file, 0);
  model::Configuration configuration;
  for (const char* name : {"only_here", "nowhere"}) {
    model::AnalysisSpec analysis;
    analysis.stages.push_back({.name = name, .parameters = {}});
    configuration.analyses.push_back(std::move(analysis));
  }
  run::find_stages(world, configuration);
  CHECK(configuration.analyses[0].stages[0].file == file);
  CHECK(configuration.analyses[1].stages[0].file.empty());
  if (world.rank() == 0) {
    unsetenv("PILLION_STAGE_PATH");
    fs::remove_all(folder);
  }
}
