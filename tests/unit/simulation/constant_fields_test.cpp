// SPDX-License-Identifier: BSD-3-Clause
// Versions and copies of constant fields, as a program shares them, with memory that sidecars see.
#include "simulation/constant_fields.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "node/segment.hpp"

using namespace pillion;
using namespace pillion::simulation;

namespace {

model::Catalogue catalogue() {
  const auto root = base::parse_yaml(
      "meshes: {grid: {kind: uniform, cells: [8, 4]}, box: {kind: unstructured}}\n"
      "fields:\n  c: {mesh: grid, type: float64, constant: true}\n"
      "  u: {mesh: grid, type: float64}\n  x: {mesh: grid, type: float64, constant: true}\n"
      "  y: {mesh: grid, type: float64, constant: true}\n  v: {components: [x, y]}\n"
      "  m: {components: [x, u]}\n  w: {mesh: box, type: float64, constant: true}\n",
      "c", {});
  model::Catalogue out;
  out.read(root.find("meshes"), root.find("fields"));
  out.settle_fields();
  return out;
}

node::Segment a_segment() {
  auto segment = node::Segment::make({"constants", 1, 0, 1, 1}, {{0, 4096}}, {});
  segment.take_channel(0);
  return segment;
}

const int64_t lo[] = {0, 0}, hi[] = {4, 4}, far[] = {8, 4};

/// A program with one block, within ghost cells.
struct Program {
  node::Segment segment = a_segment();
  model::Catalogue fields = catalogue();
  Sharing sharing{fields};
  Allocations allocations{&segment};
  ConstantFields constants{fields, sharing, allocations};
  std::vector<double> values = std::vector<double>(100);
  run::CutFields cut_fields{{{"c", "u", "v", "w"}, ""}, {{"u"}, ""}};

  Program() { std::iota(values.begin(), values.end(), 1.0); }
  void share(const char* field, const int64_t* from = lo, const int64_t* to = hi) {
    const int64_t ghosts[] = {1, 1};
    sharing.share_ghosts(field, 0, 0, from, to, ghosts, values.data(), 0);
  }
  std::vector<std::string> prepare(size_t analysis = 0) {
    return constants.prepare({analysis}, cut_fields);
  }
  [[nodiscard]] const model::Array& array(const char* field = "c") const {
    return *sharing.find(field, 0);
  }
  [[nodiscard]] double first(const char* field = "c") const {
    return *static_cast<const double*>(array(field).data);
  }
};

}  // namespace

