// SPDX-License-Identifier: BSD-3-Clause
// Volumes of cells against those of spheres, cylinders and boxes, and reading with their weights
// against sums cell by cell.
#include "common/cells.hpp"

#include <doctest/doctest.h>

#include <numbers>
#include <vector>

using namespace pillion;
using namespace pillion::stages;

namespace {

constexpr double pi = std::numbers::pi;

pillion_mesh mesh_of(pillion_metric metric, std::vector<int64_t> cells, std::vector<double> origin,
                     std::vector<double> length, double radius = 0) {
  pillion_mesh mesh{};
  mesh.kind = PILLION_UNIFORM;
  mesh.metric = metric;
  mesh.axes = static_cast<int32_t>(cells.size());
  mesh.levels = 1;
  mesh.radius = radius;
  for (size_t d = 0; d < 3; ++d) {
    mesh.cells[d] = d < cells.size() ? cells[d] : 1;
    mesh.origin[d] = d < cells.size() ? origin[d] : 0;
    mesh.length[d] = d < cells.size() ? length[d] : 1;
  }
  return mesh;
}

pillion_field_description field_of(const pillion_mesh& mesh) {
  pillion_field_description field{};
  field.mesh_kind = mesh.kind;
  field.metric = mesh.metric;
  field.levels = mesh.levels;
  return field;
}

pillion_block block_of(std::array<int64_t, 3> lo, std::array<int64_t, 3> hi) {
  pillion_block block{};
  for (size_t d = 0; d < 3; ++d) {
    block.allocated.lo[d] = lo[d];
    block.allocated.hi[d] = hi[d];
  }
  return block;
}

/// Of all cells.
double volume(const pillion_mesh& mesh) {
  const auto whole = block_of({0, 0, 0}, {mesh.cells[0], mesh.cells[1], mesh.cells[2]});
  const auto weights = weights_of(mesh, field_of(mesh), stage::Block(&whole));
  double sum = 0;
  for (int64_t k = 0; k < mesh.cells[2]; ++k)
    for (int64_t j = 0; j < mesh.cells[1]; ++j)
      for (int64_t i = 0; i < mesh.cells[0]; ++i) sum += weights.of(i, j, k);
  return sum;
}

}  // namespace

TEST_CASE("cells fill what they lie in") {
  const auto sphere = mesh_of(PILLION_SPHERICAL, {12, 7}, {0, -90}, {360, 180}, 3);
  CHECK(volume(sphere) == doctest::Approx(4 * pi * 9).epsilon(1e-14));
  const auto ball = mesh_of(PILLION_SPHERICAL, {5, 6, 4}, {-30, -90, 0}, {360, 180, 2});
  CHECK(volume(ball) == doctest::Approx(4 * pi / 3 * 8).epsilon(1e-14));
  const auto air = mesh_of(PILLION_SPHERICAL, {5, 6, 4}, {0, -90, 0}, {360, 180, 2}, 10);
  CHECK(volume(air) == doctest::Approx(4 * pi / 3 * (12 * 12 * 12 - 1000)).epsilon(1e-14));
  const auto pipe = mesh_of(PILLION_CYLINDRICAL, {4, 9, 3}, {1, 0, 5}, {2, 360, 7});
  CHECK(volume(pipe) == doctest::Approx(pi * (9 - 1) * 7).epsilon(1e-14));
  const auto round = mesh_of(PILLION_CYLINDRICAL, {4, 3}, {0, 5}, {2, 7});
  CHECK(volume(round) == doctest::Approx(pi * 4 * 7).epsilon(1e-14));
  auto stretched = mesh_of(PILLION_CARTESIAN, {3, 2}, {0, 0}, {10, 3});
  const double x[] = {0, 1, 4, 10}, y[] = {0, 2.5, 3};
  stretched.kind = PILLION_RECTILINEAR;
  stretched.coordinates[0] = x;
  stretched.coordinates[1] = y;
  CHECK(volume(stretched) == doctest::Approx(30).epsilon(1e-14));
}

TEST_CASE("a small cell at the pole has the area of a small cap") {
  const double cell = 1e-4;
  const auto cap = mesh_of(PILLION_SPHERICAL, {1, 1}, {0, 90 - cell}, {360, cell}, 1);
  const double angle = cell * pi / 180;
  CHECK(volume(cap) == doctest::Approx(pi * angle * angle).epsilon(1e-8));
}

TEST_CASE("ghost cells beyond a periodic axis are those of the other end") {
  auto mesh = mesh_of(PILLION_CARTESIAN, {3, 1}, {0, 0}, {10, 1});
  const double x[] = {0, 1, 4, 10};
  mesh.kind = PILLION_RECTILINEAR;
  mesh.coordinates[0] = x;
  const double y[] = {0, 1};
  mesh.coordinates[1] = y;
  const auto block = block_of({-2, 0, 0}, {5, 1, 1});
  CHECK(weights_of(mesh, field_of(mesh), stage::Block(&block)).along[0] ==
        std::vector<double>{3, 6, 1, 3, 6, 1, 3});
}

TEST_CASE("cells of a finer level are smaller, and those of one mesh without levels are alike") {
  auto mesh = mesh_of(PILLION_CARTESIAN, {4, 4}, {0, 0}, {4, 8});
  const auto block = block_of({0, 0, 0}, {2, 2, 1});
  CHECK(weights_of(mesh, field_of(mesh), stage::Block(&block)).are_equal());
  CHECK(weights_of(mesh, field_of(mesh), stage::Block(&block)).each == 1);
  const int32_t ratios[] = {2, 4, 1};
  mesh.levels = 2;
  mesh.ratios = ratios;
  auto finer = block;
  CHECK(weights_of(mesh, field_of(mesh), stage::Block(&block)).each == 2);
  finer.level = 1;
  CHECK(weights_of(mesh, field_of(mesh), stage::Block(&finer)).each == 0.25);
}

TEST_CASE("values come with their weights, and those of cells with a flag do not come") {
  const auto mesh = mesh_of(PILLION_CYLINDRICAL, {40, 60}, {0, 0}, {4, 6});
  auto block = block_of({3, 5, 0}, {40, 60, 1});
  const Extent n = {37, 55, 1};
  std::vector<float> values(static_cast<size_t>(size_of(n)));
  std::vector<uint8_t> bits(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i % 17);
    bits[i] = i % 5 == 0 ? PILLION_CELL_HIDDEN : 0;
  }
  pillion_array flags{};
  flags.data = bits.data();
  flags.strides[0] = 1;
  flags.strides[1] = n[0];
  stage::Array array{values.data(), PILLION_FLOAT32, 1, {1, n[0], 0, 1}};
  for (const bool is_flagged : {false, true}) {
    block.flags = is_flagged ? &flags : nullptr;
    const auto weights = weights_of(mesh, field_of(mesh), stage::Block(&block));
    double sum = 0, count = 0, expected = 0, expected_count = 0;
    for_each_weighted({&array, 0}, n, weights,
                      [&](std::span<const double> some, std::span<const double> their) {
                        for (size_t i = 0; i < some.size(); ++i) sum += some[i] * their[i];
                        count += static_cast<double>(some.size());
                      });
    for (size_t i = 0; i < values.size(); ++i) {
      if (is_flagged && bits[i] != 0) continue;
      const double r = (3 + static_cast<double>(i % 37) + 0.5) * 0.1;
      expected += static_cast<double>(values[i]) * 2 * pi * r * 0.1 * 0.1;
      ++expected_count;
    }
    CHECK(count == expected_count);
    CHECK(sum == doctest::Approx(expected).epsilon(1e-12));
  }
}
