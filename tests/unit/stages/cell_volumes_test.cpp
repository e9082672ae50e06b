// SPDX-License-Identifier: BSD-3-Clause
// Volumes of a block's cells as weights: flags, versions, points that share cells, and what is
// wrong with a cell.
#include "common/cell_volumes.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <vector>

using namespace pillion;
using namespace pillion::stages;

namespace {

/// A unit cube (12) beside a wedge (13) of half its size, which has a pyramid of flags on it.
struct Scene {
  std::vector<double> places = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0,
                                1, 1, 1, 1, 0, 1, 1, 2, 0, 0, 2, 0, 1, 9, 9, 9};
  std::vector<uint8_t> types = {12, 13}, bits = {0, 0};
  std::vector<int64_t> offsets = {0, 8, 14}, points = {0, 1, 2, 3, 4, 5, 6, 7, 1, 8, 2, 5, 9, 6};
  pillion_connectivity cells{};
  pillion_array coordinates{}, flags{};
  pillion_block raw{};
  pillion_mesh mesh{};

  Scene() {
    mesh.name = "rock";
    mesh.axes = 3;
    raw.id = 5;
    coordinates.type = PILLION_FLOAT64;
    coordinates.components = 3;
    coordinates.strides[0] = 24;
    coordinates.strides[3] = 8;
    flags.strides[0] = 1;
  }
  /// As it is now.
  stage::Block block() {
    cells.types = types.data();
    cells.offsets = offsets.data();
    cells.points = points.data();
    coordinates.data = places.data();
    flags.data = bits.data();
    raw.cells = {static_cast<int64_t>(types.size()), static_cast<int64_t>(types.size())};
    raw.points.owned = raw.points.total = static_cast<int64_t>(places.size() / 3);
    raw.connectivity = &cells;
    raw.coordinates = &coordinates;
    raw.flags = &flags;
    return stage::Block(&raw);
  }
  CellWeights weights(CellVolumes& volumes, int64_t step, pillion_centering centering) {
    return volumes.weights(step, 2, mesh, block(), centering);
  }
  std::string failure() {
    CellVolumes volumes;
    try {
      (void)weights(volumes, 0, PILLION_CELL);
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  }
};

}  // namespace

TEST_CASE("cells weigh their volume, and points what cells share among theirs") {
  Scene scene;
  CellVolumes volumes;
  const auto cells = scene.weights(volumes, 0, PILLION_CELL);
  CHECK(cells.of(0, 0, 0) == 1);
  CHECK(cells.of(1, 0, 0) == doctest::Approx(0.5));
  CHECK(cells.flags == nullptr);
  const auto points = scene.weights(volumes, 0, PILLION_POINT);
  REQUIRE(points.of_values.size() == 11);
  CHECK(points.of(0, 0, 0) == 1.0 / 8);
  CHECK(points.of(1, 0, 0) == doctest::Approx(1.0 / 8 + 0.5 / 6));
  CHECK(std::reduce(points.of_values.begin(), points.of_values.end()) == doctest::Approx(1.5));
  CHECK(points.counts(9, 0, 0));
  CHECK(!points.counts(10, 0, 0));  // no cell has it
}

TEST_CASE("cells with flags and their points do not count") {
  Scene scene;
  CellVolumes volumes;
  scene.bits = {PILLION_CELL_DUPLICATE, 16};  // the second is VTK's of exterior cells
  const auto points = scene.weights(volumes, 0, PILLION_POINT);
  CHECK(!points.counts(0, 0, 0));
  CHECK(points.counts(1, 0, 0));
  CHECK(points.of(1, 0, 0) == doctest::Approx(0.5 / 6));
  const auto cells = scene.weights(volumes, 0, PILLION_CELL);
  CHECK(!cells.counts(0, 0, 0));
  CHECK(cells.counts(1, 0, 0));
  double sum = 0, count = 0;
  const std::vector<double> values = {7, 8};
  const stage::Array array{values.data(), PILLION_FLOAT64, 1, {1, 0, 0, 1}};
  for_each_weighted({&array, 0}, {2, 1, 1}, cells,
                    [&](std::span<const double> some, std::span<const double> their) {
                      for (size_t i = 0; i < some.size(); ++i) sum += some[i] * their[i], ++count;
                    });
  CHECK(count == 1);
  CHECK(sum == doctest::Approx(4));
  scene.types[0] = 72;  // what does not count is not looked at
  CHECK(scene.failure().empty());
}

TEST_CASE("volumes are kept while versions say that nothing has changed") {
  Scene scene;
  CellVolumes volumes;
  const auto volume = [&](int64_t step) {
    return scene.weights(volumes, step, PILLION_CELL).of(0, 0, 0);
  };
  const auto lift = [&](double z) {
    for (const size_t p : {4, 5, 6, 7}) scene.places[3 * p + 2] = z;
  };
  CHECK(volume(0) == 1);
  lift(2);
  CHECK(volume(0) == 1);  // the same publication
  CHECK(volume(1) == 2);  // versions are not known
  scene.raw.topology_version = 1;
  scene.raw.geometry_version = 1;
  CHECK(volume(2) == 2);
  lift(3);
  CHECK(volume(3) == 2);
  scene.raw.geometry_version = 2;
  CHECK(volume(4) == 3);
  lift(4);
  scene.raw.topology_version = 2;
  CHECK(volume(5) == 4);
}

TEST_CASE("what is wrong with a cell") {
  const std::string where = "cell 0 of block 5 of mesh 'rock' (rank 2 of the analysis)";
  Scene inverted;
  for (size_t p = 0; p < 11; ++p) inverted.places[3 * p] *= -1;
  CHECK(inverted.failure() ==
        where +
            " is a hexahedron that is inverted: its volume is -1; list its points in "
            "the order of VTK's type 12");
  Scene odd;
  odd.types[0] = 72;
  CHECK(odd.failure() == where +
                             " is of VTK's type 72, whose volume this version cannot compute; "
                             "share linear or quadratic cells, or elements of higher "
                             "order as a mesh of kind: spectral");
  Scene wrong;
  wrong.types[0] = 10;
  CHECK(wrong.failure() == where + " is a tetrahedron, which has 4 points, and has 8");
  Scene flat;
  flat.mesh.axes = 2;
  CHECK(flat.failure() ==
        where +
            " is a hexahedron of 3 dimensions, and the cells of its mesh have 2; set "
            "`dimensions` of the mesh");
  Scene surface;
  surface.types = {9};
  surface.offsets = {0, 4};
  CHECK(surface.failure() ==
        "no cell of block 5 of mesh 'rock' (rank 2 of the analysis) has the 3 dimensions of the "
        "mesh, so none has a volume; set `dimensions` of the mesh");
  surface.types = {9, 10};
  surface.offsets = {0, 4, 8};
  surface.points = {0, 1, 2, 3, 0, 1, 3, 4};
  CellVolumes volumes;
  const auto weights = surface.weights(volumes, 0, PILLION_CELL);
  CHECK(!weights.counts(0, 0, 0));
  CHECK(weights.of(1, 0, 0) == doctest::Approx(1.0 / 6));
  Scene collapsed;
  for (const size_t p : {4, 5, 6, 7}) collapsed.places[3 * p + 2] = -1e-15;
  CHECK(collapsed.failure().empty());
  Scene lost;
  lost.places[0] = NAN;
  CHECK(lost.failure() == where + " is a hexahedron with a volume that is not finite");
}
