// SPDX-License-Identifier: BSD-3-Clause
#include "stagehost/setup.hpp"

#include <doctest/doctest.h>

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
                       const char* position, const char* select) {
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
    return error_of([&] { add_input(setup, request); });
  };
  CHECK(ask({"density"}, PILLION_LAYOUT_AS_SHARED, "", "", nullptr) == "no error");
  CHECK(ask({"x"}, PILLION_LAYOUT_BY_KEY, "id", "", "type") == "no error");
  CHECK(ask({"x"}, PILLION_LAYOUT_SPATIAL, "", "x", "type") == "no error");
  CHECK(ask({"dens"}, PILLION_LAYOUT_AS_SHARED, "", "", nullptr)
            .starts_with("f:3: unknown field 'dens'"));
  CHECK(ask({"x"}, PILLION_LAYOUT_BY_KEY, "x", "", nullptr)
            .starts_with("f:4: field 'x' must be one integer per particle"));
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

TEST_CASE("a produced field joins the catalogue on the mesh of its model, once") {
  auto fields = catalogue();
  pillion_setup setup;
  setup.catalogue = &fields;
  model::Field speed{"speed", {}, "m/s", model::ElementType::Float64, 1};
  CHECK(add_output(setup, speed, "x") == 0);
  CHECK(fields.field("speed").mesh == "atoms");
  CHECK(error_of([&] { add_output(setup, speed, "x"); }).find("a field 'speed' already") !=
        std::string::npos);
}
