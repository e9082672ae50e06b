// SPDX-License-Identifier: BSD-3-Clause
// Subsamples against brute force: what must remain is said by a condition on global indices, tried
// on every cell, for random boxes in any arrangement and any decomposition.
#include "model/coarsen.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

using namespace pillion;
using namespace pillion::model;

namespace {

using Index = std::array<int64_t, 3>;
using Random = std::mt19937;

int64_t between(Random& random, int64_t lo, int64_t hi) {
  return std::uniform_int_distribution<int64_t>(lo, hi)(random);
}

/// What a value is known by: cell and component.
double value_of(const Index& cell, int32_t component) {
  return static_cast<double>(cell[0] + 1000 * cell[1] + 1000000 * cell[2]) + 0.25 * component;
}

template <class Visit>
void for_each_cell(const Box& box, Visit&& visit) {
  for (int64_t k = box.lo[2]; k < box.hi[2]; ++k)
    for (int64_t j = box.lo[1]; j < box.hi[1]; ++j)
      for (int64_t i = box.lo[0]; i < box.hi[0]; ++i) visit(Index{i, j, k});
}

int64_t place(const Box& box, const Index& cell, const std::array<int64_t, 4>& strides) {
  int64_t at = 0;
  for (int a = 0; a < 3; ++a) at += (cell[a] - box.lo[a]) * strides[a];
  return at;
}

/// Strides of an arrangement with the axes in any order, padding, and components first or last.
std::array<int64_t, 4> any_strides(Random& random, const Box& box, int32_t components) {
  std::array<int, 3> order{0, 1, 2};
  std::shuffle(order.begin(), order.end(), random);
  const bool together = between(random, 0, 1) == 1;
  std::array<int64_t, 4> strides{};
  int64_t step = 1;
  if (together) strides[3] = 1, step = components;
  for (const int a : order) {
    strides[a] = step;
    step *= box.extent(a) + between(random, 0, 2);
  }
  if (!together) strides[3] = step;
  return strides;
}

/// One rank's blocks of a mesh, with one field of each of several types.
struct Held {
  MeshBlocks blocks;

  template <class T>
  void add_field(Block& block, const std::string& name, ElementType type, int32_t components,
                 Random& random) {
    const auto strides = any_strides(random, block.box, components);
    // Nothing around the values may be read, so the memory ends where they do.
    int64_t size = 0;
    for_each_cell(block.box, [&](const Index& cell) {
      size = std::max(size, place(block.box, cell, strides) + (components - 1) * strides[3] + 1);
    });
    auto memory = std::make_shared<std::vector<T>>(static_cast<size_t>(size));
    for_each_cell(block.box, [&](const Index& cell) {
      for (int32_t c = 0; c < components; ++c)
        memory->at(static_cast<size_t>(place(block.box, cell, strides) + c * strides[3])) =
            static_cast<T>(value_of(cell, c));
    });
    block.arrays[name] = {memory->data(), type, components, strides};
    blocks.keep.push_back(std::move(memory));
  }

