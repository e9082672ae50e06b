// SPDX-License-Identifier: BSD-3-Clause
// Fields that are shared as one array for each component.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "comm/communicator.hpp"
#include "simulation/sharing.hpp"
#include "stagehost/weighed_field.hpp"

using namespace pillion;
using namespace pillion::simulation;

namespace {

model::Catalogue catalogue() {
  const auto root = base::parse_yaml(
      "meshes:\n  grid: {kind: uniform, cells: [4, 4]}\n  atoms: {kind: particles}\n"
      "  elements: {kind: spectral, order: 1}\n  cells: {kind: unstructured}\n"
      "fields:\n  u: {mesh: grid, type: float64, components: 3}\n"
      "  x: {mesh: atoms, type: float64, components: 3}\n"
      "  v: {mesh: elements, type: float64, components: 3}\n"
      "  w: {mesh: cells, type: float64, components: 3, centering: point}\n"
      "  vx: {mesh: elements, type: float64}\n  vy: {mesh: elements, type: float64}\n"
      "  velocity: {components: [vx, vy]}\n",
      "c", {});
  model::Catalogue out;
  out.read(root.find("meshes"), root.find("fields"));
  out.settle_fields();
  return out;
}

std::vector<model::Moments> moments_of(const model::Catalogue& fields, const std::string& field,
                                       std::vector<int32_t> components,
                                       const stagehost::Publication& publication) {
  const comm::Communicator nobody;
  stagehost::ExecutionContext context;
  context.peers = &nobody;
  return stagehost::WeighedField(fields, field).moments(publication, components, context);
}

/// Three arrays that are not evenly apart, in which component c has the values 100 c + i.
struct Apart {
  Apart() {
    for (size_t c = 0; c < 3; ++c)
      for (size_t i = 0; i < 100; ++i) all[begin[c] + i] = static_cast<double>(100 * c + i);
  }
  [[nodiscard]] std::vector<const void*> data(size_t first = 0) const {
    return {&all[begin[0] + first], &all[begin[1] + first], &all[begin[2] + first]};
  }
  static constexpr size_t begin[3] = {0, 120, 300};
  std::vector<double> all = std::vector<double>(400, -1);
};

std::vector<double> packed(const Sharing& sharing, const std::string& field,
                           const std::string& mesh) {
  const auto publication = sharing.publication({field}, 0, 0);
  const auto& block = publication.meshes.at(mesh).blocks.at(0);
  const auto& array = block.arrays.at(field);
  std::vector<double> out(static_cast<size_t>(block.box.volume() * array.components));
  model::pack(array, block.box, reinterpret_cast<std::byte*>(out.data()));
  return out;
}

template <class Share>
std::string fault_of(Share&& share) {
  const auto fields = catalogue();
  Sharing sharing(fields);
  share(sharing);
  try {
    sharing.throw_fault();
  } catch (const Error& e) {
    return e.what();
  }
  return "no fault";
}

pillion_view view_of(const void* data, std::vector<int64_t> extents, std::vector<int64_t> strides) {
  pillion_view out{data, PILLION_FLOAT64, static_cast<int32_t>(extents.size()), {}, {}};
  for (size_t d = 0; d < extents.size(); ++d) {
    out.extents[d] = extents[d];
    out.strides[d] = strides[d] * 8;
  }
  return out;
}

}  // namespace

