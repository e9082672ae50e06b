// SPDX-License-Identifier: BSD-3-Clause
// Every rank reports the CPUs on which the operating system lets it run, and one rank of each node
// finds the locations of all there. What nodes send is joined along a tree, where equal
// answers count once; so messages grow with the number of different nodes, not with that of ranks.
#include "run/locations.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <map>
#include <tuple>

#include "base/bytes.hpp"
#include "comm/agreement.hpp"
#include "run/run_spec.hpp"
#include "topology/shape.hpp"

namespace pillion::run {

namespace {

using topology::Location;
using topology::Shape;

constexpr int max_cpus = 1 << 14;

/// The CPUs that this thread may run on, as the operating system numbers them; none if it does not
/// say.
std::vector<int32_t> own_cpus() {
  std::vector<int32_t> cpus;
  cpu_set_t* set = CPU_ALLOC(max_cpus);
  const size_t size = CPU_ALLOC_SIZE(max_cpus);
  if (set != nullptr && sched_getaffinity(0, size, set) == 0)
    for (int cpu = 0; cpu < max_cpus; ++cpu)
      if (CPU_ISSET_S(cpu, size, set)) cpus.push_back(cpu);
  CPU_FREE(set);
  return cpus;
}

/// The location of the `turn`-th rank of a node.
Location spot_on(const Shape& shape, const base::Bytes& cpus, int turn, bool pretended) {
  if (pretended) return shape.cores[static_cast<size_t>(turn) % shape.cores.size()].location;
  base::ByteReader in(cpus);
  std::vector<int> mine(static_cast<size_t>(in.get<int64_t>()));
  for (int& cpu : mine) cpu = in.get<int32_t>();
  return topology::location_of(shape, mine);
}

base::Bytes cpus_as_bytes() {
  const auto cpus = own_cpus();
  base::ByteWriter out;
  out.put(static_cast<int64_t>(cpus.size()));
  for (const int32_t cpu : cpus) out.put(cpu);
  return out.take();
}

/// What the first rank of a node sends about all ranks there.
struct NodeLocations {
  std::vector<Location> locations;  ///< without their node
  std::string trouble, fault;

  static constexpr auto members() {
    using L = NodeLocations;
    return std::tuple{&L::locations, &L::trouble, &L::fault};
  }
};

/// Puts the cores on the mesh that the configuration names, if any. Returns why that cannot be.
std::string lay(Shape& shape, int64_t columns, int64_t rows) {
  if (columns == 0) return {};
  try {
    topology::put_on_mesh(shape, static_cast<int32_t>(columns), static_cast<int32_t>(rows));
    return {};
  } catch (const Error& e) {
    return e.what();
  }
}

NodeLocations look(const std::vector<base::Bytes>& cpus, const TestOverrides& test_overrides,
                   int64_t columns, int64_t rows) {
  NodeLocations found;
  found.locations.resize(cpus.size());
  try {
    const bool pretended = !test_overrides.topology.empty();
    // Other ranks may have other cores than this one, and places on a mesh count them all.
    Shape shape = pretended ? topology::node_of_text(test_overrides.topology)
                            : topology::this_node(topology::CoreSet::All);
    found.fault = lay(shape, columns, rows);
    for (size_t i = 0; i < cpus.size(); ++i)
      found.locations[i] = spot_on(shape, cpus[i], static_cast<int>(i), pretended);
  } catch (const std::exception& e) {
    found.trouble = e.what();
  }
  return found;
}

/// What several nodes have sent, each different answer once: most nodes of a machine are equal.
struct AllNodes {
  struct EqualNodes {
    int64_t nodes = 0;  ///< that follow each other
    int64_t answer = 0;
  };
  std::vector<std::string> answers;  ///< bytes of NodeLocations
  std::vector<EqualNodes> runs;      ///< in the order of nodes