  void add(const Box& box, Random& random) {
    Block block{static_cast<int32_t>(blocks.blocks.size()), box, box.volume(), {}};
    add_field<double>(block, "density", ElementType::Float64, 1, random);
    add_field<double>(block, "velocity", ElementType::Float64, 3, random);
    add_field<int32_t>(block, "flag", ElementType::Int32, 1, random);
    blocks.blocks.push_back(std::move(block));
  }
};

/// Cuts a box into pieces at random places, empty ones among them.
std::vector<Box> pieces_of(const Box& box, int axes, int cuts, Random& random) {
  std::vector<Box> pieces = {box};
  for (int n = 0; n < cuts; ++n) {
    const auto which =
        static_cast<size_t>(between(random, 0, static_cast<int64_t>(pieces.size()) - 1));
    const auto axis = static_cast<size_t>(between(random, 0, axes - 1));
    Box low = pieces[which], high = low;
    low.hi[axis] = high.lo[axis] = between(random, low.lo[axis], low.hi[axis]);
    pieces[which] = low;
    pieces.push_back(high);
  }
  return pieces;
}

Mesh random_mesh(Random& random) {
  Mesh mesh;
  mesh.name = "grid";
  mesh.axes = static_cast<int>(between(random, 1, 3));
  for (int a = 0; a < mesh.axes; ++a) mesh.cells[a] = between(random, 1, mesh.axes == 1 ? 90 : 14);
  return mesh;
}

/// The least stride of a power of two that leaves at most 1 of 2^level cells of a large mesh.
int64_t stride_for(int axes, int level) {
  for (int64_t f = 1;; f *= 2)
    if (std::pow(static_cast<double>(f), axes) >= std::pow(2.0, level)) return f;
}

template <class T>
double read(const Block& block, const std::string& name, const Index& cell, int32_t component) {
  const Array& array = block.arrays.at(name);
  const auto at = place(block.box, cell, array.strides) + component * array.strides[3];
  return static_cast<double>(static_cast<const T*>(array.data)[at]);
}

/// Whether the cell of a coarse block holds what the cell that it stands for held.
bool holds(const Block& block, const Index& cell, const Index& fine) {
  bool right = read<double>(block, "density", cell, 0) == value_of(fine, 0) &&
               read<int32_t>(block, "flag", cell, 0) == value_of(fine, 0);
  for (int32_t c = 0; c < 3; ++c)
    right = right && read<double>(block, "velocity", cell, c) == value_of(fine, c);
  return right;
}

}  // namespace

TEST_CASE("a box keeps the cells whose index is a multiple of the stride, whoever owns them") {
  Random random(3);
  int64_t compared = 0, empty = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const Mesh mesh = random_mesh(random);
    const int level = static_cast<int>(between(random, 1, 5));
    const int64_t f = stride_for(mesh.axes, level);
    REQUIRE(coarsening_factor(mesh, level) == f);
    Held held;
    for (const auto& box : pieces_of({{0, 0, 0}, mesh.cells}, mesh.axes, trial % 7, random))
      held.add(box, random);
    const auto coarse = coarsen(held.blocks, mesh, level, "flag");
    REQUIRE(coarse.blocks.size() == held.blocks.blocks.size());

    std::map<Index, int> times;  // how often each coarse cell is there
    for (size_t b = 0; b < coarse.blocks.size(); ++b) {
      const Block& block = coarse.blocks[b];
      const Box& before = held.blocks.blocks[b].box;
      CHECK(block.id == held.blocks.blocks[b].id);
      CHECK(block.owned == block.box.volume());
      empty += block.box.volume() == 0 ? 1 : 0;
      for_each_cell(block.box, [&](const Index& cell) {
        Index fine = cell;
        bool inside = true;
        for (int a = 0; a < mesh.axes; ++a) {
          fine[a] *= f;
          inside = inside && fine[a] >= before.lo[a] && fine[a] < before.hi[a];
        }
        REQUIRE(inside);
        REQUIRE(holds(block, cell, fine));
        ++times[cell];
        ++compared;
      });
    }
    // The coarse whole, found by trying every cell.
    std::map<Index, int> expected;
    for_each_cell({{0, 0, 0}, mesh.cells}, [&](const Index& cell) {
      if (cell[0] % f == 0 && cell[1] % f == 0 && cell[2] % f == 0)
        expected[{cell[0] / f, cell[1] / f, cell[2] / f}] = 1;
    });
    CHECK(times == expected);
    const auto cells = coarse_mesh(mesh, level).cells;
    CHECK(static_cast<int64_t>(expected.size()) == cells[0] * cells[1] * cells[2]);
  }
  CHECK(compared > 5000);
  CHECK(empty > 100);
}

