// SPDX-License-Identifier: BSD-3-Clause
#include "topology/shape.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "base/error.hpp"

using namespace pillion;
using namespace pillion::topology;

TEST_CASE("synthetic nodes have the parts that they say") {
  const auto haswell = node_of_text("package:2 core:16");
  CHECK(haswell.cores.size() == 32);
  CHECK(haswell.packages == 2);
  const auto epyc = node_of_text("package:2 numa:4 l3:4 core:4 pu:2");
  REQUIRE(epyc.cores.size() == 128);
  CHECK(epyc.packages == 2);
  CHECK(epyc.domains == 8);
  std::set<int> caches, cpus;
  for (size_t i = 0; i < 128; ++i) {
    const auto& core = epyc.cores[i];
    CHECK(core.location.core == static_cast<int32_t>(i));
    CHECK(core.location.numa == static_cast<int32_t>(i / 16));
    CHECK(core.location.package == static_cast<int32_t>(i / 64));
    caches.insert(core.location.cache);
    CHECK(core.cpus.size() == 2);
    cpus.insert(core.cpus.begin(), core.cpus.end());
  }
  CHECK(caches.size() == 32);
  CHECK(cpus.size() == 256);
}

TEST_CASE("meshes put cores in rows") {
  const auto mesh = node_of_text("mesh:4x3");
  REQUIRE(mesh.cores.size() == 12);
  CHECK(mesh.columns == 4);
  CHECK(mesh.rows == 3);
  CHECK(mesh.cores[5].location.column == 1);
  CHECK(mesh.cores[5].location.row == 1);
  CHECK(distance(mesh.cores[0].location, mesh.cores[11].location) == 5);
  Shape other = node_of_text("core:12");
  CHECK_THROWS_AS(put_on_mesh(other, 5, 3), Error);
}

TEST_CASE("distances count what is shared") {
  const auto epyc = node_of_text("package:2 numa:4 l3:4 core:4");
  const auto apart = [&](size_t a, size_t b) {
    return distance(epyc.cores[a].location, epyc.cores[b].location);
  };
  CHECK(apart(0, 0) == 0);
  CHECK(apart(0, 3) == 1);
  CHECK(apart(0, 4) == 2);
  CHECK(apart(0, 16) == 3);
  CHECK(apart(0, 64) == 4);
  Location far = epyc.cores[0].location;
  far.node = 1;
  CHECK(distance(epyc.cores[0].location, far) == levels_between_nodes);
}

TEST_CASE("whoever may run on several cores has the spot that they have in common") {
  const auto node = node_of_text("package:2 numa:2 core:2 pu:2");
  CHECK(location_of(node, {0, 1}).core == 0);
  CHECK(location_of(node, {0, 2}).core == unknown);
  CHECK(location_of(node, {0, 2}).numa == 0);
  CHECK(location_of(node, {0, 4}).numa == unknown);
  CHECK(location_of(node, {0, 4}).package == 0);
  CHECK(location_of(node, {0, 15}).package == unknown);
  CHECK(location_of(node, {99}) == Location{});
  CHECK(location_of(node, {}) == Location{});
}

TEST_CASE("a cache over several domains of memory makes nobody near") {
  // As sockets are that are divided in clusters: all cores share the last level.
  const auto node = node_of_text("package:1 l3:1 numa:2 l2:2 core:2");
  CHECK(distance(node.cores[0].location, node.cores[1].location) == 1);
  CHECK(distance(node.cores[0].location, node.cores[2].location) == 2);
  CHECK(distance(node.cores[0].location, node.cores[4].location) == 3);
}

TEST_CASE("domains that have cores are counted, and numbered in their order") {
  const auto node = node_of_text("package:2 [numa] [numa] core:2");
  CHECK(node.domains == 2);
  CHECK(node.cores[0].location.numa == 0);
  CHECK(node.cores[3].location.numa == 1);
}

