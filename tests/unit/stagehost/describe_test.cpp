// SPDX-License-Identifier: BSD-3-Clause
// Blocks, arrays and meshes as plug-ins see them: counts and ids over all peers, strides in bytes,
// and a mesh as it is in the publication.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "comm/agreement.hpp"
#include "model/topology.hpp"
#include "stagehost/plugin.hpp"
#include "stagehost/work.hpp"

using namespace pillion;
using namespace pillion::stagehost;

namespace {

constexpr int64_t nx = 12, ny = 5;

model::Catalogue catalogue() {
  const auto root = base::parse_yaml(
      "meshes:\n"
      "  grid: {kind: uniform, cells: [12, 5], length: [6, 5], origin: [1, 0], periodic: [true, "
      "false]}\n"
      "  atoms: {kind: particles}\n"
      "  box: {kind: spectral, order: 2}\n"
      "  rock: {kind: unstructured, dimensions: 2}\n"
      "fields:\n  heat: {mesh: grid, type: float32, components: 2}\n"
      "  x: {mesh: atoms, type: float64, components: 3}\n"
      "  u: {mesh: box, type: float64}\n"
      "  s: {mesh: rock, type: float64}\n",
      "c", {});
  model::Catalogue out;
  out.read(root.find("meshes"), root.find("fields"));
  return out;
}

/// A rank's columns of the grid, in two blocks.
model::MeshBlocks columns(const comm::Communicator& world, const std::vector<float>& memory) {
  const int64_t lo = nx * world.rank() / world.size(), hi = nx * (world.rank() + 1) / world.size();
  model::MeshBlocks out;
  int32_t number = 0;
  for (const auto& [from, to] : {std::pair{lo, (lo + hi) / 2}, std::pair{(lo + hi) / 2, hi}}) {
    const model::Box box{{from, 0, 0}, {to, ny, 1}};
    out.blocks.push_back({.id = model::block_id(world.rank(), number++),
                          .box = box,
                          .owned = box.volume(),
                          .arrays = {{"heat",
                                      {memory.data(), model::ElementType::Float32, 2,
                                       model::packed_strides(box, 2)}}}});
  }
  return out;
}

/// One triangle, as a block with this number.
struct Triangle {
  std::vector<double> places = {0, 0, 0, 1, 0, 0, 0, 1, 0}, values = {2};
  base::Bytes cells;

  Triangle() {
    const std::vector<int32_t> points = {0, 1, 2};
    pillion_cells shared{};
    shared.size = sizeof shared;
    shared.count = 1;
    shared.type = 5;
    shared.index_type = PILLION_INT32;
    shared.points = points.data();
    cells = model::to_bytes(shared, {});
  }
  [[nodiscard]] model::Block block(int rank, int32_t number, int64_t version) const {
    const auto array = [&](const void* data, model::ElementType type, int32_t components,
                           int64_t count) {
      const model::Box box{{0, 0, 0}, {count, 1, 1}};
      model::Array out{data, type, components, model::packed_strides(box, components)};
      out.extents = {count, 1, 1};
      out.has_extents = true;
      out.version = version;
      return out;
    };
    using model::ElementType;
    return {.id = model::block_id(rank, number),
            .box = {{0, 0, 0}, {1, 1, 1}},
            .owned = 1,
            .arrays = {
                {"s", array(values.data(), ElementType::Float64, 1, 1)},
                {model::coordinates_of("rock"), array(places.data(), ElementType::Float64, 3, 3)},
                {model::point_ids_of("rock"), array(nullptr, ElementType::Int64, 1, 0)},
                {model::topology_of("rock"),
                 array(cells.data(), ElementType::Uint8, 1, static_cast<int64_t>(cells.size()))}}};
  }
};

struct Stage {
  comm::Communicator world{MPI_COMM_WORLD};
  comm::Fence fence{world};
  model::Catalogue fields = catalogue();
  Plans plans;
  Movers movers;
  ExecutionContext context;
  Stage() {
    context.peers = &world;
    context.fence = &fence;
    context.catalogue = &fields;
    context.plans = &plans;
  }
  Input bring(const layout::Request& request, const Publication& publication) {
    return stagehost::bring(request, publication, context, movers);
  }
  /// Over all peers.
  int64_t sum(int64_t value) { return world.reduced(value, comm::Operation::Sum); }
  /// How many different ids there are among all peers' blocks.
  size_t different_ids(const Input& input) {
    base::ByteWriter out;
    for (const auto& block : input.blocks) out.put(block.id);
    std::set<int64_t> ids;
    for (const auto& bytes : world.gather(out.take(), 0))
      for (base::ByteReader in(bytes); !in.done();) ids.insert(in.get<int64_t>());
    return static_cast<size_t>(
        world.reduced(static_cast<int64_t>(ids.size()), comm::Operation::Max));
  }
};

}  // namespace

