// SPDX-License-Identifier: BSD-3-Clause
// From nodes of a simulation to parts: geometry, ghosts, fields, and what is wrong with them.
#include "parts.hpp"

#include <doctest/doctest.h>

#include "tree.hpp"

using namespace pillion::catalyst;
using test::Tree;

namespace {

constexpr const char* mesh = "channels/c/data/";

/// A uniform mesh of 3 x 2 cells.
Tree uniform() {
  Tree tree;
  const std::string at = mesh;
  tree.set("channels/c/type", "mesh")
      .set(at + "coordsets/coords/type", "uniform")
      .set(at + "coordsets/coords/dims/i", 4)
      .set(at + "coordsets/coords/dims/j", 3)
      .set(at + "topologies/topo/type", "uniform")
      .set(at + "topologies/topo/coordset", "coords");
  return tree;
}

void add_field(Tree& tree, const std::string& name, const std::vector<double>& values,
               const char* association = "element") {
  const std::string at = mesh + ("fields/" + name);
  tree.set(at + "/association", association).set(at + "/topology", "topo");
  tree.set(at + "/values", values);
}

Description described(const Tree& tree) { return describe(tree.node("channels")); }

std::string only_fault(const Tree& tree) {
  const Description found = described(tree);
  REQUIRE(found.faults.size() == 1);
  return found.faults.front().text;
}

}  // namespace

TEST_CASE("a uniform mesh has its defaults, and loses axes of one point") {
  Tree tree = uniform();
  const std::string at = mesh;
  tree.set(at + "coordsets/coords/dims/k", 1).set(at + "coordsets/coords/origin/y", -2.5);
  tree.set(at + "coordsets/coords/spacing/dx", 0.5).set(at + "coordsets/coords/units/x", "km");
  const auto found = described(tree);
  REQUIRE(found.parts.size() == 1);
  const Part& part = found.parts.front();
  CHECK(part.key == Key{"c", "", "topo"});
  CHECK(part.axes == 2);
  CHECK(part.cells == std::array<int64_t, 3>{3, 2, 1});
  CHECK(part.origin == std::array<double, 3>{0, -2.5, 0});
  CHECK(part.spacing == std::array<double, 3>{0.5, 1, 1});
  CHECK(part.number_of_points() == 12);
  CHECK(part.units == "km");
  CHECK(found.faults.empty());
}

TEST_CASE("a plane across the first axis keeps the others") {
  Tree tree = uniform();
  const std::string at = mesh;
  tree.set(at + "coordsets/coords/dims/i", 1).set(at + "coordsets/coords/dims/k", 5);
  tree.set(at + "coordsets/coords/origin/z", 3);
  const auto found = described(tree);
  REQUIRE(found.parts.size() == 1);
  CHECK(found.parts.front().cells == std::array<int64_t, 3>{2, 4, 1});
  CHECK(found.parts.front().origin == std::array<double, 3>{0, 3, 0});
}

TEST_CASE("a rank may have nothing, and a domain no cells") {
  Tree tree;
  tree.set("channels/c/type", "mesh").make("channels/c/data");
  tree.set("channels/d/type", "mesh");
  CHECK(described(tree).parts.empty());
  CHECK(described(tree).faults.empty());
  Tree empty = uniform();
  empty.set(std::string(mesh) + "coordsets/coords/dims/i", 0);
  CHECK(described(empty).parts.empty());
  CHECK(described(empty).faults.empty());
}

TEST_CASE("a structured or unstructured domain without points has no cells") {
  const std::string at = mesh;
  Tree tree;
  tree.set("channels/c/type", "mesh").set(at + "coordsets/p/type", "explicit");
  for (const char* axis : {"x", "y"})
    tree.set(at + "coordsets/p/values/" + axis, std::vector<double>());
  tree.set(at + "topologies/t/type", "structured").set(at + "topologies/t/coordset", "p");
  for (const int rows : {0, 3}) {
    tree.set(at + "topologies/t/elements/dims/i", rows).set(at + "topologies/t/elements/dims/j", 0);
    CHECK(described(tree).parts.empty());
    CHECK(described(tree).faults.empty());
  }
  tree.set(at + "topologies/t/type", "unstructured").set(at + "topologies/t/elements/shape", "hex");
  tree.set(at + "topologies/t/elements/connectivity", std::vector<int32_t>());
  CHECK(described(tree).parts.empty());
  CHECK(described(tree).faults.empty());
}

TEST_CASE("fields: strides, components, units and counts") {
  Tree tree = uniform();
  struct Member {
    double u, v;
    int32_t tag, pad;
  };
  std::vector<Member> members(6);
  for (size_t i = 0; i < 6; ++i) members[i] = {1.0 + static_cast<double>(i), -1, 7, 0};
  const std::string at = std::string(mesh) + "fields/w/";
  tree.set(at + "association", "element").set(at + "topology", "topo").set(at + "units", "m/s");
  tree.share(at + "values/x", &members[0].u, 6, sizeof(Member));
  tree.share(at + "values/y", &members[0].v, 6, sizeof(Member));
  add_field(tree, "p", std::vector<double>(12, 2), "vertex");
  const auto found = described(tree);
  REQUIRE(found.parts.size() == 1);
  const auto& fields = found.parts.front().fields;
  REQUIRE(fields.size() == 2);
  CHECK(fields[0].units == "m/s");
  REQUIRE(fields[0].components.size() == 2);
  CHECK(fields[0].components[0].data == reinterpret_cast<std::byte*>(members.data()));
  CHECK(fields[0].components[0].real(4) == 5);
  CHECK(fields[0].lattice.at({2, 1, 0}) == 5);
  CHECK(fields[1].at_points);
  CHECK(fields[1].lattice.at({3, 2, 0}) == 11);
}

