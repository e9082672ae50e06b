// SPDX-License-Identifier: BSD-3-Clause
// Facts of many ranks, the catalogue that follows, and where parts lie. Domains are made by
// dividing a whole at random, so each has a place that is known.
#include "plan.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <pillion/error.hpp>
#include <random>

using namespace pillion::catalyst;

namespace {

using Index = std::array<int64_t, 3>;

Part box(Form form, int axes, const Index& cells) {
  Part part;
  part.key = {"grid", "", "topo"};
  part.path = "grid/data/topologies/topo";
  part.form = form;
  part.axes = axes;
  part.cells = part.hi = cells;
  return part;
}

FieldValues field(const std::string& name, pillion_type type, size_t components = 1,
                  bool at_points = false) {
  FieldValues out;
  out.name = name;
  out.at_points = at_points;
  out.components.assign(components, Array{nullptr, type, 0, 0});
  return out;
}

constexpr std::array<double, 3> origin = {-7, 0.1, 1e6};
constexpr std::array<double, 3> spacing = {0.1, 1.0 / 3, 12.5};

Part uniform_at(const Index& lo, const Index& hi, int64_t ratio = 1) {
  Part part = box(Form::Uniform, 3, {hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2]});
  for (size_t a = 0; a < 3; ++a) {
    part.spacing[a] = spacing[a] / static_cast<double>(ratio);
    part.origin[a] = origin[a] + static_cast<double>(lo[a]) * part.spacing[a];
  }
  part.fields.push_back(field("p", PILLION_FLOAT64));
  return part;
}

double face(size_t axis, int64_t i) {
  const auto x = static_cast<double>(i);
  return x * (1 + 0.01 * x) + 100 * static_cast<double>(axis);
}

Part rectilinear_at(const Index& lo, const Index& hi) {
  Part part = box(Form::Rectilinear, 3, {hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2]});
  for (size_t a = 0; a < 3; ++a)
    for (int64_t i = lo[a]; i <= hi[a]; ++i) part.faces[a].push_back(face(a, i));
  return part;
}

/// Boxes that together are [0, cells), each cut from a larger one at a random place.
std::vector<std::pair<Index, Index>> divided(const Index& cells, std::mt19937& random) {
  std::vector<std::pair<Index, Index>> boxes = {{{0, 0, 0}, cells}};
  for (int cuts = 0; cuts < 12; ++cuts) {
    auto& [lo, hi] = boxes[random() % boxes.size()];
    const size_t axis = random() % 3;
    if (hi[axis] - lo[axis] < 2) continue;
    const int64_t at =
        lo[axis] + 1 +
        static_cast<int64_t>(random() % static_cast<uint64_t>(hi[axis] - lo[axis] - 1));
    auto other = std::pair{lo, hi};
    hi[axis] = other.first[axis] = at;
    boxes.push_back(other);
  }
  return boxes;
}

Facts facts_of_all(const std::vector<Part>& parts) { return facts_of({parts, {}}); }

std::string warning_of(const std::vector<Part>& parts) {
  const Plan plan = plan_of(facts_of_all(parts));
  REQUIRE(plan.warnings.size() == 1);
  return plan.warnings.front();
}

}  // namespace

TEST_CASE("facts merge in any order to the same, through their text too") {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<Part> parts;
    for (const auto& [lo, hi] : divided({11, 9, 5}, random)) parts.push_back(uniform_at(lo, hi));
    for (const auto& [lo, hi] : divided({4, 6, 8}, random)) {
      parts.push_back(rectilinear_at(lo, hi));
      parts.back().key.channel = "other";
    }
    const std::string wanted = to_text(facts_of_all(parts));
    std::shuffle(parts.begin(), parts.end(), random);
    std::vector<Facts> ranks;
    for (const auto& part : parts) ranks.push_back(read_facts(to_text(facts_of_all({part}))));
    ranks.emplace_back();  // a rank without domains
    while (ranks.size() > 1) {
      const size_t other = 1 + random() % (ranks.size() - 1);
      merge(ranks.front(), ranks[other]);
      ranks.erase(ranks.begin() + static_cast<ptrdiff_t>(other));
    }
    CHECK(to_text(ranks.front()) == wanted);
  }
}

