// SPDX-License-Identifier: BSD-3-Clause
// Fields of a mesh that is shared in columns, coarse or whole, in divisions: values, plans and
// memory over several publications, and what happens when something is missing on one rank.
#include "stagehost/field_redistributor.hpp"

#include <doctest/doctest.h>

#include "comm/agreement.hpp"
#include "model/coarsen.hpp"

using namespace pillion;
using namespace pillion::stagehost;
using model::Box;

namespace {

constexpr int64_t nx = 14, ny = 9;

double heat(int64_t i, int64_t j, int round) {
  return static_cast<double>(1000 * round + 20 * i + j);
}
float wind(int64_t i, int64_t j, int component, int round) {
  return static_cast<float>(heat(i, j, round)) + 0.25f * static_cast<float>(component);
}

model::Catalogue catalogue() {
  const auto root = base::parse_yaml(
      "meshes: {plate: {kind: uniform, cells: [14, 9], length: [1, 1], periodic: true}}\n"
      "fields:\n  heat: {mesh: plate, type: float64}\n"
      "  wind: {mesh: plate, type: float32, components: 3}\n",
      "c", {});
  model::Catalogue out;
  out.read(root.find("meshes"), root.find("fields"));
  return out;
}

model::Block column(int32_t number, int64_t from, int64_t to, int round,
                    std::vector<std::shared_ptr<const void>>& keep) {
  const Box box{{from, 0, 0}, {to, ny, 1}};
  auto scalar = std::make_shared<std::vector<double>>();
  auto vector = std::make_shared<std::vector<float>>();
  for (int64_t j = 0; j < ny; ++j)
    for (int64_t i = from; i < to; ++i) scalar->push_back(heat(i, j, round));
  for (int c = 0; c < 3; ++c)  // components outside
    for (int64_t j = 0; j < ny; ++j)
      for (int64_t i = from; i < to; ++i) vector->push_back(wind(i, j, c, round));
  model::Block block{number, box, box.volume(), {}};
  block.arrays["heat"] = {scalar->data(), model::ElementType::Float64, 1,
                          model::packed_strides(box, 1)};
  block.arrays["wind"] = {
      vector->data(), model::ElementType::Float32, 3, {1, to - from, box.volume(), box.volume()}};
  keep.push_back(scalar);
  keep.push_back(vector);
  return block;
}

/// One rank's columns: those from `first` on belong to the ranks in turn.
model::MeshBlocks share(const comm::Communicator& world, int round, int64_t first = 0) {
  model::MeshBlocks out;
  const auto begin = [&](int64_t part) { return nx * part / (world.size() + 1); };
  for (int64_t part = 0; part <= world.size(); ++part)
    if ((part + first) % world.size() == world.rank())
      out.blocks.push_back(
          column(static_cast<int32_t>(part), begin(part), begin(part + 1), round, out.keep));
  return out;
}

struct Played {
  comm::Communicator world{MPI_COMM_WORLD};
  comm::Fence fence{world};
  model::Catalogue fields = catalogue();
  Plans plans;
  FieldRedistributor carriage;
  layout::Request request{
      .fields = {"wind", "heat"}, .kind = layout::Kind::Blocks, .ghosts = {2, 1, 5}};

  std::optional<Error> carry(const model::MeshBlocks& mine, int level = 0) {
    return carry(carriage, request, mine, level);
  }
  std::optional<Error> carry(FieldRedistributor& input, const layout::Request& wanted,
                             const model::MeshBlocks& mine, int level = 0) {
    ExecutionContext context;
    context.peers = &world;
    context.fence = &fence;
    context.catalogue = &fields;
    context.plans = &plans;
    return fence.run([&] { input.carry(wanted, mine, level, context); });
  }
};

/// Values of a block that are not what they must be, where each cell stands for the whole mesh's
/// at `factor` times its index.
int64_t wrong_values(const model::Block& block, int64_t factor, int round) {
  const int64_t cells[2] = {(nx + factor - 1) / factor, (ny + factor - 1) / factor};
  const auto scalar = block.arrays.find("heat"), vector = block.arrays.find("wind");
  int64_t wrong = 0, n = 0;
  for (int64_t j = block.box.lo[1]; j < block.box.hi[1]; ++j)
    for (int64_t i = block.box.lo[0]; i < block.box.hi[0]; ++i, ++n) {
      const int64_t x = factor * ((i + 10 * cells[0]) % cells[0]);
      const int64_t y = factor * ((j + 10 * cells[1]) % cells[1]);
      if (scalar != block.arrays.end())
        wrong += static_cast<const double*>(scalar->second.data)[n] != heat(x, y, round);
      for (int c = 0; vector != block.arrays.end() && c < 3; ++c)
        wrong += static_cast<const float*>(vector->second.data)[3 * n + c] != wind(x, y, c, round);
    }
  return wrong;
}

void check(const comm::Communicator& world, const FieldRedistributor& carriage, size_t fields,
           int64_t factor, int round) {
  const auto& blocks = carriage.blocks();
  REQUIRE(blocks.size() == carriage.inner().size());
  int64_t cells = 0;
  for (size_t b = 0; b < blocks.size(); ++b) {
    CHECK(blocks[b].arrays.size() == fields);
    CHECK(wrong_values(blocks[b], factor, round) == 0);
    CHECK(blocks[b].owned == carriage.inner()[b].volume());
    cells += blocks[b].owned;
  }
  const int64_t all = ((nx + factor - 1) / factor) * ((ny + factor - 1) / factor);
  CHECK(world.reduced(cells, comm::Operation::Sum) == all);
}

void check(const Played& played, int64_t factor, int round) {
  check(played.world, played.carriage, played.request.fields.size(), factor, round);
}

}  // namespace