TEST_CASE("which fields are constant") {
  const auto fields = catalogue();
  CHECK(fields.field("v").is_constant);
  CHECK_FALSE(fields.field("m").is_constant);
  CHECK_FALSE(fields.field("u").is_constant);
  const auto error_of = [](const char* text) {
    model::Catalogue out;
    const auto root = base::parse_yaml(
        std::string("meshes: {g: {kind: uniform, cells: [8]}, p: {kind: particles}}\nfields: ") +
            text,
        "c", {});
    CHECK_THROWS_AS(out.read(root.find("meshes"), root.find("fields")), Error);
    try {
      out.read(root.find("meshes"), root.find("fields"));
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(error_of("{m: {mesh: p, type: float64, constant: true}}").find("may change their order") !=
        std::string::npos);
  CHECK(error_of("{a: {mesh: g, type: float64}, v: {components: [a], constant: true}}")
            .find("constant if all of its components are") != std::string::npos);
}

TEST_CASE("a block has other values when its box or its cells change, and only then") {
  Program program;
  program.share("c");
  program.share("u");
  const int64_t version = program.array().version;
  CHECK(version != 0);
  CHECK(program.array("u").version == 0);
  program.share("c");
  CHECK(program.array().version == version);
  program.sharing.begin_blocks("c");
  program.share("c");
  (void)program.sharing.end_blocks("c");
  CHECK(program.array().version == version);
  program.share("c", lo, far);
  const int64_t other = program.array().version;
  CHECK(other > version);
  program.sharing.unshare("c", 0);
  program.share("c", lo, far);
  CHECK(program.array().version > other);
}

TEST_CASE("values are copied at the first publication, and taken from there") {
  Program program;
  program.share("c");
  program.values[7] = 70;             // before it; the first cell within the ghost cells
  CHECK(program.prepare(1).empty());  // the field is not in it
  CHECK_FALSE(program.allocations.holds(program.array().data));
  CHECK(program.prepare().empty());
  const auto* copy = program.array().data;
  CHECK(program.allocations.holds(copy));
  CHECK(program.first() == 70);
  CHECK(program.array().strides == model::packed_strides({{0, 0, 0}, {4, 4, 1}}, 1));
  for (int64_t message = 0; message < 5; ++message) {  // no sidecar gives anything back
    program.share("c");
    CHECK(program.prepare().empty());
    CHECK(program.array().data == copy);
    CHECK(program.allocations.find(copy).has_value());
    program.allocations.lend(message);
  }
  CHECK_FALSE(program.allocations.has_refused());
  program.values[11] = 71;  // the first cell of a longer box
  program.share("c", lo, far);
  CHECK(program.prepare().empty());
  CHECK(program.first() == 71);
  CHECK(program.array().data != copy);  // which sidecars still read
  program.sharing.unshare("c", 0);
  program.constants.forget("c", 0);
  program.allocations.reclaim(5);
  CHECK(program.allocations.empty());
}

TEST_CASE("components apart are one copy, and theirs stay as they are") {
  Program program;
  program.share("x");
  program.share("y");
  program.cut_fields[0].fields.insert("x");
  CHECK(program.prepare().empty());
  CHECK(program.allocations.holds(program.array("v").data));
  CHECK_FALSE(program.array("v").is_apart());
  CHECK(program.array("x").data == &program.values[7]);
  const auto* copy = program.array("v").data;
  program.share("y");
  program.share("x");
  CHECK(program.array("v").data == copy);
  program.share("x", lo, far);
  CHECK(program.sharing.find("v", 0) == nullptr);  // its components differ now
}

TEST_CASE("memory of the session needs no copy, and a swap brings new values") {
  Program program;
  auto* memory = static_cast<double*>(program.allocations.allocate("c", 0, 4 * 4 * 8, 2));
  program.sharing.share_box("c", 0, 0, lo, hi, memory, 0, nullptr);
  CHECK(program.prepare().empty());
  CHECK(program.array().data == memory);
  const int64_t version = program.array().version;
  const auto [before, now, size] = program.allocations.swap("c", 0);
  program.sharing.move("c", 0, before, size, now);
  CHECK(program.array().data == now);
  CHECK(program.array().version > version);
}

TEST_CASE("values that change are found, and told once") {
  Program program;
  program.share("c");
  CHECK(program.prepare().empty());
  program.values[7] += 1;
  const auto told = program.prepare();
  REQUIRE(told.size() == 1);
  CHECK(told[0].find("field 'c' is constant according to the catalogue") == 0);
  program.values[7] += 1;
  CHECK(program.prepare().empty());
  CHECK(program.first() == 8);
}

TEST_CASE("cells that change bring constant fields again") {
  Program program;
  const double at[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
  auto& sharing = program.sharing;
  const auto put_cells = [&](int64_t version) {
    static const std::byte bytes[64] = {};
    model::Array array{bytes, model::ElementType::Uint8};
    array.extents = {64, 1, 1};
    array.has_extents = true;
    array.version = version;
    sharing.put_geometry(program.fields.mesh("box"), "cells", model::topology_of("box"), 0, array);
  };
  put_cells(sharing.new_version());
  sharing.share_items(model::MeshKind::Unstructured, "w", 0, 5, at, 0);
  CHECK(program.prepare().empty());
  CHECK(program.allocations.holds(program.array("w").data));
  const int64_t version = program.array("w").version;
  put_cells(sharing.new_version());
  CHECK(program.array("w").version > version);
  CHECK(program.array("w").data == at);
  CHECK(program.prepare().empty());
  CHECK(program.allocations.holds(program.array("w").data));
}
