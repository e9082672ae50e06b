// SPDX-License-Identifier: BSD-3-Clause
#include "stagehost/state.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <random>

#include "layout/assignment.hpp"
#include "products/whole_file.hpp"

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

/// Writes what `writers` ranks on `nodes` nodes would save.
void write_files(const std::string& folder, int writers, int nodes) {
  for (int node = 0; node < nodes; ++node) {
    std::vector<StatePart> parts;
    for (int r = node * writers / nodes; r < (node + 1) * writers / nodes; ++r)
      parts.push_back(part_of(state_of(r, writers), r == 0));
    products::write_whole(state_file(folder, node), format_state_file(node, nodes, parts), false);
  }
}

/// What this rank reads must be what it owns.
void check_read(const pillion_state& read, const comm::Communicator& world) {
  double total = 0;
  REQUIRE(read.globals.at("total").size() == sizeof total);
  std::memcpy(&total, read.globals.at("total").data(), sizeof total);
  CHECK(total == 42);
  const auto expected = state_of(world.rank(), world.size());
  CHECK(read.keyed.at("r0").keys == expected.keyed.at("r0").keys);
  CHECK(read.keyed.at("r0").values == expected.keyed.at("r0").values);
  CHECK(read.keyed.at("r0").record_size == expected.keyed.at("r0").record_size);
}

}  // namespace

// The messages of this program that are sent synchronously, as messages without receivers that
// expect them are.
int sent_synchronously = 0;
extern "C" int MPI_Issend(const void* data, int count, MPI_Datatype type, int to, int tag,
                          MPI_Comm comm, MPI_Request* request) {
  ++sent_synchronously;
  return PMPI_Issend(data, count, type, to, tag, comm, request);
}

TEST_CASE("state written by any number of ranks and nodes finds its owners on any other") {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (int writers = 1; writers <= 7; ++writers)
    for (int nodes = 1; nodes <= writers; ++nodes) {
      const SharedFolder folder(world);
      if (world.rank() == 0) write_files(folder.path, writers, nodes);
      world.barrier();
      comm::Fence fence(world);
      pillion_state read;
      CHECK_FALSE(fence.run([&] { read = read_state(folder.path, world, fence); }).has_value());
      check_read(read, world);
    }
}

TEST_CASE("ranks write one file for each node") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const SharedFolder folder(world);
  const auto on_node = world.split(world.rank() / 2);
  const auto leaders = world.split(on_node.rank() == 0 ? 0 : -1);
  comm::Fence fence(world);
  pillion_state read;
  const auto failure = fence.run([&] {
    write_state(state_of(world.rank(), world.size()), folder.path, {world, on_node, leaders}, fence,
                false);
  });
  CHECK_FALSE(failure.has_value());
  const fs::directory_iterator all(folder.path);
  CHECK(std::distance(begin(all), end(all)) == (world.size() + 1) / 2);
  CHECK_FALSE(fence.run([&] { read = read_state(folder.path, world, fence); }).has_value());
  check_read(read, world);
}

TEST_CASE("only ranks that have something to get are sent a message") {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (const bool with_records : {false, true}) {
    const SharedFolder folder(world);
    auto state = state_of(0, 1);
    if (!with_records) state.keyed["r0"] = {{}, 2 * sizeof(double), {}};
    if (world.rank() == 0)
      products::write_whole(state_file(folder.path, 0),
                            format_state_file(0, 1, {part_of(state, true)}), false);
    world.barrier();
    sent_synchronously = 0;
    comm::Fence fence(world);
    pillion_state read;
    CHECK_FALSE(fence.run([&] { read = read_state(folder.path, world, fence); }).has_value());
    // The first rank reads the only chunk, and sends the others their records.
    CHECK(sent_synchronously == (with_records && world.rank() == 0 ? world.size() - 1 : 0));
    // A name that has no records is there all the same.
    CHECK(read.keyed.at("r0").record_size == 2 * sizeof(double));
  }
}

TEST_CASE("a missing or damaged state is the same error on every rank") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const SharedFolder folder(world);
  comm::Fence fence(world);
  const auto reads = [&] {
    world.barrier();
    return fence.run([&] { (void)read_state(folder.path, world, fence); });
  };
  auto failure = reads();
  REQUIRE(failure.has_value());
  CHECK(failure->code() == ErrorCode::File);
  const auto last = state_file(folder.path, 2);
  if (world.rank() == 0) write_files(folder.path, 5, 3);
  CHECK_FALSE(reads().has_value());
  if (world.rank() == 0) fs::resize_file(last, fs::file_size(last) - 1);
  failure = reads();
  REQUIRE(failure.has_value());
  CHECK(failure->code() == ErrorCode::File);
  CHECK(std::string(failure->what()).find("000002.state") != std::string::npos);
  if (world.rank() == 0) fs::remove(last);
  failure = reads();
  REQUIRE(failure.has_value());
  CHECK(std::string(failure->what()).find("000002.state") != std::string::npos);
  // A file of another state.
  if (world.rank() == 0) {
    products::write_whole(last, format_state_file(2, 4, {part_of(state_of(1, 2), false)}), false);
  }
  failure = reads();
  REQUIRE(failure.has_value());
  CHECK(std::string(failure->what()).find("is one of 4") != std::string::npos);
}

TEST_CASE("every change of a state file is refused with its name") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const SharedFolder folder(world);
  if (world.rank() != 0) return;
  write_files(folder.path, 3, 1);
  const auto path = state_file(folder.path, 0);
  const auto whole = products::read_file(path);
  const auto read_all = [&] {
    const StateFile file(folder.path, 0);
    size_t bytes = 0;
    for (const auto& chunk : file.index().chunks) bytes += file.read(chunk).size();
    return bytes;
  };
  CHECK(read_all() > 0);
  std::mt19937 random(7);
  const auto below = [&](size_t most) {
    return std::uniform_int_distribution<size_t>(0, most - 1)(random);
  };
  for (int trial = 0; trial < 3000; ++trial) {
    auto other = whole;
    const size_t at = below(other.size());
    const size_t length = 1 + below(64);
    switch (trial % 5) {
      case 0: other[at] = static_cast<char>(other[at] ^ (1 << below(8))); break;
      case 1: other.resize(at); break;
      case 2: other.erase(at, length); break;
      case 3: other.insert(at, whole.substr(below(whole.size()), length)); break;
      default: other.replace(at, 8, std::string(8, '\xff')); break;
    }
    if (other == whole) continue;
    products::write_whole(path, other, false);
    CAPTURE(trial);
    try {
      (void)read_all();
      FAIL("accepted");
    } catch (const Error& e) {
      CHECK(e.code() == ErrorCode::File);
      CHECK(std::string(e.what()).find(path.string()) != std::string::npos);
    }
  }
}
