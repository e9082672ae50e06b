// SPDX-License-Identifier: BSD-3-Clause
// How often a value is copied between where the simulation shares it and where a stage reads it,
// for each way that it can take: the numbers that docs/architecture.md gives. MPI's own copies are
// not counted.
#include <doctest/doctest.h>

#include <numeric>

#include "base/copy.hpp"
#include "base/value.hpp"
#include "layout/division.hpp"
#include "redistribution/exchange.hpp"
#include "redistribution/publish.hpp"
#include "transport/network.hpp"
#include "transport/node.hpp"

using namespace pillion;
using namespace pillion::transport;
using base::CopyCounter;
using base::CopyKind;
using layout::Request;
using model::Box;
using Layout = layout::Kind;

namespace {

const Box cells{{0, 0, 0}, {12, 10, 8}};
constexpr int64_t particles = 1000;

/// Bytes copied on all ranks, by kind.
struct Copies {
  int64_t packed = 0, unpacked = 0, local = 0;
  friend bool operator==(const Copies&, const Copies&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Copies& c) {
    return out << "packed " << c.packed << ", unpacked " << c.unpacked << ", local " << c.local;
  }
};

Copies copies_of(const CopyCounter& counter) {
  const auto bytes = [&](CopyKind kind) { return static_cast<int64_t>(counter.bytes(kind)); };
  return {bytes(CopyKind::Pack), bytes(CopyKind::Unpack), bytes(CopyKind::Local)};
}

Copies sum(const comm::Communicator& ranks, const Copies& mine) {
  return {ranks.reduced(mine.packed, comm::Operation::Sum),
          ranks.reduced(mine.unpacked, comm::Operation::Sum),
          ranks.reduced(mine.local, comm::Operation::Sum)};
}

model::Catalogue catalogue() {
  model::Catalogue out;
  const auto root = base::parse_yaml(
      "meshes:\n"
      "  grid: {kind: uniform, cells: [12, 10, 8], length: [1, 1, 1]}\n"
      "  atoms: {kind: particles}\n"
      "fields:\n"
      "  density: {mesh: grid, type: float64}\n"
      "  id: {mesh: atoms, type: int64}\n"
      "  position: {mesh: atoms, type: float64, components: 3}\n",
      "catalogue", {});
  out.read(root.find("meshes"), root.find("fields"));
  return out;
}

/// The whole grid on one rank.
struct Grid {
  std::vector<double> values = std::vector<double>(static_cast<size_t>(cells.volume()));
  static constexpr int64_t bytes = 12 * 10 * 8 * sizeof(double);

  [[nodiscard]] Meshes meshes() const {
    Meshes out;
    out["grid"].blocks.push_back(
        {0,
         cells,
         cells.volume(),
         {{"density",
           {values.data(), model::ElementType::Float64, 1, model::packed_strides(cells, 1)}}}});
    return out;
  }
};

/// Particles in the middles of the cells of a lattice, far from all cuts.
struct Atoms {
  std::vector<int64_t> ids = std::vector<int64_t>(particles);
  std::vector<double> positions;
  static constexpr int64_t bytes = particles * static_cast<int64_t>(4 * sizeof(double));

