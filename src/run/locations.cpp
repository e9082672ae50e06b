// SPDX-License-Identifier: BSD-3-Clause
// Every rank reports the CPUs on which the operating system lets it run, one rank of each node
// finds their location, and broadcasts it.
#include "run/locations.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/bytes.hpp"
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

/// The spot of the `turn`-th rank of a node.
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

/// What the first rank of a node tells of all ranks there.
struct NodeLocations {
  std::vector<Location> locations;
  std::string trouble, fault;
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

constexpr auto parts = {&Location::package, &Location::numa,   &Location::cache,
                        &Location::core,    &Location::column, &Location::row};

base::Bytes bytes_of(const NodeLocations& found) {
  base::ByteWriter out;
  out.put(found.trouble);
  out.put(found.fault);
  for (const Location& location : found.locations)
    for (const auto part : parts) out.put(location.*part);
  return out.take();
}

/// Reads what the first rank of each node sent, by node.
Locations read_locations(const std::vector<base::Bytes>& sent, const std::vector<int>& node) {
  Locations found;
  found.locations.resize(node.size());
  // One pass over the ranks serves all nodes.
  std::vector<std::vector<size_t>> ranks(sent.size());
  for (size_t r = 0; r < node.size(); ++r) ranks[static_cast<size_t>(node[r])].push_back(r);
  for (size_t n = 0; n < sent.size(); ++n) {
    base::ByteReader in(sent[n]);
    const auto trouble = in.get<std::string>();
    if (!trouble.empty()) found.trouble = trouble;
    const auto fault = in.get<std::string>();
    if (!fault.empty()) found.fault = fault;
    for (const size_t r : ranks[n])
      for (const auto part : parts) found.locations[r].*part = in.get<int32_t>();
  }
  if (!found.trouble.empty()) found.locations.assign(node.size(), {});
  for (size_t r = 0; r < node.size(); ++r) found.locations[r].node = node[r];
  return found;
}

base::Bytes bytes_of(const Locations& found) {
  base::ByteWriter out;
  out.put(found.trouble);
  out.put(found.fault);
  for (const Location& location : found.locations) {
    out.put(location.node);
    for (const auto part : parts) out.put(location.*part);
  }
  return out.take();
}

Locations read_spots(const base::Bytes& bytes, size_t ranks) {
  base::ByteReader in(bytes);
  Locations found;
  found.trouble = in.get<std::string>();
  found.fault = in.get<std::string>();
  found.locations.resize(ranks);
  for (Location& location : found.locations) {
    location.node = in.get<int32_t>();
    for (const auto part : parts) location.*part = in.get<int32_t>();
  }
  return found;
}

}  // namespace

TestOverrides read_test_overrides() {
  TestOverrides test_overrides;
  if (const char* nodes = std::getenv("PILLION_PRETEND_NODES"))
    test_overrides.nodes = std::max<int64_t>(0, std::atoll(nodes));
  if (const char* topology = std::getenv("PILLION_PRETEND_TOPOLOGY"))
    test_overrides.topology = topology;
  return test_overrides;
}

std::vector<int> find_nodes(const comm::Communicator& world, const TestOverrides& test_overrides) {
  if (test_overrides.nodes > 0) {
    std::vector<int> node;
    for (int r = 0; r < world.size(); ++r)
      node.push_back(overridden_node(r, world.size(), static_cast<int>(test_overrides.nodes)));
    return node;
  }
  const auto neighbours = world.split_by_node();
  return number_nodes(world.gather_all(neighbours.reduced(world.rank(), comm::Operation::Min)));
}

Locations find_locations(const comm::Communicator& world, const std::vector<int>& node,
                         const TestOverrides& test_overrides, int64_t columns, int64_t rows) {
  const auto here = world.split(node[static_cast<size_t>(world.rank())]);
  const auto cpus = here.gather(cpus_as_bytes(), 0);
  // Nodes are numbered in the order of their first ranks, as the leaders are.
  const auto leaders = world.split(here.rank() == 0 ? 0 : -1);
  base::Bytes all;
  if (leaders) {
    const auto sent = leaders.gather(bytes_of(look(cpus, test_overrides, columns, rows)), 0);
    if (leaders.rank() == 0) all = bytes_of(read_locations(sent, node));
  }
  world.broadcast(all, 0);
  return read_spots(all, node.size());
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