TEST_CASE("coarse boxes are views, and pack like any other") {
  Random random(4);
  Mesh mesh;
  mesh.cells = {11, 9, 7};
  Held held;
  held.add({{3, 2, 1}, {11, 9, 6}}, random);
  const auto coarse = coarsen(held.blocks, mesh, 3, "");
  CHECK(coarse.keep.size() == held.blocks.keep.size());
  const Block& block = coarse.blocks.at(0);
  CHECK(block.box == Box{{2, 1, 1}, {6, 5, 3}});
  std::vector<double> packed(static_cast<size_t>(3 * block.box.volume()));
  pack(block.arrays.at("velocity"), block.box, reinterpret_cast<std::byte*>(packed.data()));
  size_t at = 0;
  for_each_cell(block.box, [&](const Index& cell) {
    for (int32_t c = 0; c < 3; ++c)
      CHECK(packed[at++] == value_of({2 * cell[0], 2 * cell[1], 2 * cell[2]}, c));
  });
}

TEST_CASE("blocks without cells, and their absent memory, stay so") {
  Mesh mesh;
  mesh.axes = 2;
  mesh.cells = {8, 8, 1};
  MeshBlocks fine;
  fine.blocks.push_back({5, {{3, 8, 0}, {3, 8, 1}}, 0, {{"density", {}}}});
  fine.blocks.push_back({6, {{1, 0, 0}, {4, 8, 1}}, 24, {{"density", {&fine}}}});
  const auto coarse = coarsen(fine, mesh, 4, "");
  CHECK(coarse.blocks.at(0).box == Box{{1, 2, 0}, {1, 2, 1}});
  CHECK(coarse.blocks.at(0).arrays.at("density").data == nullptr);
  CHECK(coarse.blocks.at(1).box == Box{{1, 0, 0}, {1, 2, 1}});
  CHECK(coarse.blocks.at(1).owned == 0);
  CHECK(coarsen({}, mesh, 4, "").blocks.empty());
}

TEST_CASE("the coarse mesh has the values where they were") {
  Mesh mesh;
  mesh.axes = 2;
  mesh.cells = {12, 10, 1};
  mesh.origin = {-3, 5, 0};
  mesh.length = {6, 20, 1};
  mesh.periodic = {true, true, false};
  const auto coarse = coarse_mesh(mesh, 3);  // 4 along each axis
  CHECK(coarse.cells == Index{3, 3, 1});
  CHECK(coarse.length == std::array<double, 3>{6, 24, 1});
  CHECK(coarse.periodic == std::array<bool, 3>{true, false, false});
  for (int a = 0; a < 3; ++a) {
    const auto centre = [a](const Mesh& m, int64_t cell) {
      return m.origin[a] +
             m.length[a] / static_cast<double>(m.cells[a]) * (static_cast<double>(cell) + 0.5);
    };
    for (int64_t cell = 0; cell < coarse.cells[a]; ++cell)
      CHECK(centre(coarse, cell) == doctest::Approx(centre(mesh, 4 * cell)).epsilon(1e-14));
  }
  const auto same = coarse_mesh(mesh, 0);
  CHECK(same.origin == mesh.origin);
  CHECK(same.length == mesh.length);
  CHECK(same.periodic == mesh.periodic);
}

TEST_CASE("levels") {
  CHECK(level_for(0.3) == 0);
  CHECK(level_for(1) == 0);
  CHECK(level_for(1.01) == 1);
  CHECK(level_for(2) == 1);
  CHECK(level_for(2.0001) == 2);
  CHECK(level_for(4096) == 12);
  CHECK(level_for(1e30) == 12);
  CHECK(level_for(std::numeric_limits<double>::infinity()) == 12);
  CHECK(level_for(std::numeric_limits<double>::quiet_NaN()) == 0);
  Mesh grid;
  CHECK(coarsening_factor(grid, 0) == 1);
  CHECK(coarsening_factor(grid, 1) == 2);
  CHECK(coarsening_factor(grid, 4) == 4);
  Mesh atoms;
  atoms.kind = MeshKind::Particles;
  CHECK(coarsening_factor(atoms, 12) == 4096);
  CHECK_THROWS_AS(coarsening_factor(grid, -1), Error);
  CHECK_THROWS_AS(coarsening_factor(grid, 13), Error);
}
