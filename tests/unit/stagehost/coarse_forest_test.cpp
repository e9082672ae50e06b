// SPDX-License-Identifier: BSD-3-Clause
// Lyman-alpha absorption in coarse publications: fewer lines of sight, of longer cells, over the
// same length; the depth of uniform gas is what it was.
#include <cmath>

#include "played.hpp"

using namespace pillion;
using test::Play;

namespace {

constexpr int64_t cells[3] = {8, 6, 5};

model::Catalogue catalogue() {
  return test::catalogue_of(
      "meshes: {grid: {kind: uniform, cells: [8, 6, 5], length: [8, 6, 5], units: Mpc, periodic: "
      "true}}\n"
      "fields:\n  n: {mesh: grid, type: float64}\n  T: {mesh: grid, type: float64}\n"
      "  v: {mesh: grid, type: float64, components: 3}\n");
}

/// Uniform gas in one rank's planes.
stagehost::Publication publication(const comm::Communicator& world, int level) {
  const int64_t lo = cells[2] * world.rank() / world.size();
  const int64_t hi = cells[2] * (world.rank() + 1) / world.size();
  const model::Box box{{0, 0, lo}, {cells[0], cells[1], hi}};
  const auto size = static_cast<size_t>(box.volume());
  model::MeshBlocks mine;
  model::Block block{0, box, box.volume(), {}};
  const int64_t nx = cells[0], nxy = nx * cells[1];
  const auto give = [&](const char* name, double value, int32_t components) {
    mine.keep.push_back(std::make_shared<std::vector<double>>(components * size, value));
    const auto* data = static_cast<const std::vector<double>*>(mine.keep.back().get())->data();
    const int64_t c = components;
    block.arrays[name] = {
        data, model::ElementType::Float64, components, {c, c * nx, c * nxy, components > 1}};
  };
  give("n", 2e-11, 1);
  give("T", 1e4, 1);
  give("v", 77, 3);
  mine.blocks.push_back(block);
  stagehost::Publication out;
  out.coarsening = level;
  out.step = level;
  out.meshes["grid"] = model::coarsen(mine, catalogue().mesh("grid"), level, "");
  return out;
}

}  // namespace

TEST_CASE("lines of sight of a coarse publication") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const test::SharedFolder folder(world);
  Play play(world, catalogue(),
            "- lyman_alpha: {neutral_hydrogen: n, temperature: T, velocity: v, omega_m: 0.3, h: "
            "0.7, redshift: 3}\n",
            folder.path());
  for (const int level : {0, 1, 12}) play.run(publication(world, level));
  play.finish();
  if (world.rank() != 0) return;
  const auto table = [&](int level, char axis) {
    const auto step = std::to_string(1'000'000'000 + level).substr(1);
    return test::read_table(folder.path() + "/a/lyman_alpha_power_" + axis + "." + step + ".csv");
  };
  const double flux = table(0, 'x').attributes.at("mean_flux");
  CHECK((flux > 0.1 && flux < 0.9));
  // Cells left along each axis, and how long they are together.
  const std::map<int, std::array<int64_t, 3>> left = {{0, {8, 6, 5}}, {1, {4, 3, 3}}};
  const std::map<int, std::array<double, 3>> length = {{0, {8, 6, 5}}, {1, {8, 6, 6}}};
  for (const int level : {0, 1})
    for (size_t axis = 0; axis < 3; ++axis) {
      const auto found = table(level, "xyz"[axis]);
      const auto& n = left.at(level);
      CHECK(found.rows() == static_cast<size_t>(n[axis] / 2));
      CHECK(found.attributes.at("lines") == static_cast<double>(n[0] * n[1] * n[2] / n[axis]));
      CHECK(found.attributes.at("comoving_length") == doctest::Approx(length.at(level)[axis]));
      CHECK(found.attributes.at("mean_flux") == doctest::Approx(flux).epsilon(1e-12));
      CHECK(found.attributes.contains("coarsening") == (level > 0));
    }
  CHECK(table(1, 'y').attributes.at("coarsening") == 8);
  CHECK(table(12, 'z').attributes.at("lines") == 1);
}