TEST_CASE("a plan and its memory are kept while everybody's boxes stay") {
  Played played;
  const void* memory = nullptr;
  for (int round = 0; round < 4; ++round) {
    REQUIRE_FALSE(played.carry(share(played.world, round)));
    check(played, 1, round);
    CHECK(played.plans.made() == 1);
    if (played.carriage.blocks().empty()) continue;
    const void* now = played.carriage.blocks().front().arrays.at("heat").data;
    CHECK((memory == nullptr || memory == now));
    memory = now;
  }
  if (played.world.size() == 1) return;
  // Now the columns change hands.
  REQUIRE_FALSE(played.carry(share(played.world, 4, 1)));
  check(played, 1, 4);
  CHECK(played.plans.made() == 2);
  if (memory != nullptr) CHECK(played.carriage.blocks().front().arrays.at("heat").data == memory);
}

namespace {

/// As the others, but of a constant field `wind`, with these versions.
model::MeshBlocks share_constant(const comm::Communicator& world, int round, int64_t version,
                                 int64_t first = 0) {
  auto out = share(world, round, first);
  for (auto& block : out.blocks) block.arrays.at("wind").version = version;
  return out;
}

/// Winds that are not those of a round.
int64_t wrong_winds(const FieldRedistributor& carriage, int round) {
  int64_t wrong = 0;
  for (auto block : carriage.blocks()) {
    block.arrays.erase("heat");
    wrong += wrong_values(block, 1, round);
  }
  return wrong;
}

}  // namespace

TEST_CASE("constant fields stay where they are until a rank has others") {
  Played played;
  const auto root = base::parse_yaml(
      "fields: {wind: {mesh: plate, type: float32, components: 3, constant: true}}\n", "c", {});
  played.fields.read(nullptr, root.find("fields"));
  const auto carry = [&](const model::MeshBlocks& mine, int heats, int winds) {
    REQUIRE_FALSE(played.carry(mine));
    CHECK(wrong_winds(played.carriage, winds) == 0);
    for (auto block : played.carriage.blocks()) {
      block.arrays.erase("wind");
      CHECK(wrong_values(block, 1, heats) == 0);
    }
  };
  const auto& world = played.world;
  carry(share_constant(world, 0, 5), 0, 0);
  // Other values under the same version show that it does not move.
  carry(share_constant(world, 1, 5), 1, 0);
  carry(share_constant(world, 2, world.rank() == 0 ? 6 : 5), 2, 2);
  carry(share_constant(world, 3, world.rank() == 0 ? 6 : 5), 3, 2);
  // A coarse publication in between takes the memory, and has no versions.
  const auto coarse =
      model::coarsen(share_constant(world, 4, 6), played.fields.mesh("plate"), 2, "");
  REQUIRE_FALSE(played.carry(coarse, 2));
  check(played, model::coarsening_factor(played.fields.mesh("plate"), 2), 4);
  carry(share_constant(world, 5, world.rank() == 0 ? 6 : 5), 5, 5);
  if (world.size() > 1) carry(share_constant(world, 6, 6, 1), 6, 6);  // others have the columns
  carry(share(world, 7), 7, 7);
  carry(share(world, 8), 8, 8);
}