TEST_CASE("every part of a divided box is where it was cut out") {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    const Index cells = {static_cast<int64_t>(1 + random() % 200),
                         static_cast<int64_t>(1 + random() % 20),
                         static_cast<int64_t>(1 + random() % 20)};
    const auto boxes = divided(cells, random);
    for (const auto make :
         {+[](const Index&lo, const Index&hi) { return uniform_at(lo, hi); }, &rectilinear_at}) {
      std::vector<Part> parts;
      for (const auto& [lo, hi] : boxes) parts.push_back(make(lo, hi));
      const Plan plan = plan_of(facts_of_all(parts));
      REQUIRE(plan.meshes.size() == 1);
      const auto& mesh = plan.meshes.begin()->second;
      CHECK(mesh.cells == cells);
      CHECK(mesh.is_whole);
      for (size_t n = 0; n < boxes.size(); ++n) {
        const Place place = place_of(parts[n], mesh);
        CHECK(place.lo == boxes[n].first);
        CHECK(place.hi == boxes[n].second);
      }
    }
  }
}

TEST_CASE("domains of other spacings are levels") {
  const std::vector<Part> parts = {uniform_at({0, 0, 0}, {8, 4, 4}),
                                   uniform_at({8, 8, 8}, {40, 24, 24}, 8),
                                   uniform_at({2, 2, 2}, {14, 6, 6}, 2)};
  Facts facts = facts_of_all(parts);
  Plan plan = plan_of(facts);
  const auto& mesh = plan.meshes.at(parts[0].key);
  CHECK(mesh.ratios == std::vector<Index>{{2, 2, 2}, {4, 4, 4}});
  CHECK(place_of(parts[1], mesh).level == 2);
  CHECK(place_of(parts[1], mesh).lo == Index{8, 8, 8});
  CHECK(place_of(parts[2], mesh).level == 1);
  CHECK(place_of(parts[2], mesh).hi == Index{14, 6, 6});
  CHECK(catalogue_of(plan).find("levels: {count: 3, ratio: [[2, 2, 2], [4, 4, 4]]}") !=
        std::string::npos);
  // Room for more only with nesting sets.
  CHECK(plan_of(facts, 5).meshes.begin()->second.spacings.size() == 3);
  facts.meshes.begin()->second.is_nested = true;
  CHECK(plan_of(facts, 5).meshes.begin()->second.ratios.back() == Index{4, 4, 4});
  CHECK(plan_of(facts, 5).meshes.begin()->second.spacings.size() == 5);
  Part odd = uniform_at({0, 0, 0}, {8, 4, 4});
  odd.spacing[1] /= 1.5;
  CHECK(warning_of({parts[0], odd}).ends_with("the ratio must be a whole number"));
}

TEST_CASE("levels that are refined along some axes only") {
  const Part coarse = uniform_at({0, 0, 0}, {8, 4, 4});
  Part fine = uniform_at({0, 0, 0}, {8, 4, 4});
  fine.spacing[0] *= 1 + 1e-12;  // as ranks round
  fine.spacing[2] /= 4;
  const Plan plan = plan_of(facts_of_all({fine, coarse}));
  const auto& mesh = plan.meshes.at(coarse.key);
  CHECK(mesh.ratios == std::vector<Index>{{1, 1, 4}});
  CHECK(place_of(fine, mesh).level == 1);
}

TEST_CASE("boxes that overlap or leave holes") {
  const Part left = uniform_at({0, 0, 0}, {4, 4, 4}), right = uniform_at({4, 0, 0}, {8, 4, 4});
  const Part wide = uniform_at({3, 0, 0}, {8, 4, 4}), far = uniform_at({6, 0, 0}, {8, 4, 4});
  CHECK(plan_of(facts_of_all({left, right})).meshes.begin()->second.is_whole);
  CHECK(warning_of({left, wide}).find("have 144 cells together, but the box around them has 128") !=
        std::string::npos);
  CHECK(catalogue_of(plan_of(facts_of_all({left, far}))).find("covered: partial") !=
        std::string::npos);
  // Ghosts belong to others.
  Part trimmed = wide;
  trimmed.lo[0] = 1;
  const Plan plan = plan_of(facts_of_all({left, trimmed}));
  CHECK(plan.meshes.begin()->second.is_whole);
  CHECK(place_of(trimmed, plan.meshes.begin()->second).lo == Index{4, 0, 0});
}

