// SPDX-License-Identifier: BSD-3-Clause
#include "preflight/dry_run.hpp"

#include <doctest/doctest.h>

using namespace pillion;
using namespace pillion::preflight;
using namespace pillion::run;

namespace {

constexpr int64_t MiB = int64_t{1} << 20;

/// One that takes so much, with so much memory on a node.
struct Case {
  model::Configuration configuration;
  DryRun forecast;

  Case(int64_t bytes, int64_t memory, int64_t simulating,
       model::WhenFull policy = model::WhenFull::Skip) {
    configuration.sidecars.ranks = 1;
    configuration.sidecars.memory = memory;
    configuration.sidecars.when_full = policy;
    forecast.configuration = &configuration;
    forecast.largest = forecast.copied = forecast.bytes = bytes;
    forecast.simulating = simulating;
  }
  [[nodiscard]] std::string verdict(LaunchSize start) const {
    try {
      return judge_memory(forecast, start);
    } catch (const Error& e) {
      return std::string("error: ") + e.what();
    }
  }
};

}  // namespace

TEST_CASE("ranks that simulate are those that are no sidecars") {
  model::SidecarSpec spec;
  CHECK(LaunchSize{}.simulating(spec) == 0);
  CHECK(LaunchSize{8, 0, 0}.simulating(spec) == 8);
  spec.ranks = 3;
  CHECK(LaunchSize{8, 0, 0}.simulating(spec) == 5);
  spec.ranks = 0;
  spec.per_node = 1;
  CHECK(LaunchSize{8, 0, 0}.simulating(spec) == 7);
  CHECK(LaunchSize{8, 4, 0}.simulating(spec) == 4);
  spec.job = model::Job::Separate;
  CHECK(LaunchSize{8, 4, 0}.simulating(spec) == 8);
}

TEST_CASE("memory is an error only where no placement of ranks can do") {
  // Of 8 MiB each of 4 ranks has 2 MiB, which has room in 3 MiB if it is alone on its node.
  CHECK(Case(8 * MiB, 3 * MiB, 4).verdict({5, 0, 0}).starts_with("a publication takes 8.0 MiB"));
  CHECK(Case(8 * MiB, 1 * MiB, 4).verdict({5, 0, 0}).starts_with("error: a publication takes 2.0"));
  CHECK(Case(8 * MiB, 8 * MiB, 4).verdict({5, 0, 0}).empty());
  // On two nodes there are two on each, which need 4 MiB.
  CHECK(Case(8 * MiB, 3 * MiB, 4).verdict({5, 2, 0}).find("raise that to 4096 KiB") !=
        std::string::npos);
  CHECK(Case(8 * MiB, 4 * MiB, 4).verdict({5, 2, 0}).empty());
  // More nodes than ranks are of no use.
  CHECK(Case(8 * MiB, 2 * MiB - 1, 4).verdict({5, 9, 0}).starts_with("error"));
}

TEST_CASE("sidecars on every node leave fewer nodes for as many ranks") {
  Case one(8 * MiB, 3 * MiB, 7);
  one.configuration.sidecars.ranks = 0;
  one.configuration.sidecars.per_node = 1;
  // Of 8 ranks 4 simulate if they are on 4 nodes: 2 MiB on each. Of 4 ranks 2 do: 4 MiB.
  CHECK(one.verdict({8, 0, 0}).starts_with("a publication takes 8.0 MiB in all"));
  one.forecast.simulating = 3;
  CHECK(one.verdict({4, 0, 0}).starts_with("error: a publication takes 4.0 MiB"));
}

TEST_CASE("what may be in memory that sidecars see is no error") {
  Case one(8 * MiB, 3 * MiB, 3);
  one.configuration.sidecars.ranks = 0;
  one.configuration.sidecars.per_node = 1;
  one.forecast.copied = 2 * MiB;
  CHECK(one.verdict({4, 0, 0}).starts_with("a publication takes 4.0 MiB on a node"));
  CHECK(one.verdict({4, 0, 0}).find("pillion_allocate") != std::string::npos);
  one.forecast.copied = 7 * MiB;
  CHECK(one.verdict({4, 0, 0}).starts_with("error: a publication takes 4.0 MiB"));
}

TEST_CASE("without ranks, or where publications are made to fit, memory is a note") {
  CHECK(Case(8 * MiB, 3 * MiB, 0).verdict({}).find("needs 3 nodes at least") != std::string::npos);
  CHECK(
      Case(8 * MiB, 3 * MiB, 4, model::WhenFull::Coarsen).verdict({5, 0, 0}).find("made to fit") !=
      std::string::npos);
  CHECK(Case(0, 1, 4).verdict({5, 0, 0}).empty());
}