TEST_CASE("what changes on one rank alone is planned anew on all") {
  Played played;
  REQUIRE_FALSE(played.carry(share(played.world, 0)));
  auto mine = share(played.world, 1);
  if (played.world.rank() == 0) mine.blocks.push_back({77, {{3, 3, 0}, {3, 9, 1}}, 0, {}});
  if (played.world.rank() == 0)
    mine.blocks.back().arrays = mine.blocks.front().arrays;  // of no cell
  REQUIRE_FALSE(played.carry(mine));
  check(played, 1, 1);
  CHECK(played.plans.made() == 2);
}

TEST_CASE("coarse publications are divided as the coarse mesh, with a plan for each level") {
  Played played;
  const auto& mesh = played.fields.mesh("plate");
  int round = 0;
  for (const int level : {0, 2, 2, 4, 0, 2, 0, 4, 4, 0}) {
    const auto factor = model::coarsening_factor(mesh, level);
    const auto all = share(played.world, round);
    REQUIRE_FALSE(played.carry(model::coarsen(all, mesh, level, ""), level));
    check(played, factor, round++);
    // 9 cells are not divided by 2, so that the coarse plate is open there.
    if (factor > 1)
      for (const auto& block : played.carriage.blocks()) CHECK(block.box.lo[1] >= 0);
  }
  CHECK(played.plans.made() == 3);
}

TEST_CASE("inputs that ask for the same division share a plan, but no memory") {
  Played played;
  struct Input {
    layout::Request request;
    FieldRedistributor carriage{};
  };
  // Two in blocks with the same ghost cells, of different fields; then others.
  std::vector<Input> inputs(5);
  inputs[0].request = played.request;
  inputs[1].request = played.request;
  inputs[1].request.fields = {"heat"};
  inputs[2].request = {.fields = {"heat"}, .kind = layout::Kind::Blocks, .ghosts = {2, 2, 5}};
  inputs[3].request = {.fields = {"wind"}, .kind = layout::Kind::Slabs};
  inputs[4].request = {.fields = {"wind"}, .kind = layout::Kind::Slabs, .axis = 1};
  for (int round = 0; round < 3; ++round) {
    for (auto& [request, carriage] : inputs)
      REQUIRE_FALSE(played.carry(carriage, request, share(played.world, round)));
    for (const auto& [request, carriage] : inputs)
      check(played.world, carriage, request.fields.size(), 1, round);
    CHECK(played.plans.made() == 4);
  }
}

namespace {

bool is_within(const Box& part, const Box& box) {
  bool is = true;
  for (size_t d = 0; d < 3; ++d) is = is && part.lo[d] >= box.lo[d] && part.hi[d] <= box.hi[d];
  return is;
}

/// Values of a part that are not what they must be, wherever they lie.
int64_t wrong_in_part(const model::Block& part, int round) {
  const auto& heats = part.arrays.at("heat");
  const auto& winds = part.arrays.at("wind");
  int64_t wrong = 0;
  for (int64_t j = part.box.lo[1]; j < part.box.hi[1]; ++j)
    for (int64_t i = part.box.lo[0]; i < part.box.hi[0]; ++i) {
      const auto at = [&](const model::Array& array) {
        return (i - part.box.lo[0]) * array.strides[0] + (j - part.box.lo[1]) * array.strides[1];
      };
      wrong += static_cast<const double*>(heats.data)[at(heats)] != heat(i, j, round);
      for (int c = 0; c < 3; ++c)
        wrong += static_cast<const float*>(winds.data)[at(winds) + c * winds.strides[3]] !=
                 wind(i, j, c, round);
    }
  return wrong;
}

}  // namespace

TEST_CASE("boxes in parts leave what is here where it is") {
  Played played;
  played.request = {.fields = {"wind", "heat"},
                    .kind = layout::Kind::PowersOfTwo,
                    .sides = {2, 2, 0},
                    .in_parts = true};
  for (int round = 0; round < 3; ++round) {
    const auto mine = share(played.world, round, round == 2 ? 1 : 0);
    REQUIRE_FALSE(played.carry(mine));
    const auto& parts = played.carriage.blocks();
    REQUIRE(parts.size() == played.carriage.inner().size());
    int64_t cells = 0, in_place = 0;
    for (size_t p = 0; p < parts.size(); ++p) {
      CHECK(wrong_in_part(parts[p], round) == 0);
      CHECK(is_within(parts[p].box, played.carriage.inner()[p]));
      cells += parts[p].box.volume();
      for (const auto& block : mine.blocks) {
        const auto* first = static_cast<const double*>(block.arrays.at("heat").data);
        const auto* at = static_cast<const double*>(parts[p].arrays.at("heat").data);
        if (at >= first && at < first + block.box.volume()) in_place += parts[p].box.volume();
      }
    }
    CHECK(played.world.reduced(cells, comm::Operation::Sum) == nx * ny);
    // Every rank gets the boxes of which it has most.
    in_place = played.world.reduced(in_place, comm::Operation::Sum);
    CHECK(2 * in_place > nx * ny / played.world.size());
    if (played.world.size() == 1) CHECK(in_place == nx * ny);
  }
  CHECK(played.plans.made() == (played.world.size() == 1 ? 1 : 2));
}

