// SPDX-License-Identifier: BSD-3-Clause
// Asking hwloc, the only place that does.
#include "topology/shape.hpp"

#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>

#include "base/error.hpp"

namespace pillion::topology {

namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

Topology make() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0)
    base::fail(ErrorCode::Placement, "hwloc cannot begin: {}", std::strerror(errno));
  return Topology(topology);
}

void load(const Topology& topology, const std::string& what) {
  if (hwloc_topology_load(topology.get()) != 0)
    base::fail(ErrorCode::Placement, "hwloc cannot read the topology of {}: {}", what,
               std::strerror(errno));
}

std::vector<int> cpus_in(hwloc_const_cpuset_t set) {
  std::vector<int> cpus;
  for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu))
    cpus.push_back(cpu);
  return cpus;
}

/// The number of the part of this kind that a core is in.
int32_t above(const Topology& topology, hwloc_obj_t core, hwloc_obj_type_t type) {
  const auto* part = hwloc_get_ancestor_obj_by_type(topology.get(), type, core);
  return part == nullptr ? unknown : static_cast<int32_t>(part->logical_index);
}

/// Domains of memory hang beside the tree of cores; the smallest that covers the core is its own.
/// None may, where a processor has no memory; and others have no cores.
hwloc_obj_t domain_of(const Topology& topology, hwloc_obj_t core) {
  hwloc_obj_t best = nullptr;
  hwloc_obj_t domain = nullptr;
  while ((domain = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_NUMANODE, domain)))
    if (hwloc_bitmap_isincluded(core->cpuset, domain->cpuset) &&
        (best == nullptr ||
         hwloc_bitmap_weight(domain->cpuset) < hwloc_bitmap_weight(best->cpuset)))
      best = domain;
  return best;
}

/// The largest cache that several cores share, but none that reaches over domains of memory (as
/// the last level does where a socket is divided in clusters): what lies there is not near.
hwloc_obj_t cache_of(const Topology& topology, hwloc_obj_t core, hwloc_obj_t domain) {
  hwloc_obj_t best = nullptr;
  for (auto* part = core->parent; part != nullptr; part = part->parent)
    if (hwloc_obj_type_is_cache(part->type) &&
        (domain == nullptr || hwloc_bitmap_isincluded(part->cpuset, domain->cpuset)) &&
        hwloc_get_nbobjs_inside_cpuset_by_type(topology.get(), part->cpuset, HWLOC_OBJ_CORE) > 1)
      best = part;
  return best;
}

/// Numbers of parts that cores have, in the order of cores.
using Numbers = std::map<hwloc_obj_t, int32_t>;

int32_t number_of(hwloc_obj_t part, Numbers& seen) {
  if (part == nullptr) return unknown;
  return seen.try_emplace(part, static_cast<int32_t>(seen.size())).first->second;
}

Shape shape_of(const Topology& topology, const std::string& what) {
  Shape shape;
  Numbers domains, caches;
  // Machines of the simplest kind have no cores but only hardware threads.
  const auto type =
      hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  hwloc_obj_t core = nullptr;
  while ((core = hwloc_get_next_obj_by_type(topology.get(), type, core))) {
    auto* domain = domain_of(topology, core);
    Location location{.node = 0,
                      .package = std::max(0, above(topology, core, HWLOC_OBJ_PACKAGE)),
                      .numa = number_of(domain, domains),
                      .cache = number_of(cache_of(topology, core, domain), caches),
                      .core = static_cast<int32_t>(shape.cores.size())};
    shape.packages = std::max(shape.packages, location.package + 1);
    shape.cores.push_back({location, cpus_in(core->cpuset)});
  }
  shape.domains = static_cast<int32_t>(domains.size());
  if (shape.cores.empty())
    base::fail(ErrorCode::Placement, "the topology of {} has no cores", what);
  return shape;
}

}  // namespace

