// SPDX-License-Identifier: BSD-3-Clause
// Tables of which each peer has a part of the rows, through the interface that plug-ins have.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <pillion/stage.hpp>

#include "comm/agreement.hpp"
#include "products/whole_file.hpp"
#include "stagehost/plugin.hpp"
#include "stagehost/sink.hpp"
#include "stagehost/table_writing.hpp"
#include "stagehost/work.hpp"

using namespace pillion;
using namespace pillion::stagehost;
namespace fs = std::filesystem;

namespace {

/// A stage's peers, all ranks, with a folder for products that is removed at the end.
struct Peers {
  Peers() {
    std::string name = (fs::temp_directory_path() / "pillion-parts-").string();
    name += std::to_string(world.rank() == 0 ? ::getpid() : 0);
    world.broadcast(name, 0);
    folder = name;
    sink = std::make_unique<Sink>(folder);
    context.peers = &world;
    context.fence = &fence;
    context.sink = sink.get();
    context.origin.analysis = std::string("a");
    context.origin.stage = std::string("s");
    context.origin.step = 7;
    work.context = &context;
  }
  ~Peers() {
    world.barrier();
    if (world.rank() == 0) fs::remove_all(folder);
  }
  [[nodiscard]] stage::Step step() { return {&host_table(), &work}; }
  std::string failure_of(const std::function<void()>& body) {
    const auto failure = fence.run(body);
    return failure ? failure->what() : "";
  }
  [[nodiscard]] size_t files() const {
    size_t count = 0;
    if (fs::exists(folder / "a"))
      for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder / "a")) ++count;
    return count;
  }

  comm::Communicator world{MPI_COMM_WORLD};
  comm::Fence fence{world};
  fs::path folder;
  std::unique_ptr<Sink> sink;
  ExecutionContext context;
  pillion_work work;
};

/// Rows [begin, end) of a table.
stage::Table rows(const std::string& name, int64_t begin, int64_t end) {
  std::vector<int64_t> numbers;
  std::vector<double> values;
  for (int64_t row = begin; row < end; ++row) {
    numbers.push_back(row * row);
    values.push_back(row % 5 == 0 ? std::nan("") : 0.1 * static_cast<double>(row));
  }
  stage::Table table(name, "Rows");
  table.column("number", "", std::move(numbers)).column("value", "m", std::move(values));
  table.attribute("mean", 0.25, "m");
  return table.per_step();
}

}  // namespace

TEST_CASE("the rows of all peers are one file, the same as that of one peer") {
  Peers peers;
  const auto step = peers.step();
  CHECK(peers.failure_of([&] {
    constexpr int64_t all = 1000;
    // The first peer has none, nor the last; others have many.
    const auto first = [&](int peer) {
      const auto parts = std::max(1, step.peers() - 2);
      return all * std::clamp(peer - 1, 0, parts) / parts;
    };
    const bool alone = step.peers() == 1;
    step.write(rows("parts", alone ? 0 : first(step.peer()),
                    alone || (step.peers() == 2 && step.peer() == 1) ? all : first(step.peer() + 1))
                   .in_parts());
    step.write(rows("whole", 0, all));
  }) == "");
  if (step.peer() != 0) return;
  auto whole = products::read_file(peers.folder / "a" / "whole.000000007.csv");
  whole.replace(whole.find("whole"), 5, "parts");
  CHECK(products::read_file(peers.folder / "a" / "parts.000000007.csv") == whole);
  CHECK(whole.find("type: \"int64\"") != std::string::npos);
  CHECK(peers.files() == 2);
  CHECK(peers.sink->products().size() == 2);
}

TEST_CASE("without rows there is a head") {
  Peers peers;
  const auto step = peers.step();
  CHECK(peers.failure_of([&] { step.write(rows("none", 0, 0).in_parts()); }) == "");
  if (step.peer() != 0) return;
  const auto text = products::read_file(peers.folder / "a" / "none.000000007.csv");
  CHECK(text.ends_with("number,value\n"));
}

TEST_CASE("a table of which one peer cannot write its part is absent") {
  Peers peers;
  const auto step = peers.step();
  if (step.peers() == 1) return;
  const bool is_last = step.peer() + 1 == step.peers();
  SUBCASE("its disk is full") {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit small{16, before.rlim_max};
    if (is_last) setrlimit(RLIMIT_FSIZE, &small);
    const auto failure = peers.failure_of([&] { step.write(rows("t", 0, 10).in_parts()); });
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, SIG_DFL);
    CHECK(failure.find("cannot write") != std::string::npos);
  }
  SUBCASE("it has other columns") {
    const auto failure = peers.failure_of([&] {
      auto table = rows("t", 0, 10);
      if (is_last) table.column("more", "", std::vector<double>(10));
      step.write(table.in_parts());
    });
    CHECK(failure.find("peers write table 't' with 2 to 3 columns") != std::string::npos);
  }
  SUBCASE("it fails before") {
    const auto failure = peers.failure_of([&] {
      if (is_last) throw Error(ErrorCode::Stage, "no rows");
      step.write(rows("t", 0, 10).in_parts());
    });
    CHECK(failure.find("no rows") != std::string::npos);
  }
  peers.world.barrier();
  if (step.peer() == 0) CHECK(peers.files() == 0);
  CHECK(peers.sink->products().empty());
}