  Atoms() {
    std::iota(ids.begin(), ids.end(), 0);
    for (int64_t i = 0; i < particles; ++i)
      for (const int64_t n : {i % 10, i / 10 % 10, i / 100})
        positions.push_back((static_cast<double>(n) + 0.47) / 10);
  }
  [[nodiscard]] Meshes meshes() const {
    Meshes out;
    auto& mesh = out["atoms"];
    mesh.kind = model::MeshKind::Particles;
    mesh.blocks.push_back(
        {0,
         {{0, 0, 0}, {particles, 1, 1}},
         particles,
         {{"id", {ids.data(), model::ElementType::Int64, 1, {1, 0, 0, 1}}},
          {"position", {positions.data(), model::ElementType::Float64, 3, {3, 0, 0, 1}}}}});
    return out;
  }
  static pillion_domain domain() {
    pillion_domain out{};
    for (size_t d = 0; d < 3; ++d) out.hi[d] = 1;
    return out;
  }
};

/// One publication from rank 0 to all others, each time new; what the last of them cost. The second
/// one takes the way that sidecars have found for whole blocks.
Copies publish(const comm::Communicator& world, const Meshes& meshes, const Routes& routes) {
  const auto all = catalogue();
  const auto side = world.split(world.rank() == 0 ? 0 : 1);
  std::map<std::string, pillion_domain> domains{{"atoms", Atoms::domain()}};
  std::vector<int> sidecars(static_cast<size_t>(world.size() - 1));
  std::iota(sidecars.begin(), sidecars.end(), 1);
  std::optional<NetworkSender> sender;
  std::optional<NetworkReceiver> receiver;
  if (world.rank() == 0) sender.emplace(world, sidecars, 0, size_t{1} << 22);
  else
    receiver.emplace(world, side, side.rank() == 0 ? std::vector<int>{0} : std::vector<int>{},
                     size_t{1} << 22);
  Copies copies;
  for (const int64_t sequence : {1, 2}) {
    const CopyCounter counter;
    PublicationHeader head;
    head.sequence = sequence;
    head.due = {{0, 0, 0, 0}};
    head.domains = domains;
    if (sender) {
      auto mine = meshes;
      const auto targets = sender->targets(due_set_of(head)).value();
      redistribution::SendPlan plan(
          mine, 0, {targets.sidecars, targets.primary, &all, &routes, targets.cuts, &domains});
      CHECK_FALSE(plan.is_scattered());
      head.targets = plan.receivers();
      head.schema_changed = true;
      plan.lay_out(true);
      CHECK_MESSAGE(copies_of(counter) == Copies{}, "the size is known before anything is copied");
      const Encoder encoder(head, mine);
      std::byte* to = sender->reserve(redistribution::aligned(encoder.size()) + plan.size());
      REQUIRE(to != nullptr);
      encoder.encode(to);
      plan.pack(to + redistribution::aligned(encoder.size()), sequence);
      sender->commit(sequence, encoder.size(), plan.parts());
      while (sender->behind() > 0) sender->poll();
    } else {
      const auto deliveries = receiver->next();
      std::map<int, PublicationHeader> heads;
      ReceivedMeshes received;
      for (const auto& delivery : *deliveries) {
        auto decoded = decode(delivery.data, delivery.size, delivery.keep);
        heads[delivery.source] = decoded.head;
        for (auto& [name, mesh] : decoded.meshes) received[name] = std::move(mesh);
      }
      head.schema_changed = true;
      receiver->direct()->receive(head, heads, routes, all, received);
      receiver->finish(sequence, {}, {});
    }
    copies = copies_of(counter);
  }
  return sum(world, copies);
}

}  // namespace

TEST_CASE("in place nothing is copied") {
  // What a lender finds is only pointed to, as are arrays of stages in the simulation.
  struct Everything final : Lender {
    [[nodiscard]] std::optional<Lent> find(const void*) const override { return Lent{0, 0, 0}; }
  };
  const Grid grid;
  const auto meshes = grid.meshes();
  const Everything lender;
  const CopyCounter counter;
  const Encoder encoder(PublicationHeader{}, meshes, &lender);
  const Buffer memory(encoder.size());
  encoder.encode(memory.data());
  const auto decoded = decode(memory.data(), encoder.size(), nullptr, [&](const Lent&, size_t) {
    return reinterpret_cast<const std::byte*>(grid.values.data());
  });
  CHECK(decoded.meshes.at("grid").blocks.at(0).arrays.at("density").data == grid.values.data());
  CHECK(copies_of(counter) == Copies{});
}

