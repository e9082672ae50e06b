// SPDX-License-Identifier: BSD-3-Clause
#include "stagehost/setup.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>

using namespace pillion;
using namespace pillion::stagehost;

namespace {

model::Catalogue catalogue() {
  const auto root = base::parse_yaml(
      "meshes: {grid: {kind: uniform, cells: [4]}, atoms: {kind: particles}}\n"
      "fields:\n  density: {mesh: grid, type: float64, units: kg}\n"
      "  id: {mesh: atoms, type: int64}\n  type: {mesh: atoms, type: int32}\n"
      "  x: {mesh: atoms, type: float64, components: 3}\n",
      "c", {});
  model::Catalogue out;
  out.read(root.find("meshes"), root.find("fields"));
  return out;
}

model::StageSpec spec(const std::string& parameters) {
  return {"s", model::Place::Simulation, base::parse_yaml(parameters, "f", {})};
}

const pillion_parameter known[] = {{"cutoff", "length", nullptr, "how far"},
                                   {"bins", "integer", "100", "how many"}};

pillion_stage_table table() {
  pillion_stage_table out{};
  out.parameters = known;
  out.parameter_count = 2;
  return out;
}

template <class F>
std::string error_of(F&& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a product has one stage of an analysis, whose line is named") {
  auto known = catalogue();
  pillion_setup first{}, second{};
  first.stage = "image";
  first.parameters = base::parse_yaml("\n\n{name: a}", "f", {});
  first.catalogue = second.catalogue = &known;
  add_product(first, "a.png");
  add_product(first, "b.png");
  second.stage = "write";
  second.parameters = base::parse_yaml("\n\n\n\n\n{name: a}", "f", {});
  second.products = first.products;
  add_product(second, "a.idx");
  const auto error = error_of([&] { add_product(second, "b.png"); });
  CHECK(
      error.starts_with("f:6: stage 'write' writes the product 'b.png', which stage 'image' on "
                        "line 3 of the same analysis writes"));
  CHECK(error_of([&] { add_product(second, "a.idx"); }).starts_with("f:6: "));
  CHECK(error_of([&] { add_product(second, "../up"); }) != "no error");
}

TEST_CASE("parameters get their defaults; unknown and missing ones are refused") {
  const auto complete = complete_parameters(spec("{cutoff: 3}"), table());
  CHECK(complete.find("cutoff")->as_real() == 3);
  CHECK(complete.find("bins")->as_integer() == 100);
  CHECK(error_of([] { complete_parameters(spec("{cutof: 3}"), table()); }) ==
        "f:1: unknown key 'cutof' in stage 's'; did you mean 'cutoff'?");
  CHECK(error_of([] { complete_parameters(spec("{bins: 3}"), table()); }) ==
        "f:1: stage 's' lacks 'cutoff' (length: how far)");
}

TEST_CASE("requests are checked against the catalogue, pointing at the parameter") {
  auto fields = catalogue();
  const auto ask = [&](std::vector<const char*> names, int32_t layout, const char* key,
                       const char* position, const char* select, double halo = 0) {
    pillion_setup setup;
    setup.parameters = base::parse_yaml("\n\nfield: dens\nkey: x\n", "f", {});
    setup.catalogue = &fields;
    pillion_input_request request{};
    request.fields = names.data();
    request.field_count = static_cast<int32_t>(names.size());
    request.layout = layout;
    request.key = key;
    request.position = position;
    request.select = select;
    request.halo = halo;
    return error_of([&] { add_input(setup, request); });
  };
  CHECK(ask({"density"}, PILLION_LAYOUT_AS_SHARED, "", "", nullptr) == "no error");
  CHECK(ask({"x"}, PILLION_LAYOUT_BY_KEY, "id", "", "type") == "no error");
  CHECK(ask({"x"}, PILLION_LAYOUT_SPATIAL, "", "x", "type") == "no error");
  CHECK(ask({"dens"}, PILLION_LAYOUT_AS_SHARED, "", "", nullptr)
            .starts_with("f:3: unknown field 'dens'"));
  CHECK(ask({"x"}, PILLION_LAYOUT_BY_KEY, "x", "", nullptr)
            .starts_with("f:4: field 'x' must be one int32 or int64 per particle"));
  CHECK(ask({"x"}, PILLION_LAYOUT_BY_KEY, nullptr, "", nullptr)
            .ends_with("name an integer field as the key"));
  CHECK(ask({"x"}, PILLION_LAYOUT_BY_KEY, "id", "", nullptr, 2)
            .ends_with("by key, only cells of an unstructured mesh have one"));
  CHECK(ask({"density"}, PILLION_LAYOUT_BY_KEY, "density", "", nullptr).find("needs particles") !=
        std::string::npos);
  CHECK(ask({"x", "density"}, PILLION_LAYOUT_AS_SHARED, "", "", nullptr).find("one input takes") !=
        std::string::npos);
  CHECK(ask({"id"}, PILLION_LAYOUT_SPATIAL, "", "id", nullptr).find("to be a position") !=
        std::string::npos);
  CHECK(ask({"x"}, PILLION_LAYOUT_AS_SHARED, "", "", "type").find("cannot be selected from") !=
        std::string::npos);
  CHECK(ask({"x"}, 17, "", "", nullptr).find("layout 17") != std::string::npos);
  CHECK(ask({}, PILLION_LAYOUT_AS_SHARED, "", "", nullptr).find("without fields") !=
        std::string::npos);
}

TEST_CASE("divisions of a mesh are checked against it, pointing at the field") {
  auto fields = catalogue();
  const auto root = base::parse_yaml(
      "meshes: {plate: {kind: uniform, cells: [5, 16], length: [1, 1]}}\n"
      "fields: {heat: {mesh: plate, type: float64}}\n",
      "c", {});
  fields.read(root.find("meshes"), root.find("fields"));
  const auto ask = [&](const char* name, auto&& set) {
    pillion_setup setup;
    setup.parameters = base::parse_yaml("\n\nfield: heat\nother: x\n", "f", {});
    setup.catalogue = &fields;
    pillion_input_request request{};
    request.fields = &name;
    request.field_count = 1;
    request.layout = PILLION_LAYOUT_BLOCKS;
    set(request);
    return error_of([&] { add_input(setup, request); });
  };
  using Wanted = pillion_input_request;
  const auto slabs = [&](int32_t axis) {
    return ask("heat", [&](Wanted& w) { w.layout = PILLION_LAYOUT_SLABS, w.axis = axis; });
  };
  const auto boxes = [&](int32_t x, int32_t y, int32_t z) {
    return ask("heat", [&](Wanted& w) {
      w.layout = PILLION_LAYOUT_POWERS_OF_TWO;
      w.sides[0] = x, w.sides[1] = y, w.sides[2] = z;
    });
  };
  CHECK(ask("heat", [](Wanted& w) { w.ghosts[1] = 100, w.ghosts[2] = -1; }) == "no error");
  CHECK(ask("heat", [](Wanted& w) { w.ghosts[1] = -2; }) ==
        "f:3: -2 ghost cells along axis 1 of mesh 'plate'; a width is at least 0");
  CHECK(slabs(1) == "no error");
  CHECK(slabs(2) == "f:3: mesh 'plate' has no axis 2 to divide by; its axes are 0 to 1");
  CHECK(slabs(-1).starts_with("f:3: mesh 'plate' has no axis -1"));
  CHECK(boxes(3, 4, 9) == "no error");
  CHECK(boxes(4, 4, 0) ==
        "f:3: boxes of 2^4 cells along axis 0 are too large for mesh 'plate', which has 5 cells "
        "there; the exponent is at most 3");
  CHECK(boxes(0, 5, 0).starts_with("f:3: boxes of 2^5 cells along axis 1 are too large"));
  CHECK(boxes(0, -5, 0).starts_with("f:3: boxes cannot have 2^-5 cells along axis 1"));
  CHECK(ask("x", [](Wanted&) {}) ==
        "f:4: this stage needs a uniform, rectilinear or curvilinear mesh, and field 'x' is on "
        "particles 'atoms'");
  CHECK(ask("heat", [](Wanted& w) { w.select = "heat"; }).ends_with("cannot be selected from"));
}

TEST_CASE("layouts without ghost cells refuse them") {
  auto fields = catalogue();
  pillion_setup setup;
  setup.parameters = base::parse_yaml("{}", "f", {});
  setup.catalogue = &fields;
  const char* name = "density";
  pillion_input_request request{};
  request.fields = &name;
  request.field_count = 1;
  request.layout = PILLION_LAYOUT_AS_SHARED;
  CHECK(add_input(setup, request) == 0);
  CHECK(setup.inputs.front() == layout::Request{.fields = {"density"}});
  request.ghosts[0] = 1;
  CHECK(error_of([&] { add_input(setup, request); }).find("ghost cells come with blocks") !=
        std::string::npos);
}

TEST_CASE("a produced field joins the catalogue on the mesh of its model, once") {
  auto fields = catalogue();
  pillion_setup setup;
  setup.catalogue = &fields;
  pillion_output speed{};
  speed.name = "speed";
  speed.units = "m/s";
  speed.like = "x";
  speed.type = PILLION_FLOAT64;
  speed.components = 1;
  CHECK(add_output(setup, speed) == 0);
  CHECK(fields.field("speed").mesh == "atoms");
  CHECK(error_of([&] { add_output(setup, speed); }).find("a field 'speed' already") !=
        std::string::npos);
}

TEST_CASE("nothing is produced on boxes that may come in parts") {
  auto fields = catalogue();
  for (const int32_t in_parts : {0, 1}) {
    pillion_setup setup;
    setup.catalogue = &fields;
    const char* name = "density";
    pillion_input_request request{};
    request.fields = &name;
    request.field_count = 1;
    request.layout = PILLION_LAYOUT_BLOCKS;
    request.in_parts = in_parts;
    pillion_output made{};
    made.name = "made";
    made.type = PILLION_FLOAT64;
    made.components = 1;
    made.input = add_input(setup, request);
    const auto said = error_of([&] { add_output(setup, made); });
    CHECK(said.ends_with(in_parts == 0 ? "no error" : "whose boxes may come in parts"));
  }
}
