// SPDX-License-Identifier: BSD-3-Clause
// What plug-ins learn of spectral meshes, what they may ask for on them, and what becomes of
// structs of another size than the host's.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "stagehost/plugin.hpp"
#include "stagehost/setup.hpp"

using namespace pillion;
using namespace pillion::stagehost;

namespace {

model::Catalogue catalogue() {
  const auto root = base::parse_yaml(
      "meshes: {box: {kind: spectral, order: 3, coordinates: xyz, units: m},\n"
      "         grid: {kind: uniform, cells: [4]}}\n"
      "fields:\n  xyz: {mesh: box, type: float64, components: 3}\n"
      "  number: {mesh: box, type: int64, centering: cell}\n"
      "  pair: {mesh: box, type: int64, components: 2, centering: cell}\n"
      "  code: {mesh: box, type: int64}\n"
      "  heat: {mesh: grid, type: float32}\n",
      "c", {});
  model::Catalogue out;
  out.read(root.find("meshes"), root.find("fields"));
  return out;
}

struct Asking {
  model::Catalogue fields = catalogue();
  pillion_setup setup;
  const pillion_stage_host& host = host_table();
  Asking() {
    setup.parameters = base::parse_yaml("\n\nfield: xyz\nkey: number\n", "f", {});
    setup.catalogue = &fields;
  }
  std::string ask(const char* field, int32_t layout, const char* key,
                  const char* select = nullptr) {
    pillion_input_request request{};
    request.size = sizeof request;
    request.fields = &field;
    request.field_count = 1;
    request.layout = layout;
    request.key = request.position = key;
    request.select = select;
    int32_t number = 0;
    return host.request_input(&setup, &request, &number) == 0 ? "" : base::last_error();
  }
  std::string produce(const char* name, const char* like, int32_t components,
                      int32_t centering = 0) {
    pillion_output wanted{};
    wanted.size = sizeof wanted;
    wanted.name = name;
    wanted.units = "K";
    wanted.like = like;
    wanted.type = PILLION_FLOAT32;
    wanted.components = components;
    wanted.centering = centering;
    return declare(wanted);
  }
  std::string declare(const pillion_output& wanted) {
    int32_t number = 0;
    return host.declare_output(&setup, &wanted, &number) == 0 ? "" : base::last_error();
  }
  std::string describe(int32_t what, const char* name, pillion_field_description& out) {
    out.size = sizeof out;
    return host.describe(&setup, what, name, nullptr, &out) == 0 ? "" : base::last_error();
  }
};

}  // namespace

TEST_CASE("a description says order, centering and coordinates") {
  Asking asking;
  pillion_field_description field{};
  REQUIRE(asking.describe(PILLION_DESCRIBE_FIELD, "xyz", field).empty());
  CHECK(field.mesh_kind == PILLION_SPECTRAL);
  CHECK(field.components == 3);
  CHECK(field.order == 3);
  CHECK(field.centering == PILLION_POINT);
  CHECK(std::string(field.coordinates) == "xyz");
  REQUIRE(asking.describe(PILLION_DESCRIBE_FIELD, "number", field).empty());
  CHECK(field.centering == PILLION_CELL);
  REQUIRE(asking.describe(PILLION_DESCRIBE_MESH, "box", field).empty());
  CHECK(field.centering == 0);
  CHECK(field.order == 3);
  CHECK(std::string(field.units) == "m");
  REQUIRE(asking.describe(PILLION_DESCRIBE_FIELD, "heat", field).empty());
  CHECK(field.order == 0);
  CHECK(field.centering == PILLION_CELL);
  CHECK(field.metric == PILLION_CARTESIAN);
  CHECK(std::string(field.coordinates).empty());
  CHECK(asking.describe(3, "heat", field).find("asked to describe 3") != std::string::npos);
}