TEST_CASE("sidecars must have room to receive a publication") {
  const auto verdict = [](const Case& one, LaunchSize start) -> std::string {
    try {
      return judge_receive(one.forecast, start);
    } catch (const Error& e) {
      return std::string("error: ") + e.what();
    }
  };
  Case one(8 * MiB, 8 * MiB, 4);
  CHECK(verdict(one, {5, 0, 0}).empty());  // four times the memory
  one.configuration.sidecars.receive = 3 * MiB;
  CHECK(verdict(one, {5, 0, 0}).starts_with("error: a publication takes 8.0 MiB on every node"));
  CHECK(verdict(one, {5, 0, 0}).find("'receive: 8192 KiB' at least") != std::string::npos);
  one.configuration.sidecars.when_full = model::WhenFull::Coarsen;
  CHECK(verdict(one, {5, 0, 0}).starts_with("a publication takes 8.0 MiB in all"));
  one.configuration.sidecars.when_full = model::WhenFull::Skip;
  one.configuration.sidecars.ranks = 4;  // 2 MiB each, if every one has a node
  CHECK(verdict(one, {8, 0, 0}).find("over 3 nodes at least") != std::string::npos);
  CHECK(verdict(one, {8, 4, 0}).empty());
  CHECK(verdict(one, {8, 2, 0}).starts_with("error: a publication takes 4.0 MiB on every node"));
  one.configuration.sidecars.ranks = 0;
  one.configuration.sidecars.per_node = 1;
  CHECK(verdict(one, {8, 2, 0}).empty());
}

TEST_CASE("what cannot be coarsened must have room") {
  Case one(8 * MiB, 1 * MiB, 4, model::WhenFull::Coarsen);
  CHECK(one.verdict({5, 0, 0}).find("made to fit") != std::string::npos);
  one.forecast.analyses.push_back({.folder = {}, .needs = {}, .whole_for = "power_spectrum"});
  CHECK(one.verdict({5, 0, 0}).starts_with("error: a publication takes 2.0"));
  CHECK(one.verdict({5, 0, 0}).ends_with("or set 'when_full: spill'"));
}

TEST_CASE("ranks must be more than the sidecars that are wanted of them") {
  model::SidecarSpec spec;
  spec.ranks = 2;
  CHECK_NOTHROW(check_ranks(spec, {3, 0, 0}));
  CHECK_NOTHROW(check_ranks(spec, {3, 0, 2}));
  CHECK_NOTHROW(check_ranks(spec, {}));
  CHECK_THROWS_AS(check_ranks(spec, {2, 0, 0}), Error);
  CHECK_THROWS_AS(check_ranks(spec, {3, 0, 3}), Error);
  spec.ranks = 0;
  spec.per_node = 2;
  CHECK_NOTHROW(check_ranks(spec, {3, 0, 0}));
  CHECK_THROWS_AS(check_ranks(spec, {4, 2, 0}), Error);
  CHECK_NOTHROW(check_ranks(spec, {6, 2, 0}));
}

namespace {

/// The uses of a node as "purpose bytes", with no analyses.
std::vector<NodeMemory> memory_with(const model::SidecarSpec& spec, int64_t simulating,
                                    int64_t nodes) {
  model::Configuration configuration;
  configuration.sidecars = spec;
  return node_memory(configuration, {}, {}, simulating, nodes);
}

}  // namespace

TEST_CASE("the ranks of a node share its memory") {
  model::SidecarSpec spec;
  CHECK(memory_with(spec, 6, 2).at(0).bytes() == 0);
  spec.per_node = 2;
  spec.memory = 64 * MiB;
  const auto shared = memory_with(spec, 6, 2);
  REQUIRE(shared.size() == 1);
  CHECK(shared[0].simulation.on_node == 3);
  CHECK(shared[0].sidecars.all == 4);
  CHECK(shared[0].sidecars.on_node == 2);
  CHECK(shared[0].bytes() >= 64 * MiB);
}

TEST_CASE("sidecars reached over the network may be on nodes of their own") {
  model::SidecarSpec spec;
  spec.ranks = 3;
  const auto apart = memory_with(spec, 5, 4);
  REQUIRE(apart.size() == 2);
  CHECK(apart[0].sidecars.on_node == 0);
  CHECK(apart[1].simulation.on_node == 0);
  CHECK(apart[1].sidecars.all == 3);
  CHECK(apart[1].sidecars.on_node == 2);  // of 8 ranks on 4 nodes
  REQUIRE(apart[1].uses.size() == 1);
  CHECK(apart[1].uses[0].purpose == "publications received");
  CHECK(apart[1].bytes() == 4 * spec.memory);
  spec.receive = 3 * MiB;
  const auto set = memory_with(spec, 5, 4);
  CHECK(set[0].bytes() == spec.memory);
  CHECK(set[1].bytes() == 3 * MiB);
  CHECK(set[1].uses[0].origin == "'sidecars: {receive}'");
}