  static constexpr auto members() { return std::tuple{&AllNodes::answers, &AllNodes::runs}; }
  void append(const AllNodes& later);
};

void AllNodes::append(const AllNodes& later) {
  std::map<std::string, int64_t> numbers;
  for (const auto& answer : answers) numbers.emplace(answer, static_cast<int64_t>(numbers.size()));
  for (const auto& run : later.runs) {
    const auto& answer = later.answers[static_cast<size_t>(run.answer)];
    const auto [at, is_new] = numbers.emplace(answer, static_cast<int64_t>(numbers.size()));
    if (is_new) answers.push_back(answer);
    if (!runs.empty() && runs.back().answer == at->second) runs.back().nodes += run.nodes;
    else runs.push_back({run.nodes, at->second});
  }
}

const auto joined_nodes = [](const base::Bytes& lower, const base::Bytes& higher) {
  auto all = base::from_bytes<AllNodes>(lower);
  all.append(base::from_bytes<AllNodes>(higher));
  return base::to_bytes(all);
};

/// The location of each rank, whose nodes are numbered in the order of `sent`.
Locations read_locations(const AllNodes& sent, const std::vector<int>& node) {
  Locations found;
  std::vector<NodeLocations> answers;
  for (const auto& bytes : sent.answers) {
    base::ByteReader in(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size());
    const auto& answer = answers.emplace_back(in.get<NodeLocations>());
    if (!answer.trouble.empty()) found.trouble = answer.trouble;
    if (!answer.fault.empty()) found.fault = answer.fault;
  }
  found.locations.resize(node.size());
  for (size_t r = 0; r < node.size(); ++r) found.locations[r].node = node[r];
  if (!found.trouble.empty()) return found;
  std::vector<const NodeLocations*> of_node;
  for (const auto& run : sent.runs)
    of_node.insert(of_node.end(), static_cast<size_t>(run.nodes),
                   &answers[static_cast<size_t>(run.answer)]);
  std::vector<size_t> next(of_node.size());
  for (size_t r = 0; r < node.size(); ++r) {
    const auto n = static_cast<size_t>(node[r]);
    found.locations[r] = of_node[n]->locations[next[n]++];
    found.locations[r].node = node[r];
  }
  return found;
}

}  // namespace

TestOverrides read_test_overrides() {
  TestOverrides test_overrides;
  if (const char* nodes = std::getenv("PILLION_PRETEND_NODES"))
    test_overrides.nodes = std::max<int64_t>(0, std::atoll(nodes));
  if (const char* seconds = std::getenv("PILLION_PRETEND_PATIENCE"))
    test_overrides.patience = std::atof(seconds);
  if (const char* topology = std::getenv("PILLION_PRETEND_TOPOLOGY"))
    test_overrides.topology = topology;
  return test_overrides;
}

std::vector<int> find_nodes(const comm::Communicator& world, const TestOverrides& test_overrides) {
  std::vector<int> node;
  if (test_overrides.nodes > 0) {
    comm::together(world, [&] {
      for (int r = 0; r < world.size(); ++r)
        node.push_back(overridden_node(r, world.size(), static_cast<int>(test_overrides.nodes)));
    });
    return node;
  }
  const auto neighbours = world.split_by_node();
  const auto leaders =
      world.gather_all_runs(neighbours.reduced(world.rank(), comm::Operation::Min));
  comm::together(world, [&] { node = number_nodes(leaders); });
  return node;
}

Locations find_locations(const comm::Communicator& world, const std::vector<int>& node,
                         const TestOverrides& test_overrides, int64_t columns, int64_t rows) {
  const auto here = world.split(node[static_cast<size_t>(world.rank())]);
  base::Bytes own, found;
  comm::together(world, [&] { own = cpus_as_bytes(); });
  std::vector<base::Bytes> cpus;
  auto failure = comm::failure_of([&] { cpus = here.gather(own, 0); });
  // Nodes are numbered in the order of their first ranks, as the leaders are. So the first of them
  // is rank 0.
  const auto leaders = world.split(here.rank() == 0 ? 0 : -1);
  comm::together(world, [&] {
    comm::rethrow(failure);
    if (!leaders) return;
    found = base::to_bytes(look(cpus, test_overrides, columns, rows));
    found = base::to_bytes(
        AllNodes{{{reinterpret_cast<const char*>(found.data()), found.size()}}, {{1, 0}}});
  });
  if (leaders)
    failure = comm::failure_of([&] { found = leaders.fold(std::move(found), joined_nodes); });
  const auto all = comm::broadcast_made(world, 0, [&] {
    comm::rethrow(failure);
    return std::move(found);
  });
  Locations locations;
  comm::together(world, [&] { locations = read_locations(base::from_bytes<AllNodes>(all), node); });
  return locations;
}

int overridden_node(int rank, int ranks, int nodes) {
  const int64_t groups = std::clamp(nodes, 1, std::max(ranks, 1));
  return static_cast<int>(rank * groups / ranks);
}

std::vector<int> number_nodes(const std::vector<int64_t>& leader_of_rank) {
  std::map<int64_t, int> numbers;
  std::vector<int> nodes;
  for (const int64_t leader : leader_of_rank)
    nodes.push_back(numbers.try_emplace(leader, static_cast<int>(numbers.size())).first->second);
  return nodes;
}

}  // namespace pillion::run
