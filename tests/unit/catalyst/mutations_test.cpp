// SPDX-License-Identifier: BSD-3-Clause
// Nodes with random mistakes: whatever a simulation passes, there is a plan, or words. Under
// AddressSanitizer this also finds reads outside of the simulation's arrays.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <pillion/error.hpp>
#include <random>

#include "plan.hpp"
#include "tree.hpp"

using namespace pillion::catalyst;
using test::Tree;

namespace {

std::vector<double> ramp(size_t count) {
  std::vector<double> out(count);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

void add_fields(Tree& tree, const std::string& at, size_t cells, size_t points) {
  for (const auto& [name, count] : {std::pair{"p", cells}, {"q", points}}) {
    const std::string field = at + "fields/" + name;
    tree.set(field + "/association", count == cells ? "element" : "vertex");
    tree.set(field + "/topology", "t").set(field + "/values/x", ramp(count));
    tree.set(field + "/values/y", ramp(count));
  }
  const std::string ghosts = at + "fields/vtkGhostType";
  tree.set(ghosts + "/association", "element").set(ghosts + "/topology", "t");
  std::vector<uint8_t> flags(cells, 0);
  flags.front() = 1;
  tree.set(ghosts + "/values", flags);
}

/// A mesh of each kind: 1 x 4 x 1 cells of boxes, three cells of others.
Tree mesh_of(int kind) {
  Tree tree;
  const std::string at = "channels/c/data/";
  tree.set("channels/c/type", "mesh").set(at + "topologies/t/coordset", "s");
  if (kind == 0) {
    tree.set(at + "coordsets/s/type", "uniform").set(at + "topologies/t/type", "uniform");
    for (const auto& [axis, count] : {std::pair{"i", 2}, {"j", 5}, {"k", 2}})
      tree.set(at + "coordsets/s/dims/" + axis, count);
    tree.set(at + "coordsets/s/origin/x", 1.5).set(at + "coordsets/s/spacing/dy", 0.25);
    add_fields(tree, at, 4, 20);
    return tree;
  }
  const size_t points = kind == 4 ? 3 : 20;
  if (kind == 1) {
    tree.set(at + "coordsets/s/type", "rectilinear").set(at + "topologies/t/type", "rectilinear");
    tree.set(at + "coordsets/s/values/x", ramp(2)).set(at + "coordsets/s/values/y", ramp(5));
    tree.set(at + "coordsets/s/values/z", ramp(2));
    add_fields(tree, at, 4, 20);
    return tree;
  }
  tree.set(at + "coordsets/s/type", "explicit");
  for (const char* axis : {"x", "y", "z"})
    tree.set(at + "coordsets/s/values/" + axis, ramp(points));
  const std::string elements = at + "topologies/t/elements/";
  if (kind == 2) {
    tree.set(at + "topologies/t/type", "structured");
    for (const auto& [axis, count] : {std::pair{"i", 1}, {"j", 4}, {"k", 1}})
      tree.set(elements + "dims/" + axis, count);
    tree.set(elements + "dims/strides", std::vector<int32_t>{1, 2, 10});
    tree.set(elements + "dims/offsets", std::vector<int32_t>{0, 0, 0});
    add_fields(tree, at, 4, 20);
    for (const auto& [name, plane] : {std::pair{"p", 4}, {"q", 10}}) {
      const std::string field = at + "fields/" + name;
      tree.set(field + "/strides", std::vector<int32_t>{1, plane == 4 ? 1 : 2, plane});
      tree.set(field + "/offsets", std::vector<int32_t>{0, 0, 0});
    }
    return tree;
  }
  tree.set(at + "topologies/t/type", kind == 4 ? "points" : "unstructured");
  add_fields(tree, at, 3, points);
  if (kind == 4) return tree;
  tree.set(elements + "shape", kind == 3 ? "mixed" : "polyhedral");
  tree.set(elements + "shape_map/tri", 5).set(elements + "shape_map/polyhedral", 42);
  tree.set(elements + "shapes", std::vector<int32_t>{5, 42, 5});
  tree.set(elements + "sizes", std::vector<int32_t>{3, 4, 3});
  tree.set(elements + "offsets", std::vector<int32_t>{0, 3, 7});
  tree.set(elements + "connectivity", std::vector<int32_t>{0, 1, 2, 0, 1, 2, 3, 3, 1, 2});
  const std::string faces = at + "topologies/t/subelements/";
  tree.set(faces + "shape", "polygonal").set(faces + "sizes", std::vector<int32_t>{3, 3, 3, 3});
  tree.set(faces + "connectivity", std::vector<int32_t>{0, 1, 2, 0, 1, 3, 1, 2, 3, 0, 2, 3});
  return tree;
}

void collect(conduit_node_impl* node, std::vector<conduit_node_impl*>& all) {
  all.push_back(node);
  for (const auto& child : node->children) collect(child.get(), all);
}

/// Makes one mistake somewhere. Arrays never claim more memory than they have.
void mutate(Tree& tree, std::mt19937& random) {
  static const std::vector<std::string> words = {"",       "uniform", "structured", "points",
                                                 "hex",    "tri",     "mixed",      "polygonal",
                                                 "vertex", "s",       "t",          "explicit"};
  static const std::vector<int64_t> numbers = {
      -1, 0, 1, 2, 3, 7, 1 << 30, int64_t{1} << 62, std::numeric_limits<int64_t>::min()};
  std::vector<conduit_node_impl*> all;
  collect(const_cast<conduit_node_impl*>(&tree.raw()), all);
  auto& node = *all[random() % all.size()];
  const auto any = [&](const auto& list) { return list[random() % list.size()]; };
  if (!node.children.empty()) {
    if (random() % 2 == 0)
      node.children.erase(node.children.begin() +
                          static_cast<ptrdiff_t>(random() % node.children.size()));
    else node.type = random() % 2 == 0 ? ConduitType::List : ConduitType::Empty;
    return;
  }
  const auto size = static_cast<size_t>(node.count > 0 ? node.stride : 0);
  switch (random() % 4) {
    case 0:
      node.type = ConduitType::Text;
      node.text = any(words);
      break;
    case 1: node.count = node.count > 0 ? static_cast<int64_t>(random()) % node.count : 0; break;
    case 2:
      // A smaller type fits the same memory.
      if (size >= 1) node.type = ConduitType::Uint8;
      break;
    default:
      if (node.count == 0 || node.data == nullptr || size < 4) break;
      const int64_t wide = any(numbers);
      const auto small = static_cast<int32_t>(wide);
      auto* to =
          node.data + static_cast<size_t>(random() % static_cast<uint64_t>(node.count)) * size;
      if (size == 8) std::memcpy(to, &wide, 8);
      else std::memcpy(to, &small, 4);
  }
}

/// Reads what sharing would read.
double sum_of(const Part& part) {
  double sum = 0;
  for (const auto& field : part.fields)
    for (const auto& array : field.components) {
      if (!part.is_box()) {
        for (int64_t i = 0; i < array.count; ++i) sum += array.real(i);
        continue;
      }
      std::array<int64_t, 3> end{1, 1, 1};
      for (size_t a = 0; a < static_cast<size_t>(part.axes); ++a)
        end[a] = part.cells[a] + (field.at_points ? 1 : 0);
      for (int64_t k = 0; k < end[2]; ++k)
        for (int64_t j = 0; j < end[1]; ++j)
          for (int64_t i = 0; i < end[0]; ++i) sum += array.real(field.lattice.at({i, j, k}));
    }
  return sum;
}

}  // namespace

TEST_CASE("the meshes of this test are whole before they get mistakes") {
  for (int kind = 0; kind < 6; ++kind) {
    const Tree tree = mesh_of(kind);
    const auto found = describe(tree.node("channels"));
    CAPTURE(kind);
    CHECK(found.faults.empty());
    REQUIRE(found.parts.size() == 1);
    CHECK(found.parts[0].fields.size() == 2);
    CHECK(plan_of(facts_of(found)).warnings.empty());
    CHECK(sum_of(found.parts[0]) > 0);
  }
}

TEST_CASE("random mistakes end in a plan or in words") {
  std::mt19937 random(5);
  int refused = 0, planned = 0;
  for (int round = 0; round < 30000; ++round) {
    Tree tree = mesh_of(round % 6);
    for (uint64_t n = 0; n < 1 + random() % 3; ++n) mutate(tree, random);
    if (!tree.node().has("channels")) continue;
    const auto found = describe(tree.node("channels"));
    const Plan plan = plan_of(read_facts(to_text(facts_of(found))));
    CHECK((plan.is_empty() || !catalogue_of(plan).empty()));
    for (const auto& part : found.parts) {
      const volatile double sum = sum_of(part);
      (void)sum;
      const auto mesh = plan.meshes.find(part.key);
      const bool has_place = mesh != plan.meshes.end() && part.is_box() &&
                             mesh->second.kind != PILLION_UNSTRUCTURED && part.number_of_own() > 0;
      if (!has_place) continue;
      const Place place = place_of(part, mesh->second);
      for (size_t a = 0; a < 3; ++a) CHECK(place.hi[a] - place.lo[a] >= 0);
    }
    planned += !plan.is_empty();
    refused += !found.faults.empty();
  }
  // Both happen often, or the mistakes are too harmless or too harmful to test anything.
  CHECK(planned > 10000);
  CHECK(refused > 3000);
}
