// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>

#include "../little_memory.hpp"
#include "run/report.hpp"
#include "run/run.hpp"
#include "topology/location.hpp"

using namespace pillion;
namespace fs = std::filesystem;

// A rank's timeline has 16 MiB, and the rank that writes them gets seven times as much: what its
// own takes while it is formatted, and one other.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("a node's timelines are written with the memory of a few, however many there are") {
  run::Run run;
  run.world = comm::Communicator(MPI_COMM_WORLD);
  run.side = comm::Communicator(MPI_COMM_WORLD);
  run.on_node = comm::Communicator(MPI_COMM_WORLD);
  const int ranks = run.world.size();
  run.roles.assign(static_cast<size_t>(ranks), topology::Role::Simulation);
  run.configuration.output =
      (fs::temp_directory_path() / ("pillion-timelines-" + std::to_string(::getpid()))).string();
  run.world.broadcast(run.configuration.output, 0);
  constexpr int events = 16;
  constexpr size_t part = size_t{16} << 20;
  for (int e = 0; e < events; ++e)
    run.timeline.add({std::string(part / events, 'x'), "analysis", 1.0 * e, e + 0.5, e});
  {
    const LittleMemory limit(7 * part);
    CHECK_NOTHROW(run::write_timelines(run));
  }
  const auto file = fs::path(run.configuration.output) / "timeline" / "simulation-000000.json";
  if (run.world.rank() == 0) {
    CHECK(fs::file_size(file) > part * static_cast<size_t>(ranks));
    CHECK(fs::file_size(file) < part * static_cast<size_t>(ranks) + ranks * (size_t{16} << 10));
    fs::remove_all(run.configuration.output);
  }
  run.world.barrier();
}
#endif
