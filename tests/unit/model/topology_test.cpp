// SPDX-License-Identifier: BSD-3-Clause
#include "model/topology.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "base/error.hpp"

using namespace pillion;

namespace {

/// A tetrahedron, and a pyramid beside it, as Fortran counts.
struct Sample {
  std::vector<uint8_t> types{10, 14};
  std::vector<int32_t> offsets{1, 5, 10}, points{1, 2, 3, 4, 2, 3, 5, 6, 4};
  std::vector<int64_t> ids{70, 71};
  std::vector<uint8_t> flags{0, 1};
  std::vector<int32_t> patches{1, 0};

  [[nodiscard]] pillion_cells cells() const {
    pillion_cells out{};
    out.size = sizeof out;
    out.count = 2;
    out.types = types.data();
    out.index_type = PILLION_INT32;
    out.base = 1;
    out.offsets = offsets.data();
    out.points = points.data();
    out.flags = flags.data();
    out.ids = ids.data();
    out.patches = patches.data();
    return out;
  }
};

template <class T>
std::vector<T> list_of(std::span<const T> values) {
  return {values.begin(), values.end()};
}

std::string fault(const base::Bytes& bytes, int64_t points, int dimensions = 3,
                  size_t patches = 2) {
  return model::fault_of(model::read_topology(bytes), points, dimensions, patches);
}

template <class Change>
std::string refused(Change&& change) {
  Sample sample;
  auto cells = sample.cells();
  change(sample, cells);
  try {
    (void)model::to_bytes(cells, {});
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::Sharing);
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("cells become bytes and are read where they lie") {
  const Sample sample;
  const auto bytes = model::to_bytes(sample.cells(), {});
  const auto found = model::read_topology(bytes);
  CHECK(found.cells() == 2);
  CHECK(found.faces() == 0);
  CHECK(list_of(found.types) == sample.types);
  CHECK(list_of(found.offsets) == std::vector<int64_t>{0, 4, 9});
  CHECK(list_of(found.points) == std::vector<int64_t>{0, 1, 2, 3, 1, 2, 4, 5, 3});
  CHECK(list_of(found.ids) == sample.ids);
  CHECK(list_of(found.flags) == sample.flags);
  CHECK(list_of(found.patches) == sample.patches);
  CHECK(found.parents.empty());
  CHECK(found.owned == 1);
  CHECK(found.least_points == 6);
  CHECK(fault(bytes, 6) == "");
}

TEST_CASE("points may be named by ids, and cells of one type need no offsets") {
  const std::vector<int64_t> ids{40, 10, 30, 20}, points{10, 20, 30, 40};
  pillion_cells cells{};
  cells.count = 1;
  cells.type = 10;
  cells.index_type = PILLION_INT64;
  cells.points_are_ids = 1;
  cells.points = points.data();
  const auto found = model::to_bytes(cells, ids);
  CHECK(list_of(model::read_topology(found).points) == std::vector<int64_t>{1, 3, 2, 0});
  CHECK_THROWS_WITH_AS((void)model::to_bytes(cells, std::span(ids).first(3)),
                       doctest::Contains("index 1 of the cells' points is the id 20"), Error);
}

TEST_CASE("cells that cannot be are refused with the value seen") {
  CHECK(refused([](Sample&, pillion_cells& c) { c.index_type = PILLION_FLOAT64; }) ==
        "indices are of type 4; they must be int32 or int64");
  CHECK(refused([](Sample&, pillion_cells& c) { c.base = 2; }) ==
        "indices count from 2; they must count from 0 or 1");
  CHECK(refused([](Sample&, pillion_cells& c) { c.count = -1; }) == "-1 cells were given");
  CHECK(refused([](Sample&, pillion_cells& c) { c.points = nullptr; }) ==
        "the cells' points were not given");
  CHECK(refused([](Sample&, pillion_cells& c) { c.offsets = nullptr; }) ==
        "offsets of cells were not given");
  CHECK(refused([](Sample& s, pillion_cells&) { s.offsets[1] = 12; }) ==
        "offset 2 of cells is 10, less than 12 before it");
  CHECK(refused([](Sample& s, pillion_cells&) { s.offsets[0] = 0; }) ==
        "the first offset of cells is 0; it must be 1");
  CHECK(refused([](Sample&, pillion_cells& c) {
          c.types = nullptr;
          c.offsets = nullptr;
          c.type = 7;
        }).find("polygon, which has any number of points") != std::string::npos);
}

TEST_CASE("Lagrange cells of order 1 and 2 are the cells that have their points") {
  Sample sample;  // of 4 and of 5 points
  sample.types = {71, 72};
  const auto bytes = model::to_bytes(sample.cells(), {});
  const auto found = model::read_topology(bytes);
  CHECK(list_of(found.types) == std::vector<uint8_t>{10, 72});
  CHECK(model::plain_type(71, 10) == 24);
  CHECK(model::plain_type(72, 27) == 29);
  CHECK(model::plain_type(73, 18) == 32);
  CHECK(model::plain_type(71, 20) == 71);
  CHECK(model::plain_type(12, 8) == 12);
  for (const int points : {2, 3, 4, 6, 7, 8, 9, 10, 18, 27})
    for (int vtk = 68; vtk <= 73; ++vtk) {
      const auto plain = model::plain_type(static_cast<uint8_t>(vtk), points);
      if (plain != vtk) CHECK(model::find_cell_type(plain)->points == points);
    }
}

TEST_CASE("a fault names the cell") {
  Sample sample;
  sample.points[5] = 9;
  CHECK(fault(model::to_bytes(sample.cells(), {}), 6) ==
        "cell 1 has point 8, but the block has 6 points, counted from 0");
  // Before the program has shared points, their number is not known.
  sample.points[5] = 0;
  CHECK(fault(model::to_bytes(sample.cells(), {}), model::unknown_count) ==
        "cell 1 has point -1; points are counted from 0");
  sample = {};
  sample.types[0] = 99;
  CHECK(fault(model::to_bytes(sample.cells(), {}), 6) ==
        "cell 0 has VTK's type 99, which is not known");
  sample = {};
  sample.types[1] = 12;
  CHECK(fault(model::to_bytes(sample.cells(), {}), 6) ==
        "cell 1 is a hexahedron, which has 8 points, but 5 are given");
  CHECK(fault(model::to_bytes(Sample().cells(), {}), 6, 2) ==
        "cell 0 is a tetra of 3 dimensions, but the mesh has 2");
  CHECK(fault(model::to_bytes(Sample().cells(), {}), 6, 3, 1) ==
        "cell 0 is of patch 1, counted from 0, but the mesh has 1 patches");
  sample = {};
  sample.types[0] = 42;
  CHECK(fault(model::to_bytes(sample.cells(), {}), 6) ==
        "cell 0 is a polyhedron, which has at least 4 faces, but 0 are given");
}

TEST_CASE("bytes that are too few for their sizes are refused") {
  auto bytes = model::to_bytes(Sample().cells(), {});
  for (const size_t size : {size_t{0}, size_t{40}, bytes.size() - 8})
    CHECK_THROWS_AS((void)model::read_topology(std::span(bytes).first(size)), Error);
  const int64_t many = int64_t{1} << 62;
  std::memcpy(bytes.data(), &many, sizeof many);
  CHECK_THROWS_AS((void)model::read_topology(bytes), Error);
}