TEST_CASE("structs of another size are refused in words, or taken for what is known of them") {
  Asking asking;
  struct {
    pillion_field_description known;
    int64_t later = 0;
  } description{};
  auto& size = description.known.size;
  const auto describe = [&](size_t bytes) -> std::string {
    size = bytes;
    return asking.host.describe(&asking.setup, PILLION_DESCRIBE_FIELD, "heat", nullptr,
                                &description.known) == 0
               ? ""
               : base::last_error();
  };
  CHECK(describe(sizeof description) == "");
  CHECK(size == sizeof description.known);  // so much of it has been set
  CHECK(describe(sizeof description.known - 8) ==
        fmt::format("a stage passed a description of {} bytes, and this Pillion has {}; build the "
                    "plug-in again",
                    sizeof description.known - 8, sizeof description.known));
  CHECK(describe(0).find("of 0 bytes") != std::string::npos);
  CHECK(describe(~size_t{0}).find("build the plug-in again") != std::string::npos);
  description.later = 1;
  CHECK(describe(sizeof description) ==
        fmt::format("a stage set what this Pillion does not know in a description of {} bytes; use "
                    "a newer Pillion",
                    sizeof description));
  pillion_output output{};
  CHECK(asking.declare(output).find("an output of 0 bytes") != std::string::npos);
  pillion_input_request request{};
  int32_t number = 0;
  CHECK(asking.host.request_input(&asking.setup, &request, &number) != 0);
  CHECK(std::string(base::last_error()).find("a request for an input of 0 bytes") !=
        std::string::npos);
}

TEST_CASE("outputs that are not supported are refused in words") {
  pillion_output output{};
  output.size = sizeof output;
  output.name = "made";
  output.like = "heat";
  output.components = 1;
  output.type = 11;
  CHECK(Asking().declare(output) == "field 'made' has type 11, which is not known");
  output.type = PILLION_FLOAT64;
  CHECK(Asking().declare(output).empty());
  output.centering = PILLION_CELL;
  CHECK(Asking().declare(output).empty());
  output.mesh = "grid";
  CHECK(Asking().declare(output) ==
        "field 'made' is declared as output both like 'heat' and on mesh 'grid'");
}

TEST_CASE("elements come as shared or by an integer that each has") {
  Asking asking;
  CHECK(asking.ask("xyz", PILLION_LAYOUT_AS_SHARED, "").empty());
  CHECK(asking.ask("xyz", PILLION_LAYOUT_BY_KEY, "number").empty());
  CHECK(asking.ask("xyz", PILLION_LAYOUT_BY_KEY, "number", "number").empty());
  CHECK(
      asking.ask("xyz", PILLION_LAYOUT_BY_KEY, "pair")
          .ends_with(
              "field 'pair' must be one int32 or int64 per element to be a key, it is int64 x 2"));
  CHECK(asking.ask("xyz", PILLION_LAYOUT_BY_KEY, "code")
            .ends_with(
                "field 'code' must be one int32 or int64 per element to be a key, it is int64 x 1 "
                "at each of an "
                "element's points"));
  CHECK(asking.ask("xyz", PILLION_LAYOUT_SPATIAL, "xyz") ==
        "f:3: this stage needs particles, and field 'xyz' is on the spectral mesh 'box'");
  CHECK(asking.ask("xyz", PILLION_LAYOUT_BLOCKS, "") ==
        "f:3: this stage needs a uniform, rectilinear or curvilinear mesh, and field 'xyz' is on "
        "the spectral "
        "mesh 'box'");
}

TEST_CASE("what is produced is centred as its model, or as the stage says") {
  Asking asking;
  CHECK(asking.produce("like_points", "xyz", 1).empty());
  CHECK(asking.produce("like_elements", "number", 1).empty());
  CHECK(asking.produce("made", "xyz", 4, PILLION_CELL).empty());
  const auto values = [&](const char* name) {
    return model::values_of(asking.fields.mesh("box"), asking.fields.field(name));
  };
  CHECK(values("like_points") == 64);
  CHECK(values("like_elements") == 1);
  CHECK(values("made") == 4);
  CHECK(asking.produce("other", "xyz", 4, 5) ==
        "field 'other' has centering 5, which is not known");
  CHECK(asking.produce("other", "xyz", 4, PILLION_FACE) ==
        "field 'other' cannot be produced with centering face, which is not supported on mesh "
        "'box' of kind spectral");
  CHECK(Asking().produce("made", "heat", 1, PILLION_FACE) ==
        "field 'made' cannot be produced with centering face, which is not supported on mesh "
        "'grid' of kind uniform");
  CHECK(Asking().produce("made", "xyz", 1 << 26, PILLION_POINT).find("at each of 64 points") !=
        std::string::npos);
}
