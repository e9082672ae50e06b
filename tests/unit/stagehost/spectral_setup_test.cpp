// SPDX-License-Identifier: BSD-3-Clause
// What plug-ins learn of spectral meshes, and what they may ask for on them; those that were built
// before there were any are refused in words.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "stagehost/guard.hpp"
#include "stagehost/host_table.hpp"
#include "stagehost/setup.hpp"

using namespace pillion;
using namespace pillion::stagehost;

namespace {

model::Catalogue catalogue() {
  const auto root = base::parse_yaml(
      "meshes: {box: {kind: spectral, order: 3, coordinates: xyz, units: m},\n"
      "         grid: {kind: uniform, cells: [4]}}\n"
      "fields:\n  xyz: {mesh: box, type: float64, components: 3}\n"
      "  number: {mesh: box, type: int64, centering: elements}\n"
      "  pair: {mesh: box, type: int64, components: 2, centering: elements}\n"
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
    request.fields = &field;
    request.field_count = 1;
    request.layout = layout;
    request.key = request.position = key;
    request.select = select;
    int32_t number = 0;
    return host.request_input(&setup, &request, &number) == 0 ? "" : remembered();
  }
  std::string centred(const char* like, int32_t components, int32_t centering) {
    int32_t number = 0;
    return host.declare_output_centred(&setup, "made", like, PILLION_FLOAT32, components, centering,
                                       "K", &number) == 0
               ? ""
               : remembered();
  }
};

}  // namespace

TEST_CASE("a description says order, centering and coordinates") {
  Asking asking;
  pillion_field_description field{};
  REQUIRE(asking.host.describe(&asking.setup, 0, "xyz", nullptr, &field, sizeof field) == 0);
  CHECK(field.mesh_kind == PILLION_SPECTRAL);
  CHECK(field.components == 3);
  CHECK(field.order == 3);
  CHECK(field.centering == PILLION_POINTS);
  CHECK(std::string(field.coordinates) == "xyz");
  REQUIRE(asking.host.describe(&asking.setup, 0, "number", nullptr, &field, sizeof field) == 0);
  CHECK(field.centering == PILLION_ELEMENTS);
  REQUIRE(asking.host.describe(&asking.setup, 1, "box", nullptr, &field, sizeof field) == 0);
  CHECK(field.centering == 0);
  CHECK(field.order == 3);
  CHECK(std::string(field.units) == "m");
  REQUIRE(asking.host.describe(&asking.setup, 0, "heat", nullptr, &field, sizeof field) == 0);
  CHECK(field.order == 0);
  CHECK(field.centering == 0);
  CHECK(std::string(field.coordinates).empty());
}

TEST_CASE("stages that were built before get no more than they have room for, and no such mesh") {
  Asking asking;
  struct {
    pillion_field_description field;
    char beyond[8];
  } room;
  constexpr size_t known = offsetof(pillion_field_description, order);
  std::memset(&room, 0x5a, sizeof room);
  REQUIRE(asking.host.describe_field(&asking.setup, "heat", nullptr, &room.field) == 0);
  CHECK(room.field.cells[0] == 4);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&room);
  for (size_t b = known; b < sizeof room; ++b) REQUIRE(bytes[b] == 0x5a);
  CHECK(asking.host.describe_field(&asking.setup, "xyz", nullptr, &room.field) != 0);
  CHECK(std::string(remembered()) ==
        "f:3: mesh 'box' is spectral, and this stage knows no such meshes: it was built for an "
        "older version of Pillion");
  CHECK(asking.host.describe_mesh(&asking.setup, "box", nullptr, &room.field) != 0);
  CHECK(asking.host.describe(&asking.setup, 0, "xyz", nullptr, &room.field, known) == 0);
  for (size_t b = known; b < sizeof room; ++b) REQUIRE(bytes[b] == 0x5a);
}

TEST_CASE("elements come as shared or by an integer that each has") {
  Asking asking;
  CHECK(asking.ask("xyz", PILLION_LAYOUT_AS_SHARED, "").empty());
  CHECK(asking.ask("xyz", PILLION_LAYOUT_BY_KEY, "number").empty());
  CHECK(asking.ask("xyz", PILLION_LAYOUT_BY_KEY, "number", "number").empty());
  CHECK(
      asking.ask("xyz", PILLION_LAYOUT_BY_KEY, "pair")
          .ends_with("field 'pair' must be one integer per element to be a key, it is int64 x 2"));
  CHECK(asking.ask("xyz", PILLION_LAYOUT_BY_KEY, "code")
            .ends_with("field 'code' must be one integer per element to be a key, it is int64 x 1 "
                       "at each of an "
                       "element's points"));
  CHECK(asking.ask("xyz", PILLION_LAYOUT_SPATIAL, "xyz") ==
        "f:3: this stage needs particles, and field 'xyz' is on the spectral mesh 'box'");
  CHECK(asking.ask("xyz", PILLION_LAYOUT_BLOCKS, "") ==
        "f:3: this stage needs a uniform mesh, and field 'xyz' is on the spectral mesh 'box'");
}

TEST_CASE("what is produced is centred as its model, or as the stage says") {
  Asking asking;
  int32_t number = 0;
  REQUIRE(asking.host.declare_output(&asking.setup, "like_points", "xyz", PILLION_FLOAT64, 1, "",
                                     &number) == 0);
  REQUIRE(asking.host.declare_output(&asking.setup, "like_elements", "number", PILLION_FLOAT64, 1,
                                     "", &number) == 0);
  CHECK(asking.centred("xyz", 4, PILLION_ELEMENTS).empty());
  const auto values = [&](const char* name) {
    return model::values_of(asking.fields.mesh("box"), asking.fields.field(name));
  };
  CHECK(values("like_points") == 64);
  CHECK(values("like_elements") == 1);
  CHECK(values("made") == 4);
  CHECK(asking.centred("xyz", 4, 3).find("centering 3") != std::string::npos);
  CHECK(Asking().centred("heat", 1, PILLION_POINTS) ==
        "field 'made' cannot be centred on points or elements, for mesh 'grid' is of kind "
        "'uniform'");
  CHECK(Asking().centred("xyz", 1 << 26, PILLION_POINTS).find("at each of 64 points") !=
        std::string::npos);
}