TEST_CASE("a box, particles and elements are shared as one array for each component") {
  const auto fields = catalogue();
  Sharing sharing(fields);
  const Apart apart;
  const int64_t lo[] = {1, 0}, hi[] = {3, 2}, rows[] = {1, 6}, every[] = {4};
  const auto data = apart.data(), inside = apart.data(7);

  sharing.share_box("u", 0, 0, lo, hi, {inside, PILLION_FLOAT64, rows});  // within ghost cells
  CHECK(packed(sharing, "u", "grid") ==
        std::vector<double>{7, 107, 207, 8, 108, 208, 13, 113, 213, 14, 114, 214});
  sharing.share_box("u", 0, 0, lo, hi, {data, 0, nullptr});
  CHECK(packed(sharing, "u", "grid") ==
        std::vector<double>{0, 100, 200, 1, 101, 201, 2, 102, 202, 3, 103, 203});

  sharing.share_items("x", 0, 2, {data, PILLION_FLOAT64, every});
  CHECK(packed(sharing, "x", "atoms") == std::vector<double>{0, 100, 200, 4, 104, 204});
  sharing.share_items("x", 0, 2, {data, PILLION_FLOAT64, nullptr});
  CHECK(packed(sharing, "x", "atoms") == std::vector<double>{0, 100, 200, 1, 101, 201});

  sharing.share_items("v", 0, 2, {data, PILLION_FLOAT64, nullptr});
  const auto values = packed(sharing, "v", "elements");
  for (size_t e = 0; e < 2; ++e)
    for (size_t c = 0; c < 3; ++c)
      for (size_t p = 0; p < 8; ++p)
        CHECK(values[24 * e + 8 * c + p] == static_cast<double>(100 * c + 8 * e + p));

  const auto publication = sharing.publication({"v"}, 0, 0);
  const auto moments = moments_of(fields, "v", {2, model::Quantity::norm}, publication);
  CHECK(moments[0].minimum == 200);
  CHECK(moments[0].maximum == 215);
  CHECK(moments[1].minimum == doctest::Approx(std::hypot(100, 200)));
  sharing.throw_fault();
}

TEST_CASE("values at the points of cells are shared as one array for each component") {
  const auto fields = catalogue();
  Sharing sharing(fields);
  const Apart apart;
  const auto data = apart.data();
  sharing.share_items("w", 0, 2, {data, PILLION_FLOAT64, nullptr});
  sharing.throw_fault();
  const auto& array = *sharing.find("w", 0);
  const model::Box cells{{0, 0, 0}, {5, 1, 1}};
  REQUIRE(model::bytes_of(array, cells) == 6 * sizeof(double));
  std::vector<double> values(6);
  model::pack(array, model::box_of(array, cells), reinterpret_cast<std::byte*>(values.data()));
  CHECK(values == std::vector<double>{0, 100, 200, 1, 101, 201});
  CHECK(fault_of([&](Sharing& s) {
          s.share_items("w", 0, -1, {data, 0, nullptr});
        }) == "block 0 of field 'w' was shared with -1 points");
}

TEST_CASE("a field consists of others where these are shared alike") {
  const auto fields = catalogue();
  Sharing sharing(fields);
  const Apart apart;
  const auto data = apart.data();
  const auto share = [&](const char* field, int64_t count, const void* from) {
    sharing.share_items(model::MeshKind::Spectral, field, 0, count, from, PILLION_FLOAT64);
  };
  share("vx", 2, data[0]);
  CHECK_FALSE(sharing.has("velocity"));
  share("vy", 1, data[1]);
  CHECK_FALSE(sharing.has("velocity"));
  share("vy", 2, data[1]);
  auto values = packed(sharing, "velocity", "elements");
  for (size_t e = 0; e < 2; ++e)
    for (size_t c = 0; c < 2; ++c)
      for (size_t p = 0; p < 8; ++p)
        CHECK(values[16 * e + 8 * c + p] == static_cast<double>(100 * c + 8 * e + p));
  // Nothing but the place of a component changes.
  const auto version = sharing.version();
  share("vx", 2, data[2]);
  CHECK(sharing.version() == version);
  CHECK(packed(sharing, "velocity", "elements")[3] == 203);
  const auto* from = reinterpret_cast<const std::byte*>(data[2]);
  sharing.move("vx", 0, from, 16 * sizeof(double), reinterpret_cast<const std::byte*>(data[0]));
  CHECK(packed(sharing, "velocity", "elements")[3] == 3);
  // One element: two pieces of memory, though the second follows the first.
  share("vx", 1, data[0]);
  share("vy", 1, static_cast<const double*>(data[0]) + 8);
  CHECK(sharing.find("velocity", 0)->is_apart());
  values = packed(sharing, "velocity", "elements");
  for (size_t p = 0; p < 16; ++p) CHECK(values[p] == static_cast<double>(p));
  share("vx", 0, nullptr);
  share("vy", 0, nullptr);
  CHECK(sharing.has("velocity"));
  sharing.unshare("vy", 0);
  CHECK_FALSE(sharing.has("velocity"));
  sharing.throw_fault();
  CHECK(fault_of([&](Sharing& s) {
          s.share_items(model::MeshKind::Spectral, "velocity", 0, 1, data[0], PILLION_FLOAT64);
        }) ==
        "field 'velocity' was shared, which consists of the fields 'vx', 'vy'; share these, "
        "or say `components: 2` and no list in the configuration");
}