TEST_CASE("boxes whose fields lie in different blocks come whole") {
  Played played;
  played.request = {.fields = {"wind", "heat"},
                    .kind = layout::Kind::PowersOfTwo,
                    .sides = {2, 2, 0},
                    .in_parts = true};
  auto mine = share(played.world, 0);
  auto others = share(played.world, 0, 1);
  for (auto& block : mine.blocks) block.arrays.erase("wind");
  for (auto& block : others.blocks) block.arrays.erase("heat");
  mine.blocks.insert(mine.blocks.end(), others.blocks.begin(), others.blocks.end());
  REQUIRE_FALSE(played.carry(mine));
  if (played.world.size() > 1) check(played, 1, 0);
}

TEST_CASE("plans for boxes that come back are kept, and what was not used for long goes") {
  Played played;
  // A plan fits the ranks whose boxes stay, but not all: all must use the same one.
  for (int round = 0; round < 4; ++round) {
    auto mine = share(played.world, round);
    if (played.world.rank() == 0 && round % 2 == 1)
      std::swap(mine.blocks.front(), mine.blocks.back());
    REQUIRE_FALSE(played.carry(mine));
    check(played, 1, round);
    CHECK(played.plans.made() == std::min(round + 1, 2));
  }
  const auto before = played.plans.made();
  for (int round = 0; round < 3; ++round)
    for (int64_t width = 0; width < 20; ++width) {
      played.request.ghosts = {width, 0, 0};
      REQUIRE_FALSE(played.carry(share(played.world, round)));
      check(played, 1, round);
      // Asked again at once, it is still there.
      const auto made = played.plans.made();
      REQUIRE_FALSE(played.carry(share(played.world, round + 1)));
      check(played, 1, round + 1);
      CHECK(played.plans.made() == made);
    }
  CHECK(played.plans.made() == before + 60);
}

TEST_CASE("cells that nobody shares are missed, and a field that is not there, by every rank") {
  Played played;
  // Not every rank needs what is missing, and none may wait for one that does.
  played.request = {.fields = {"heat"}, .kind = layout::Kind::Slabs};
  auto mine = share(played.world, 0);
  if (played.world.rank() == 0) mine.blocks.pop_back();
  auto failure = played.carry(mine);
  REQUIRE(failure.has_value());
  CHECK(std::string(failure->what()).find("must be shared by one rank") != std::string::npos);
  // Nobody has kept a plan that is of no use to one.
  REQUIRE_FALSE(played.carry(share(played.world, 1)));
  check(played, 1, 1);
  CHECK(played.plans.made() == 2);

  Played other;
  mine = share(other.world, 0);
  if (other.world.rank() == 0) mine.blocks.front().arrays.erase("heat");
  failure = other.carry(mine);
  REQUIRE(failure.has_value());
  CHECK(std::string(failure->what()).find("field 'heat' is shared on") != std::string::npos);
}

TEST_CASE("fields of one input may lie in different blocks, and each finds its plan") {
  Played played;
  const auto both = [&](int round) {
    auto mine = share(played.world, round);
    auto others = share(played.world, round, 1);
    for (auto& block : mine.blocks) block.arrays.erase("wind");
    for (auto& block : others.blocks) {
      block.id += 100;
      block.arrays.erase("heat");
      mine.blocks.push_back(std::move(block));
    }
    std::move(others.keep.begin(), others.keep.end(), std::back_inserter(mine.keep));
    return mine;
  };
  for (int round = 0; round < 4; ++round) {
    REQUIRE_FALSE(played.carry(both(round)));
    check(played, 1, round);
  }
  CHECK(played.plans.made() == (played.world.size() == 1 ? 1 : 2));
  // Together again: one of the plans does for both.
  REQUIRE_FALSE(played.carry(share(played.world, 9)));
  check(played, 1, 9);
  CHECK(played.plans.made() == (played.world.size() == 1 ? 1 : 2));
}