TEST_CASE("on a node a value is copied once") {
  const Grid grid;
  const auto meshes = grid.meshes();
  auto made = node::Segment::make({"copies", 1, 0, 1, 1}, {{0, size_t{1} << 16}}, {});
  made.take_channel(0);
  NodeSender sender(made, 0, true, nullptr);
  made.open_channel(0);
  const auto opened = std::make_shared<node::Segment>(
      node::Segment::open(made.address(), node::Segment::Role::Sidecar));
  NodeReceiver receiver({{opened, 0}}, node::primary, [] { return true; });
  REQUIRE(receiver.claim());
  const CopyCounter counter;
  PublicationHeader head;
  head.sequence = 1;
  const Encoder encoder(head, meshes);
  std::byte* to = sender.reserve(encoder.size());
  REQUIRE(to != nullptr);
  encoder.encode(to, sender.copy());
  sender.commit(1);
  const auto deliveries = receiver.next();
  REQUIRE(deliveries);
  receiver.begin();
  const auto& delivery = deliveries->front();
  const auto decoded = decode(delivery.data, delivery.size, delivery.keep);
  const auto* data = static_cast<const std::byte*>(
      decoded.meshes.at("grid").blocks.at(0).arrays.at("density").data);
  CHECK((data >= delivery.data && data < delivery.data + delivery.size));
  CHECK(copies_of(counter) == Copies{Grid::bytes, 0, 0});
  receiver.finish(1, {}, "");
}

TEST_CASE("over the network a value is packed once and unpacked at most once") {
  const comm::Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  const Grid grid;
  const Atoms atoms;
  // Whole blocks are read where they lie in the message.
  CHECK(publish(world, grid.meshes(), {{"grid", {.fields = {"density"}}}}) ==
        Copies{Grid::bytes, 0, 0});
  for (const auto kind : {Layout::Blocks, Layout::Slabs, Layout::Pencils}) {
    const Request request{.fields = {"density"}, .kind = kind};
    CHECK(publish(world, grid.meshes(), {{"grid", request}}) ==
          Copies{Grid::bytes, Grid::bytes, 0});
  }
  const Request by_key{.fields = {"position"}, .kind = Layout::ByKey, .key = "id"};
  CHECK(publish(world, atoms.meshes(), {{"atoms", by_key}}) ==
        Copies{Atoms::bytes, Atoms::bytes, 0});
  const Request spatial{
      .fields = {"position", "id"}, .kind = Layout::Spatial, .position = "position"};
  CHECK(publish(world, atoms.meshes(), {{"atoms", spatial}}) ==
        Copies{Atoms::bytes, Atoms::bytes, 0});
}

TEST_CASE("an exchange between layouts packs and unpacks what changes ranks, and copies the rest") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto all = catalogue();
  const Request slabs{.fields = {"density"}, .kind = Layout::Slabs};
  const auto divided = layout::wanted_of(slabs, all.mesh("grid"), world.size());
  std::vector<Box> here;
  for (const auto& place : divided.tiling.places_of(world.rank())) here.push_back(place.box);
  std::vector<int> owners(static_cast<size_t>(world.size()));
  std::iota(owners.begin(), owners.end(), 0);
  const Request pencils{.fields = {"density"}, .kind = Layout::Pencils, .axis = 2};
  redistribution::TransferMemory memory(redistribution::Neighbours(world), size_t{1} << 30);
  for (auto* way : {&memory, static_cast<redistribution::TransferMemory*>(nullptr)}) {
    redistribution::Redistribution exchange(
        world, here, layout::wanted_of(pencils, all.mesh("grid"), world.size()), owners, way);
    std::deque<std::vector<double>> memory;
    redistribution::FieldArrays field;
    for (const auto& box : exchange.here())
      field.from.push_back(
          layout::packed_at(reinterpret_cast<const std::byte*>(
                                memory.emplace_back(static_cast<size_t>(box.volume() + 1)).data()),
                            box, 1));
    for (const auto& box : exchange.boxes())
      field.to.push_back(
          layout::packed_at(reinterpret_cast<std::byte*>(
                                memory.emplace_back(static_cast<size_t>(box.volume() + 1)).data()),
                            box, 1));
    const CopyCounter counter;
    exchange.exchange({&field, 1});
    const auto bytes = static_cast<int64_t>(sizeof(double));
    CHECK(copies_of(counter) == Copies{exchange.cells_sent() * bytes,
                                       exchange.cells_received() * bytes,
                                       exchange.cells_kept() * bytes});
    const auto total = sum(world, copies_of(counter));
    CHECK(total.packed == total.unpacked);
    CHECK(total.packed + total.local == Grid::bytes);
  }
}