TEST_CASE("fields that cannot be taken are faults of their own") {
  Tree tree = uniform();
  add_field(tree, "p", {1, 2, 3});
  CHECK(
      only_fault(tree) ==
      "'channels/c/data/fields/p' has 3 values, and 'channels/c/data/topologies/topo' has 6 cells");
  const auto found = described(tree);
  CHECK(found.parts.size() == 1);
  CHECK(found.faults.front().field == "p");
  CHECK(!found.faults.front().covers({"c", "", "topo"}));
  add_field(tree, "p", std::vector<double>(6), "face");
  CHECK(only_fault(tree) ==
        "'channels/c/data/fields/p/association' is 'face'; Pillion takes 'vertex' and 'element'");
  add_field(tree, "p", std::vector<double>(6));
  tree.turn_bytes(std::string(mesh) + "fields/p/values");
  CHECK(only_fault(tree) ==
        "the bytes of 'channels/c/data/fields/p/values' are in another order than this machine's");
  add_field(tree, "p", std::vector<double>(6));
  tree.set(std::string(mesh) + "fields/p/topology", "elsewhere");
  CHECK(only_fault(tree) ==
        "'channels/c/data/fields/p' names the topology 'elsewhere', but there is none, and is left "
        "out");
  CHECK(!described(tree).faults.front().covers({"c", "", "topo"}));
  Tree of_materials = uniform();
  of_materials.set(std::string(mesh) + "fields/m/topology", "topo");
  CHECK(only_fault(of_materials).ends_with("Pillion takes no values of materials"));
}

TEST_CASE("fields in a larger array") {
  Tree tree = uniform();
  const std::string at = std::string(mesh) + "fields/p/";
  add_field(tree, "p", std::vector<double>(20));
  tree.set(at + "strides", std::vector<int32_t>{1, 5})
      .set(at + "offsets", std::vector<int32_t>{1, 2});
  auto found = described(tree);
  REQUIRE(found.parts.front().fields.size() == 1);
  CHECK(found.parts.front().fields[0].lattice.at({2, 1, 0}) == 3 + 5 * 3);
  add_field(tree, "p", std::vector<double>(18));
  CHECK(only_fault(tree) ==
        "'channels/c/data/fields/p' has 18 values, too few for its offsets and strides");
}

TEST_CASE("ghosts of boxes are left out if the others form a box") {
  Tree tree = uniform();
  const std::string at = std::string(mesh) + "fields/vtkGhostType/";
  tree.set(at + "association", "element").set(at + "topology", "topo");
  tree.set(at + "values", std::vector<uint8_t>{1, 0, 0, 1, 0, 8});
  auto found = described(tree);
  REQUIRE(found.parts.size() == 1);
  CHECK(found.parts[0].lo == std::array<int64_t, 3>{1, 0, 0});
  CHECK(found.parts[0].hi == std::array<int64_t, 3>{3, 2, 1});
  CHECK(found.parts[0].number_of_own() == 4);
  CHECK(found.parts[0].fields.empty());  // ghosts are no field
  tree.set(at + "values", std::vector<uint8_t>{1, 0, 0, 0, 0, 0});
  CHECK(only_fault(tree).starts_with(
      "the cells of 'channels/c/data/topologies/topo' that are not ghosts are "
      "no box: 5 of the 6"));
  tree.set(at + "values", std::vector<uint8_t>(6, 1));
  CHECK(described(tree).parts[0].number_of_own() == 0);
}

TEST_CASE("ghosts in a larger array, or with the second axis fastest") {
  Tree tree = uniform();
  const std::string at = std::string(mesh) + "fields/ascent_ghosts/";
  tree.set(at + "association", "element").set(at + "topology", "topo");
  tree.set(at + "values", std::vector<uint8_t>{1, 1, 0, 0, 0, 0});
  tree.set(at + "strides", std::vector<int32_t>{2, 1});
  CHECK(described(tree).faults.empty());
  REQUIRE(described(tree).parts.size() == 1);
  CHECK(described(tree).parts[0].lo == std::array<int64_t, 3>{1, 0, 0});
  CHECK(described(tree).parts[0].hi == std::array<int64_t, 3>{3, 2, 1});
  std::vector<uint8_t> around(20, 9);
  for (const size_t row : {5, 10})
    for (size_t i = 1; i < 4; ++i) around[row + i] = i == 3 ? 1 : 0;
  tree.set(at + "values", around);
  tree.set(at + "strides", std::vector<int32_t>{1, 5});
  tree.set(at + "offsets", std::vector<int32_t>{1, 1});
  CHECK(described(tree).faults.empty());
  REQUIRE(described(tree).parts.size() == 1);
  CHECK(described(tree).parts[0].lo == std::array<int64_t, 3>{0, 0, 0});
  CHECK(described(tree).parts[0].hi == std::array<int64_t, 3>{2, 2, 1});
}