TEST_CASE("arrays that know their shape are shared by component") {
  const auto fields = catalogue();
  Sharing sharing(fields);
  const Apart apart;
  const auto data = apart.data();
  const int64_t lo[] = {0, 0}, hi[] = {2, 2};
  std::vector<pillion_view> views;
  for (const void* one : data) views.push_back(view_of(one, {2, 2}, {10, 1}));
  sharing.share_box("u", 0, 0, 2, lo, hi, views);
  CHECK(packed(sharing, "u", "grid") ==
        std::vector<double>{0, 100, 200, 10, 110, 210, 1, 101, 201, 11, 111, 211});
  views.clear();
  for (const void* one : data) views.push_back(view_of(one, {9}, {3}));
  sharing.share_items("x", 0, 2, views);
  CHECK(packed(sharing, "x", "atoms") == std::vector<double>{0, 100, 200, 3, 103, 203});
  sharing.throw_fault();

  views[1].strides[0] = 8;
  sharing.share_items("x", 0, 2, views);
  CHECK_THROWS_WITH_AS(sharing.throw_fault(),
                       "block 0 of field 'x' was shared as arrays of components, and component 1 "
                       "as an array that lies otherwise than that of component 0; all must lie "
                       "alike",
                       Error);
}

TEST_CASE("arrays that move are no change, and those that lie otherwise are one") {
  const auto fields = catalogue();
  Sharing sharing(fields);
  const Apart apart;
  sharing.share_items("x", 0, 2, {apart.data(), 0, nullptr});
  const auto version = sharing.version();
  const auto moved = std::vector<const void*>{apart.data()[2], apart.data()[0], apart.data()[1]};
  sharing.share_items("x", 0, 2, {moved, 0, nullptr});
  CHECK(sharing.version() == version);
  CHECK(packed(sharing, "x", "atoms") == std::vector<double>{200, 0, 100, 201, 1, 101});
  const std::vector<const void*> even{&apart.all[0], &apart.all[120], &apart.all[240]};
  sharing.share_items("x", 0, 2, {even, 0, nullptr});
  CHECK(sharing.version() > version);
}

TEST_CASE("components that do not fit the catalogue are named") {
  const Apart apart;
  const auto data = apart.data();
  const int64_t lo[] = {0, 0}, hi[] = {2, 2};
  CHECK(fault_of([&](Sharing& s) {
          s.share_items("x", 0, 2, {std::span(data).first(2), 0, nullptr});
        }) ==
        "block 0 of field 'x' was shared as 2 arrays, one for each component, but the catalogue "
        "says 3 components");
  CHECK(fault_of([&](Sharing& s) {
          s.share_items("x", 0, 2, {std::array<const void*, 3>{data[0], nullptr, data[2]}, 0});
        }) == "component 1 of block 0 of field 'x' was shared without memory");
  CHECK(fault_of([&](Sharing& s) {
          s.share_items("x", 4, -1, {data, 0, nullptr});
        }) == "block 4 of field 'x' was shared with -1 particles");
  CHECK(fault_of([&](Sharing& s) {
          s.share_items("u", 0, 2, {data, 0, nullptr});
        }) == "field 'u' was shared as particles, but its mesh 'grid' is of kind 'uniform'");
  CHECK(fault_of([&](Sharing& s) {
          s.share_box("x", 0, 0, lo, hi, {data, 0, nullptr});
        }) == "field 'x' was shared as a box, but its mesh 'atoms' is of kind 'particles'");
  CHECK(fault_of([&](Sharing& s) {
          s.share_items("x", 0, 2, {data, PILLION_INT32, nullptr});
        }) == "block 0 of field 'x' was shared as int32, but the catalogue says float64");
  CHECK(fault_of([&](Sharing& s) { s.share_items("x", 0, 0, {data, 0, nullptr}); }) == "no fault");
}