TEST_CASE("boxes so far apart that a number of cells between them is too large for 64 bits") {
  constexpr int64_t far = (int64_t{1} << 32) - 4;
  const Part one = uniform_at({0, 0, 0}, {4, 4, 4});
  const Part other = uniform_at({far, far, 0}, {far + 4, far + 4, 4});
  const Plan plan = plan_of(facts_of_all({one, other}));
  CHECK(plan.warnings.empty());
  CHECK(catalogue_of(plan).find("covered: partial") != std::string::npos);
}

TEST_CASE("values at points are left out where Pillion has none") {
  Part left = uniform_at({0, 0, 0}, {4, 4, 4}), far = uniform_at({6, 0, 0}, {8, 4, 4});
  left.fields.push_back(field("corner", PILLION_FLOAT32, 3, true));
  const Plan plan = plan_of(facts_of_all({left, far}));
  CHECK(plan.warnings.size() == 1);
  CHECK(catalogue_of(plan).find("corner") == std::string::npos);
}

TEST_CASE("places that do not fit") {
  const Part whole = uniform_at({0, 0, 0}, {8, 4, 4});
  const Plan plan = plan_of(facts_of_all({whole}));
  const auto& mesh = plan.meshes.begin()->second;
  Part moved = whole;
  moved.origin[0] += 0.4 * spacing[0];
  CHECK_THROWS_AS((void)place_of(moved, mesh), pillion::Error);
  const Plan stretched = plan_of(facts_of_all({rectilinear_at({0, 0, 0}, {8, 4, 4})}));
  Part other = rectilinear_at({2, 0, 0}, {6, 4, 4});
  CHECK(place_of(other, stretched.meshes.begin()->second).lo == Index{2, 0, 0});
  other.faces[0][1] += 0.01;
  CHECK_THROWS_AS((void)place_of(other, stretched.meshes.begin()->second), pillion::Error);
}

TEST_CASE("structured domains: curvilinear if they say where they lie and fill a box") {
  Part a = box(Form::Structured, 2, {4, 3, 1}), b = a;
  for (auto* part : {&a, &b}) part->coordinates.assign(3, Array{nullptr, PILLION_FLOAT64, 20, 8});
  CHECK(plan_of(facts_of_all({a, b})).meshes.begin()->second.kind == PILLION_UNSTRUCTURED);
  a.index = Index{10, 20, 0};
  b.index = Index{14, 20, 0};
  const Plan plan = plan_of(facts_of_all({a, b}));
  const auto& mesh = plan.meshes.begin()->second;
  CHECK(mesh.kind == PILLION_CURVILINEAR);
  CHECK(mesh.cells == Index{8, 3, 1});
  CHECK(place_of(b, mesh).lo == Index{4, 0, 0});
  CHECK(catalogue_of(plan) ==
        "meshes:\n  \"grid\": {kind: curvilinear, cells: [8, 3], coordinates: \"coordinates\"}\n"
        "fields:\n  \"coordinates\": {mesh: \"grid\", type: float64, components: 3, centering: "
        "point}\n");
  b.index = Index{15, 20, 0};
  CHECK(plan_of(facts_of_all({a, b})).meshes.begin()->second.kind == PILLION_UNSTRUCTURED);
}

