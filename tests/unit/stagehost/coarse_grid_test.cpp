// SPDX-License-Identifier: BSD-3-Clause
// Stages on coarse publications of a uniform mesh: what they make of it is what a plain loop over
// the cells that remain makes, and it says that it is coarse.
#include <algorithm>
#include <cmath>

#include "played.hpp"
#include "stagehost/state.hpp"

using namespace pillion;
using test::Play;

namespace {

constexpr int64_t nx = 14, ny = 11;

double density(int64_t i, int64_t j, int64_t step) {
  return std::sin(static_cast<double>(7 * i + 3 * j * j + step)) + 0.1 * static_cast<double>(step);
}

double velocity(int64_t i, int64_t j, int64_t component) {
  return std::cos(static_cast<double>(i * (component + 2) - j));
}

model::Catalogue catalogue() {
  return test::catalogue_of(
      "meshes: {grid: {kind: uniform, cells: [14, 11], length: [1, 1]}}\n"
      "fields:\n  density: {mesh: grid, type: float64}\n"
      "  velocity: {mesh: grid, type: float64, components: 3}\n");
}

/// One rank's columns, and a block without cells.
model::MeshBlocks share(const comm::Communicator& world, int64_t step) {
  const int64_t lo = nx * world.rank() / world.size(), hi = nx * (world.rank() + 1) / world.size();
  model::MeshBlocks out;
  int32_t number = 0;
  for (const auto& [from, to] : {std::pair{lo, hi}, std::pair{hi, hi}}) {
    const model::Box box{{from, 0, 0}, {to, ny, 1}};
    auto rho = std::make_shared<std::vector<double>>(), v = std::make_shared<std::vector<double>>();
    for (int64_t i = from; i < to; ++i)  // the last axis fastest
      for (int64_t j = 0; j < ny; ++j) rho->push_back(density(i, j, step));
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t i = from; i < to; ++i)
        for (int64_t j = 0; j < ny; ++j) v->push_back(velocity(i, j, c));
    model::Block block{number++, box, box.volume(), {}};
    block.arrays["density"] = {rho->data(), model::ElementType::Float64, 1, {ny, 1, 0, 0}};
    block.arrays["velocity"] = {
        v->data(), model::ElementType::Float64, 3, {ny, 1, 0, box.volume()}};
    out.blocks.push_back(std::move(block));
    out.keep.push_back(rho);
    out.keep.push_back(v);
  }
  return out;
}

stagehost::Publication publication(const comm::Communicator& world, int64_t step, int level) {
  const auto all = catalogue();
  stagehost::Publication out;
  out.step = step;
  out.coarsening = level;
  out.meshes["grid"] = model::coarsen(share(world, step), all.mesh("grid"), level, "");
  return out;
}

/// All values of a field at the cells whose indices are multiples of `stride`.
template <class Value>
std::vector<double> values(int64_t stride, Value&& value) {
  std::vector<double> out;
  for (int64_t i = 0; i < nx; i += stride)
    for (int64_t j = 0; j < ny; j += stride) out.push_back(value(i, j));
  return out;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

const char* const stages =
    "- statistics: {fields: [density]}\n"
    "- magnitude: {field: velocity, into: speed}\n"
    "- statistics: {fields: [speed]}\n"
    "- histogram: {field: density, range: [-0.5, 0.5], bins: 2}\n";

struct Case {
  int level;
  int64_t stride;
};

}  // namespace

TEST_CASE("statistics and histograms are of the cells that remain, and say so") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const test::SharedFolder folder(world);
  const std::vector<Case> cases = {{0, 1}, {3, 4}, {1, 2}, {12, 64}};
  Play play(world, catalogue(), stages, folder.path());
  for (size_t step = 0; step < cases.size(); ++step)
    play.run(publication(world, static_cast<int64_t>(step), cases[step].level));
  play.finish();
  if (world.rank() != 0) return;

  const auto of_density = test::read_table(folder.path() + "/a/statistics_density.csv");
  const auto of_speed = test::read_table(folder.path() + "/a/statistics_speed.csv");
  REQUIRE(of_density.rows() == cases.size());
  for (size_t step = 0; step < cases.size(); ++step) {
    const auto stride = cases[step].stride;
    const auto rho = values(
        stride, [&](int64_t i, int64_t j) { return density(i, j, static_cast<int64_t>(step)); });
    const auto speed = values(stride, [&](int64_t i, int64_t j) {
      return std::hypot(velocity(i, j, 0), velocity(i, j, 1), velocity(i, j, 2));
    });
    CHECK(of_density["coarsening"][step] == static_cast<double>(stride * stride));
    CHECK(of_density["count"][step] == static_cast<double>(rho.size()));
    CHECK(of_density["min"][step] == *std::min_element(rho.begin(), rho.end()));
    CHECK(of_density["max"][step] == *std::max_element(rho.begin(), rho.end()));
    CHECK(of_density["mean"][step] == doctest::Approx(mean(rho)));
    CHECK(of_speed["count"][step] == static_cast<double>(speed.size()));
    CHECK(of_speed["mean"][step] == doctest::Approx(mean(speed)));

    const auto histogram = test::read_table(folder.path() + "/a/histogram_density.00000000" +
                                            std::to_string(step) + ".csv");
    const auto within = [&](double lo, double hi) {
      return static_cast<double>(
          std::count_if(rho.begin(), rho.end(), [&](double v) { return v >= lo && v < hi; }));
    };
    CHECK(histogram["count"] == std::vector<double>{within(-0.5, 0), within(0, 0.5)});
    CHECK(histogram.attributes.at("below") == within(-9, -0.5));
    CHECK(histogram.attributes.contains("coarsening") == (stride > 1));
    if (stride > 1)
      CHECK(histogram.attributes.at("coarsening") == static_cast<double>(stride * stride));
  }
}

TEST_CASE("tables of runs that were never coarse do not have the column") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const test::SharedFolder folder(world);
  Play play(world, catalogue(), stages, folder.path());
  play.run(publication(world, 0, 0));
  play.finish();
  if (world.rank() != 0) return;
  const auto table = test::read_table(folder.path() + "/a/statistics_density.csv");
  CHECK_FALSE(table.columns.contains("coarsening"));
  CHECK(table["count"] == std::vector<double>{static_cast<double>(nx * ny)});
}

TEST_CASE("what rows saw is remembered over a restart") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const test::SharedFolder folder(world), saved(world);
  {
    Play first(world, catalogue(), "- statistics: {fields: [density]}\n", folder.path());
    first.run(publication(world, 0, 2));
    const auto leaders = world.split(world.rank() == 0 ? 0 : -1);
    first.chain().save(saved.path() + "/state", {world, world, leaders}, 0, false);
    world.barrier();
  }
  Play second(world, catalogue(), "- statistics: {fields: [density]}\n", folder.path());
  second.chain().restore(saved.path() + "/state", world, 0);
  second.run(publication(world, 1, 0));
  second.finish();
  if (world.rank() != 0) return;
  const auto table = test::read_table(folder.path() + "/a/statistics_density.csv");
  CHECK(table["coarsening"] == std::vector<double>{4, 1});
}