Shape this_node(CoreSet which) {
  const auto topology = make();
  if (which == CoreSet::All)
    hwloc_topology_set_flags(topology.get(), HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  load(topology, "this machine");
  return shape_of(topology, "this machine");
}

Shape node_of_file(const std::string& path) {
  const auto topology = make();
  if (access(path.c_str(), R_OK) != 0)
    base::fail(ErrorCode::Placement, "the topology '{}' cannot be read: {}", path,
               std::strerror(errno));
  // Some versions of hwloc look at what is in the file only when they load it.
  if (hwloc_topology_set_xml(topology.get(), path.c_str()) != 0 ||
      hwloc_topology_load(topology.get()) != 0)
    base::fail(ErrorCode::Placement,
               "'{}' is not a topology that hwloc can read; write one with 'lstopo FILE.xml'",
               path);
  return shape_of(topology, path);
}

namespace {

int32_t number_in(const std::string& text, const std::string& digits) {
  if (digits.empty() || digits.size() > 4 ||
      digits.find_first_not_of("0123456789") != std::string::npos || std::stoi(digits) < 1)
    base::fail(ErrorCode::Placement,
               "'{}' is not a mesh; write 'mesh:COLUMNSxROWS', such as 'mesh:8x8'", text);
  return std::stoi(digits);
}

Shape node_of_mesh(const std::string& text) {
  const auto by = text.find('x');
  const auto columns = number_in(text, text.substr(5, by - 5));
  const auto rows = number_in(text, by == std::string::npos ? "" : text.substr(by + 1));
  Shape shape = node_of_text("package:1 core:" + std::to_string(int64_t{columns} * rows));
  put_on_mesh(shape, columns, rows);
  return shape;
}

}  // namespace

Shape node_of_text(const std::string& text) {
  if (text.rfind("mesh:", 0) == 0) return node_of_mesh(text);
  const auto topology = make();
  // "numa:2 core:16" does not list hardware threads, which hwloc needs.
  const bool ends = text.find("pu:") != std::string::npos;
  const std::string whole = ends ? text : text + " pu:1";
  if (text.empty() || hwloc_topology_set_synthetic(topology.get(), whole.c_str()) != 0)
    base::fail(ErrorCode::Placement,
               "'{}' describes no node; write parts and how many each holds, such as 'package:2 "
               "core:16', 'numa:8 l3:4 core:4' or 'mesh:8x8'",
               text);
  load(topology, "'" + text + "'");
  return shape_of(topology, "'" + text + "'");
}

void put_on_mesh(Shape& shape, int32_t columns, int32_t rows) {
  if (int64_t{columns} * rows != static_cast<int64_t>(shape.cores.size()))
    base::fail(ErrorCode::Placement, "a mesh of {} x {} has {} cores, but the node has {}", columns,
               rows, int64_t{columns} * rows, shape.cores.size());
  shape.columns = columns;
  shape.rows = rows;
  for (size_t i = 0; i < shape.cores.size(); ++i) {
    shape.cores[i].location.column = static_cast<int32_t>(i) % columns;
    shape.cores[i].location.row = static_cast<int32_t>(i) / columns;
  }
}

namespace {

bool holds(const Core& core, const std::vector<int>& cpus) {
  return std::any_of(core.cpus.begin(), core.cpus.end(), [&](int cpu) {
    return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
  });
}

void keep_common(int32_t& mine, int32_t other) {
  if (mine != other) mine = unknown;
}

}  // namespace

Location location_of(const Shape& shape, const std::vector<int>& cpus) {
  bool any = false;
  Location common;
  for (const Core& core : shape.cores) {
    if (!holds(core, cpus)) continue;
    if (!any) common = core.location;
    any = true;
    for (const auto part : {&Location::package, &Location::numa, &Location::cache, &Location::core})
      keep_common(common.*part, core.location.*part);
    if (common.core == unknown) common.column = common.row = unknown;
  }
  return common;
}

}  // namespace pillion::topology