TEST_CASE("names of meshes and fields") {
  std::vector<Part> parts;
  for (const Key& key :
       {Key{"sim", "fluid", "vol"}, Key{"sim", "fluid", "skin"}, Key{"sim", "solid", "vol"},
        Key{"my mesh", "", "t"}, Key{"null", "", "t"}}) {
    parts.push_back(box(Form::Points, 0, {1, 1, 1}));
    parts.back().key = key;
    parts.back().coordinates.assign(3, Array{nullptr, PILLION_FLOAT32, 1, 4});
    parts.back().fields.push_back(
        field(key.topology == "vol" ? "p" : key.channel + "$q", PILLION_INT8));
    parts.back().fields.back().units = "$/m";
  }
  CHECK(catalogue_of(plan_of(facts_of_all(parts))) ==
        "meshes:\n  \"my_mesh\": {kind: particles}\n  \"null\": {kind: particles}\n"
        "  \"sim_fluid_skin\": {kind: particles}\n"
        "  \"sim_fluid_vol\": {kind: particles}\n  \"sim_solid\": {kind: particles}\nfields:\n"
        "  \"my_mesh_q\": {mesh: \"my_mesh\", type: int8, units: \"$$/m\"}\n"
        "  \"my_mesh_position\": {mesh: \"my_mesh\", type: float32, components: 3}\n"
        "  \"null_q\": {mesh: \"null\", type: int8, units: \"$$/m\"}\n"
        "  \"null_position\": {mesh: \"null\", type: float32, components: 3}\n"
        "  \"sim_q\": {mesh: \"sim_fluid_skin\", type: int8, units: \"$$/m\"}\n"
        "  \"sim_fluid_skin_position\": {mesh: \"sim_fluid_skin\", type: float32, components: 3}\n"
        "  \"sim_fluid_vol_p\": {mesh: \"sim_fluid_vol\", type: int8, units: \"$$/m\"}\n"
        "  \"sim_fluid_vol_position\": {mesh: \"sim_fluid_vol\", type: float32, components: 3}\n"
        "  \"sim_solid_p\": {mesh: \"sim_solid\", type: int8, units: \"$$/m\"}\n"
        "  \"sim_solid_position\": {mesh: \"sim_solid\", type: float32, components: 3}\n");
}

TEST_CASE("ranks that contradict each other") {
  Part one = uniform_at({0, 0, 0}, {4, 4, 4}), two = uniform_at({4, 0, 0}, {8, 4, 4});
  two.fields.front() = field("p", PILLION_FLOAT32);
  const Plan plan = plan_of(facts_of_all({one, two}));
  CHECK(plan.warnings ==
        std::vector<std::string>{"field 'p' of channel 'grid' differs between domains: 1 x float64 "
                                 "at cells, and 1 x float32 at cells; field 'p' is left out"});
  CHECK(plan.meshes.begin()->second.fields.empty());
  Part flat = box(Form::Uniform, 2, {4, 4, 1});
  CHECK(warning_of({one, flat}).find("is uniform with 3 axes in one domain and uniform with 2") !=
        std::string::npos);
  // Coordinates of two precisions become doubles.
  Part a = box(Form::Points, 0, {1, 1, 1}), b = a;
  a.coordinates.assign(2, Array{nullptr, PILLION_FLOAT32, 1, 4});
  b.coordinates.assign(2, Array{nullptr, PILLION_FLOAT64, 1, 8});
  const std::string text = catalogue_of(plan_of(facts_of_all({a, b})));
  CHECK(text.find("{kind: particles, dimensions: 2}") != std::string::npos);
  CHECK(text.find("\"position\": {mesh: \"grid\", type: float64, components: 3}") !=
        std::string::npos);
}

TEST_CASE("many faults of one field do not hide that another one differs") {
  std::vector<Part> parts;
  std::vector<Fault> faults;
  for (int64_t n = 0; n < 40; ++n) {
    parts.push_back(uniform_at({4 * n, 0, 0}, {4 * n + 4, 4, 4}));
    parts.back().fields.push_back(field("q", PILLION_FLOAT64));
    faults.push_back({parts.back().key, "q", fmt::format("domain {} is bad", n)});
  }
  parts.back().fields.front() = field("p", PILLION_FLOAT32);
  Facts facts;
  for (size_t n = 0; n < parts.size(); ++n) merge(facts, facts_of({{parts[n]}, {faults[n]}}));
  const Plan plan = plan_of(facts);
  CHECK(plan.warnings.size() == 2);
  REQUIRE(plan.meshes.size() == 1);
  CHECK(plan.meshes.begin()->second.fields.empty());
}

TEST_CASE("faults of domains take their mesh, and no other") {
  Part good = uniform_at({0, 0, 0}, {4, 4, 4}), bad = good;
  bad.key.topology = "bad";
  Facts facts = facts_of({{good, bad}, {{bad.key, "", "it is bad"}}});
  const Plan plan = plan_of(facts);
  CHECK(plan.warnings == std::vector<std::string>{"it is bad"});
  REQUIRE(plan.meshes.size() == 1);
  CHECK(plan.meshes.begin()->first == good.key);
  // Of very many faults of a mesh one is enough.
  for (int n = 0; n < 1000; ++n) merge(facts, facts_of({{}, {{bad.key, "", std::to_string(n)}}}));
  CHECK(facts.faults == std::set<Fault>{{bad.key, "", "0"}});
}
