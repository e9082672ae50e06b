// SPDX-License-Identifier: BSD-3-Clause
// Encoded cells against the address of every sample.
#include <doctest/doctest.h>

#include <pillion/idx/runs.hpp>
#include <random>

#include "write/idx/cell_encoding.hpp"

using namespace pillion;
using namespace pillion::stages::write_idx;

namespace {

/// Elements of a whole mesh, x slowest, each byte known by its place.
struct Mesh {
  idx::Point cells;
  size_t element;
  std::vector<std::byte> bytes;

  Mesh(idx::Point extent, size_t size) : cells(extent), element(size) {
    bytes.resize(static_cast<size_t>(cells[0] * cells[1] * cells[2]) * element);
    std::mt19937 random(3);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random() % 255 + 1);
  }
  [[nodiscard]] idx::Point strides() const {
    const auto size = static_cast<int64_t>(element);
    return {cells[1] * cells[2] * size, cells[2] * size, size};
  }
  [[nodiscard]] const std::byte* at(const idx::Point& p) const {
    return bytes.data() + detail::offset_of(p, strides());
  }
  [[nodiscard]] bool has(const idx::Point& p) const {
    return p[0] < cells[0] && p[1] < cells[1] && p[2] < cells[2];
  }
};

/// A region cut in two, again and again.
void cut(const Region& region, int times, std::mt19937& random, std::vector<Region>& out) {
  const size_t axis = random() % 3;
  const int64_t extent = region.hi[axis] - region.lo[axis];
  if (times == 0 || extent < 2) return out.push_back(region);
  Region lower = region, upper = region;
  lower.hi[axis] = upper.lo[axis] =
      region.lo[axis] + 1 + static_cast<int64_t>(random() % static_cast<size_t>(extent - 1));
  cut(lower, times - 1, random, out);
  cut(upper, times - 1, random, out);
}

/// Samples that are not where their address says, of `fields` fields of `size` bytes.
int64_t wrong(const idx::Bitmask& mask, const idx::Cell& cell, const Mesh& mesh, size_t size,
              size_t fields, int left_out, int cuts, std::mt19937& random) {
  std::vector<Region> regions;
  cut({{0, 0, 0}, mesh.cells}, cuts, random, regions);
  const CellShape shape(mask, cell.bits, left_out);
  std::vector<PartElements> parts;
  for (auto region : regions) {
    const auto* first = mesh.at(region.lo);
    for (size_t a = 0; a < 3; ++a) {
      region.lo[a] -= cell.corner[a];
      region.hi[a] -= cell.corner[a];
    }
    parts.push_back({region, first, mesh.strides()});
  }
  std::vector<std::vector<std::byte>> encoded(fields);
  std::vector<std::byte*> places;
  for (auto& bytes : encoded) {
    bytes.assign(size << shape.levels(), std::byte{0xFF});
    places.push_back(bytes.data());
  }
  encode(shape, parts, parts_of_cubes(shape, cell.corner, regions), size, places);
  int64_t count = 0;
  size_t place = 0;
  for (int number = 0; number <= shape.levels(); ++number) {
    const auto run = idx::run_of(mask, cell, number);
    for (int64_t address = run.address; address < run.address + run.count; ++address, ++place) {
      const auto point = mask.point(address);
      const std::vector<std::byte> nothing(mesh.element);
      const auto* expected = mesh.has(point) ? mesh.at(point) : nothing.data();
      for (size_t f = 0; f < fields; ++f)
        count += std::memcmp(encoded[f].data() + place * size, expected + f * size, size) != 0;
    }
  }
  CHECK(place == encoded.front().size() / size);
  return count;
}

}  // namespace

TEST_CASE("samples come in the order of their addresses, from whatever parts") {
  std::mt19937 random(7);
  const idx::Bitmask mask("V2101210210210");
  for (const size_t size : {4, 8, 12, 24, 7})
    for (const size_t fields : {1, 3})
      for (const int left_out : {0, 2, 9}) {
        const Mesh mesh({13, 23, 15}, size * fields + 4);
        CHECK(wrong(mask, {{0, 0, 0}, 13}, mesh, size, fields, left_out, 3, random) == 0);
        CHECK(wrong(mask, {{8, 16, 8}, 9}, mesh, size, fields, left_out, 4, random) == 0);
        CHECK(wrong(mask, {{4, 6, 2}, 2}, mesh, size, fields, left_out, 0, random) == 0);
        CHECK(wrong(mask, {{0, 0, 0}, 10}, mesh, size, fields, left_out, 0, random) == 0);
      }
}
