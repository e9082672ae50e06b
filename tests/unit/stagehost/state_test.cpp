// SPDX-License-Identifier: BSD-3-Clause
#include "stagehost/state.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include "layout/assignment.hpp"

using namespace pillion;
using namespace pillion::stagehost;
namespace fs = std::filesystem;

namespace {

/// A folder that all ranks know, removed at the end by the first.
struct SharedFolder {
  const comm::Communicator& world;
  std::string path;
  explicit SharedFolder(const comm::Communicator& w) : world(w) {
    path = (fs::temp_directory_path() / ("pillion-state-" + std::to_string(::getpid()))).string();
    world.broadcast(path, 0);
    if (world.rank() == 0) fs::create_directories(path);
    world.barrier();
  }
  ~SharedFolder() {
    world.barrier();
    if (world.rank() == 0) fs::remove_all(path);
  }
};

/// What one of `ranks` ranks would save: its share of 100 keys, each with two values.
pillion_state state_of(int rank, int ranks) {
  pillion_state state;
  const double total = 42;
  state.globals["total"].assign(reinterpret_cast<const std::byte*>(&total),
                                reinterpret_cast<const std::byte*>(&total + 1));
  auto& records = state.keyed["r0"];
  records.record_size = 2 * sizeof(double);
  for (int64_t key = 1; key <= 100; ++key) {
    if (layout::owner_of(key, ranks) != rank) continue;
    const double values[2] = {static_cast<double>(key), static_cast<double>(key * key)};
    records.keys.push_back(key);
    const auto* begin = reinterpret_cast<const std::byte*>(values);
    records.values.insert(records.values.end(), begin, begin + sizeof values);
  }
  return state;
}

}  // namespace

TEST_CASE("state written by any number of ranks finds its owners on any other") {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (int writers = 1; writers <= 5; ++writers) {
    const SharedFolder folder(world);
    if (world.rank() == 0)
      for (int r = 0; r < writers; ++r) write_state(state_of(r, writers), folder.path, r);
    world.barrier();
    comm::Fence fence(world);
    pillion_state read;
    CHECK_FALSE(fence.run([&] { read = read_state(folder.path, world, fence); }).has_value());
    double total = 0;
    REQUIRE(read.globals.at("total").size() == sizeof total);
    std::memcpy(&total, read.globals.at("total").data(), sizeof total);
    CHECK(total == 42);
    const auto expected = state_of(world.rank(), world.size());
    CHECK(read.keyed.at("r0").keys == expected.keyed.at("r0").keys);
    CHECK(read.keyed.at("r0").values == expected.keyed.at("r0").values);
  }
}

TEST_CASE("a missing or damaged state is the same error on every rank") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const SharedFolder folder(world);
  comm::Fence fence(world);
  auto failure = fence.run([&] { (void)read_state(folder.path, world, fence); });
  REQUIRE(failure.has_value());
  CHECK(failure->code() == ErrorCode::File);
  if (world.rank() == 0) {
    write_state(state_of(0, 1), folder.path, 0);
    fs::resize_file(fs::path(folder.path) / "000000.state", 60);
  }
  world.barrier();
  failure = fence.run([&] { (void)read_state(folder.path, world, fence); });
  CHECK(failure.has_value());
}