TEST_CASE("values of ghosts may have other meanings") {
  Tree tree = uniform();
  const std::string data = mesh;
  const std::string attributes = data + "state/metadata/vtk_fields/mine/";
  tree.set(attributes + "attribute_type", "Ghosts");
  tree.set(attributes + "values_to_replace", std::vector<int32_t>{-1, 5});
  tree.set(attributes + "replacement_values", std::vector<int32_t>{1, 0});
  const std::string at = data + "fields/mine/";
  tree.set(at + "association", "element").set(at + "topology", "topo");
  tree.set(at + "values", std::vector<int32_t>{5, 5, -1, 5, 5, -1});
  CHECK(described(tree).parts[0].hi == std::array<int64_t, 3>{2, 2, 1});
}

TEST_CASE("channels, blocks and domains") {
  Tree tree;
  for (const char* name : {"fluid_1", "fluid_22", "solid"}) {
    const std::string at = std::string("channels/c/data/") + name + "/";
    tree.set(at + "coordsets/p/type", "explicit")
        .set(at + "coordsets/p/values/x", std::vector<float>{1, 2});
    tree.set(at + "topologies/t/type", "points").set(at + "topologies/t/coordset", "p");
  }
  tree.set("channels/c/type", "multimesh");
  auto found = described(tree);
  REQUIRE(found.parts.size() == 3);
  CHECK(found.parts[0].key.block == "fluid");
  CHECK(found.parts[1].key.block == "fluid");
  CHECK(found.parts[2].key.block == "solid");
  tree.set("channels/c/type", "amrmesh");
  CHECK(described(tree).parts[2].key.block.empty());
  tree.set("channels/c/type", "fides");
  found = described(tree);
  CHECK(found.parts.empty());
  CHECK(found.faults.front().covers({"c", "solid", "t"}));
  CHECK(!found.faults.front().covers({"d", "solid", "t"}));
}

TEST_CASE("faults of geometry") {
  const std::string at = mesh;
  Tree tree = uniform();
  tree.set(at + "coordsets/coords/spacing/dy", 0);
  CHECK(only_fault(tree).ends_with("spacing/dy' is 0; cells need a width above 0"));
  tree = uniform();
  tree.set(at + "coordsets/coords/origin/theta", 0);
  CHECK(only_fault(tree).find("has the axis 'theta'") != std::string::npos);
  tree = uniform();
  tree.set(at + "topologies/topo/type", "octree");
  CHECK(only_fault(tree).starts_with("'channels/c/data/topologies/topo/type' is 'octree'"));
  tree = uniform();
  tree.set(at + "topologies/topo/coordset", "others");
  CHECK(only_fault(tree) == "'channels/c/data/coordsets/others' is missing");
  tree = uniform();
  tree.set(at + "topologies/topo/type", "unstructured");
  CHECK(only_fault(tree).ends_with("a topology of this type needs an 'explicit' one"));
  tree = uniform();
  tree.set(at + "topologies/topo/type", "rectilinear");
  tree.set(at + "coordsets/coords/values/x", std::vector<double>{0, 2, 1});
  CHECK(only_fault(tree).ends_with("must ascend, and does not"));
}

TEST_CASE("structured parts: places in the whole, and arrays larger than the part") {
  const std::string at = mesh;
  Tree tree;
  tree.set("channels/c/type", "mesh").set(at + "coordsets/p/type", "explicit");
  for (const char* axis : {"x", "y"})
    tree.set(at + "coordsets/p/values/" + axis, std::vector<double>(12));
  tree.set(at + "topologies/t/type", "structured").set(at + "topologies/t/coordset", "p");
  tree.set(at + "topologies/t/elements/dims/i", 3).set(at + "topologies/t/elements/dims/j", 2);
  CHECK(!described(tree).parts[0].index);
  CHECK(described(tree).parts[0].lattice_of_points.at({3, 2, 0}) == 11);
  tree.set(at + "topologies/t/elements/origin/i0", 5)
      .set(at + "topologies/t/elements/origin/j0", 6);
  CHECK(*described(tree).parts[0].index == std::array<int64_t, 3>{5, 6, 0});
  tree.set(at + "topologies/t/elements/dims/i", 1);
  tree.set(at + "topologies/t/elements/dims/strides", std::vector<int32_t>{1, 4});
  tree.set(at + "topologies/t/elements/dims/offsets", std::vector<int32_t>{1, 0});
  CHECK(described(tree).parts[0].lattice_of_points.at({1, 2, 0}) == 10);
  tree.set(at + "topologies/t/elements/dims/j", 3);
  CHECK(only_fault(tree) ==
        "'channels/c/data/coordsets/p' has 12 points, too few for its topology");
}