TEST_CASE("blocks have ids of their own, sizes, counts, and strides in bytes") {
  Stage stage;
  const std::vector<float> memory(2 * nx * ny);
  Publication publication;
  publication.meshes["grid"] = columns(stage.world, memory);
  for (const auto kind : {layout::Kind::AsShared, layout::Kind::Slabs}) {
    layout::Request request{.fields = {"heat"}, .kind = kind};
    if (kind == layout::Kind::Slabs) request.axis = 0, request.ghosts = {1, 1, 0};
    const Input input = stage.bring(request, publication);
    int64_t cells = 0, points = 0;
    for (const auto& block : input.blocks) {
      CHECK(block.size == sizeof(pillion_block));
      const pillion_array& array = *block.arrays[0];
      CHECK(array.size == sizeof(pillion_array));
      CHECK(array.strides[3] == 4);
      CHECK(array.strides[0] == 8);
      CHECK(array.strides[1] == 8 * (block.allocated.hi[0] - block.allocated.lo[0]));
      CHECK(array.centering == PILLION_CELL);
      CHECK(array.memory_space == PILLION_MEMORY_HOST);
      CHECK(block.level == 0);
      CHECK(block.flags == nullptr);
      CHECK(block.cells.total == (block.allocated.hi[0] - block.allocated.lo[0]) *
                                     (block.allocated.hi[1] - block.allocated.lo[1]));
      cells += block.cells.owned;
      points += block.points.owned;
    }
    CHECK(stage.sum(cells) == nx * ny);
    // A point belongs to the block of the cell above it, and those of the upper face to the last.
    CHECK(stage.sum(points) == nx * (ny + 1));
    CHECK(static_cast<int64_t>(stage.different_ids(input)) ==
          stage.sum(static_cast<int64_t>(input.blocks.size())));
  }
}

TEST_CASE("cells of blocks that come and go leave no versions behind") {
  Stage stage;
  const Triangle triangle;
  for (int32_t step = 0; step < 5; ++step) {
    Publication publication;
    for (const int32_t number : {2 * step, 2 * step + 1})
      publication.meshes["rock"].blocks.push_back(
          triangle.block(stage.world.rank(), number, step + 1));
    const Input input = stage.bring({.fields = {"s"}, .kind = layout::Kind::AsShared}, publication);
    REQUIRE(input.blocks.size() == 2);
    CHECK(input.blocks[1].topology_version == step + 1);
    CHECK(input.blocks[1].connectivity->types[0] == 5);
    CHECK(stage.movers.checked.size() == 2);
  }
}

TEST_CASE("a mesh is described as it is in the publication") {
  Stage stage;
  Publication publication;
  pillion_setup setup;
  pillion_work work{&setup, &publication, &stage.context, {}};
  const auto& host = host_table();
  const pillion_mesh* grid = host.mesh(&work, "grid");
  REQUIRE(grid != nullptr);
  CHECK(grid->size == sizeof(pillion_mesh));
  CHECK(grid->kind == PILLION_UNIFORM);
  CHECK(grid->axes == 2);
  CHECK(grid->cells[0] == nx);
  CHECK(grid->origin[0] == 1);
  CHECK(grid->end[0] == 7);
  CHECK(grid->periodic[0] == 1);
  CHECK(grid->coarsening == 1);
  CHECK(grid->levels == 1);
  CHECK(grid->metric == PILLION_CARTESIAN);
  CHECK(host.mesh(&work, "grid") == grid);
  CHECK(host.mesh(&work, "box")->order == 2);
  CHECK(host.mesh(&work, "atoms")->has_domain == 0);
  CHECK(host.mesh(&work, "gird") == nullptr);
  CHECK(std::string(base::last_error()) == "a stage asked for mesh 'gird', and there is none");

  publication.coarsening = 2;
  publication.domains["atoms"] = {{-1, 0, 0}, {0.1, 2, 3}, {0.5, 0, 0}, {1, 1, 0}, 2};
  pillion_work coarse{&setup, &publication, &stage.context, {}};
  grid = host.mesh(&coarse, "grid");
  CHECK(grid->coarsening == 2);
  CHECK(grid->cells[0] == 6);
  CHECK(grid->cells[1] == 3);
  const pillion_mesh* atoms = host.mesh(&coarse, "atoms");
  CHECK(atoms->has_domain == 1);
  CHECK(atoms->coarsening == 4);
  CHECK(atoms->axes == 2);
  CHECK(atoms->end[0] == 0.1);
  CHECK(atoms->tilt[0] == 0.5);
  CHECK(atoms->periodic[1] == 1);
}