namespace {

std::string written(const std::string& text) {
  static int count = 0;
  const auto path = std::filesystem::temp_directory_path() /
                    ("pillion-shape-" + std::to_string(getpid()) + "-" + std::to_string(count++));
  std::ofstream(path) << text;
  return path.string();
}

/// Two packages of two cores, of which only the first has memory.
const char* const half = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0xf" complete_cpuset="0xf" allowed_cpuset="0xf"
          nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">
    <object type="Package" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1"
            complete_nodeset="0x1" gp_index="2">
      <object type="NUMANode" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1"
              complete_nodeset="0x1" gp_index="3" local_memory="1073741824"/>
      <object type="Core" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1"
              complete_nodeset="0x1" gp_index="4">
        <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1"
                complete_nodeset="0x1" gp_index="5"/></object>
      <object type="Core" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1"
              complete_nodeset="0x1" gp_index="6">
        <object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1"
                complete_nodeset="0x1" gp_index="7"/></object></object>
    <object type="Package" os_index="1" cpuset="0xc" complete_cpuset="0xc" nodeset="0x0"
            complete_nodeset="0x0" gp_index="8">
      <object type="Core" os_index="2" cpuset="0x4" complete_cpuset="0x4" nodeset="0x0"
              complete_nodeset="0x0" gp_index="9">
        <object type="PU" os_index="2" cpuset="0x4" complete_cpuset="0x4" nodeset="0x0"
                complete_nodeset="0x0" gp_index="10"/></object>
      <object type="Core" os_index="3" cpuset="0x8" complete_cpuset="0x8" nodeset="0x0"
              complete_nodeset="0x0" gp_index="11">
        <object type="PU" os_index="3" cpuset="0x8" complete_cpuset="0x8" nodeset="0x0"
                complete_nodeset="0x0" gp_index="12"/></object></object></object>
</topology>
)";

}  // namespace

TEST_CASE("a package without memory is not in the domain of another") {
  const auto path = written(half);
  const auto node = node_of_file(path);
  std::filesystem::remove(path);
  REQUIRE(node.cores.size() == 4);
  CHECK(node.domains == 1);
  CHECK(node.cores[2].location.numa == unknown);
  CHECK(distance(node.cores[0].location, node.cores[1].location) == 2);
  CHECK(distance(node.cores[0].location, node.cores[2].location) == 4);
}

TEST_CASE("a file that is no topology is refused with advice") {
  for (const std::string text :
       {"", "nonsense", "<?xml version=\"1.0\"?><topology version=\"2.0\">"}) {
    const auto path = written(text);
    try {
      node_of_file(path);
      FAIL("no error");
    } catch (const Error& e) {
      CHECK(std::string(e.what()).find("lstopo") != std::string::npos);
    }
    std::filesystem::remove(path);
  }
}

TEST_CASE("cores that are kept for others count on a mesh") {
  std::string text = half;
  text.replace(text.find("allowed_cpuset=\"0xf\""), 20, "allowed_cpuset=\"0xc\"");
  const auto path = written(text);
  setenv("HWLOC_XMLFILE", path.c_str(), 1);
  const auto allowed = this_node(CoreSet::Allowed);
  auto all = this_node(CoreSet::All);
  unsetenv("HWLOC_XMLFILE");
  std::filesystem::remove(path);
  CHECK(allowed.cores.size() == 2);
  CHECK(location_of(allowed, {0}).core == unknown);
  REQUIRE(all.cores.size() == 4);
  put_on_mesh(all, 2, 2);
  CHECK(location_of(all, {0}).row == 0);
  CHECK(location_of(all, {3}).row == 1);
}

TEST_CASE("this node has the CPUs that the operating system has") {
  const auto node = this_node(CoreSet::Allowed);
  size_t cpus = 0;
  for (const auto& core : node.cores) cpus += core.cpus.size();
  CHECK(cpus == std::thread::hardware_concurrency());
}

TEST_CASE("what describes no node is refused with advice") {
  for (const std::string text :
       {"", "core:x", "nonsense", "mesh:8", "mesh:0x4", "mesh:8x8x", "mesh:"}) {
    CAPTURE(text);
    try {
      node_of_text(text);
      FAIL("no error");
    } catch (const Error& e) {
      CHECK(e.code() == ErrorCode::Placement);
      CHECK(std::string(e.what()).find("such as") != std::string::npos);
    }
  }
  CHECK_THROWS_AS(node_of_file("/nonexistent/machine.xml"), Error);
}
