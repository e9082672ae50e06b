// SPDX-License-Identifier: BSD-3-Clause
// Publications of random boxes go through the network transport, by whatever way each takes, and
// every value that a sidecar has is compared with what its cell must hold. All ranks draw the same
// random numbers; the first ones are the simulation, the others sidecars.
#include "redistribution/publish.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "../layout/random_boxes.hpp"
#include "base/value.hpp"
#include "layout/division.hpp"
#include "transport/network.hpp"

using namespace pillion;
using namespace pillion::transport;
using Layout = layout::Kind;
using layout::Request;
using model::Box;
using random_boxes::below;
using random_boxes::Random;

namespace {

using Cell = std::array<int64_t, 3>;

double value_of(const Cell& cell, int32_t component, int64_t step) {
  return static_cast<double>(((cell[2] * 100 + cell[1]) * 100 + cell[0]) * 10 + component) +
         0.5 * static_cast<double>(step);
}

/// What a set of analyses asks for, and what all ranks share when it is due.
struct Publication {
  int32_t due = 0;
  std::vector<std::vector<Box>> boxes{};  ///< by simulation rank
  int dropped = -1;                       ///< a simulation rank that has no room
  bool same = false;                      ///< as the last time that the same analysis was due
  int64_t epoch = 0;                      ///< grows with other boxes
};

struct Scenario {
  model::Catalogue catalogue;
  Box domain;
  std::vector<Request> requests{};  ///< by analysis; AsShared for whole blocks
  std::vector<Publication> publications{};
  bool is_constant = false;  ///< the velocity is: it has other values only with other boxes

  /// The step that values of the velocity are of.
  [[nodiscard]] int64_t step_of_velocity(const Publication& p, int64_t step) const {
    return is_constant ? 100 * p.epoch : step;
  }
};

Request some_division(Random& random) {
  Request request{.fields = {"density", "velocity"}};
  request.kind = std::array<Layout, 4>{Layout::Blocks, Layout::Slabs, Layout::Pencils,
                                       Layout::PowersOfTwo}[static_cast<size_t>(below(random, 4))];
  request.axis = static_cast<int>(below(random, 3));
  for (auto& side : request.sides) side = static_cast<int>(below(random, 3));
  for (auto& width : request.ghosts) width = below(random, 3);
  return request;
}

Scenario some_scenario(Random& random, int simulations) {
  Scenario scenario;
  scenario.is_constant = below(random, 2) == 0;
  scenario.domain = random_boxes::domain(random, 11);
  for (size_t d = 0; d < 3; ++d) {
    scenario.domain.hi[d] -= scenario.domain.lo[d];
    scenario.domain.lo[d] = 0;
  }
  const auto flag = [&] { return below(random, 2) == 0 ? "true" : "false"; };
  const auto& n = scenario.domain.hi;
  const auto text = fmt::format(
      "meshes: {{grid: {{kind: uniform, cells: [{}, {}, {}], length: [1, 1, 1], periodic: [{}, {}, "
      "{}]}}}}\nfields:\n  density: {{mesh: grid, type: float64}}\n"
      "  velocity: {{mesh: grid, type: float32, components: 3}}\n",
      n[0], n[1], n[2], flag(), flag(), flag());
  const auto root = base::parse_yaml(text, "catalogue", {});
  scenario.catalogue.read(root.find("meshes"), root.find("fields"));
  scenario.requests = {some_division(random), Request{.fields = {"density", "velocity"}},
                       some_division(random)};
  auto boxes = random_boxes::divide(scenario.domain, simulations, 9, random);
  std::map<int32_t, bool> is_known;
  int64_t epoch = 1;
  for (int p = 0; p < 14; ++p) {
    auto& next = scenario.publications.emplace_back();
    if (below(random, 4) == 0) {
      boxes = random_boxes::divide(scenario.domain, simulations, 9, random);
      is_known.clear();
      ++epoch;
    }
    next.epoch = epoch;
    next.boxes = boxes;
    next.due = static_cast<int32_t>(below(random, 3));
    next.same = is_known[next.due];
    if (below(random, 5) == 0) next.dropped = static_cast<int>(below(random, simulations));
    else is_known[next.due] = true;
  }
  return scenario;
}

template <class T>
T* element(const model::Array& array, const Box& box, const Cell& cell, int32_t c) {
  int64_t at = c * array.strides[3];
  for (size_t d = 0; d < 3; ++d) at += (cell[d] - box.lo[d]) * array.strides[d];
  return static_cast<T*>(const_cast<void*>(array.data)) + at;
}

/// A rank's blocks with values; the velocity's components lie apart, and in some blocks the two
/// fields are in blocks of their own.
struct Held {
  std::deque<std::vector<double>> density;
  std::deque<std::vector<float>> velocity;
  Meshes meshes;

  /// The velocity is of another step, and has a version if that is not 0.
  Held(const std::vector<Box>& boxes, int64_t step, int64_t step_of_velocity, int64_t version) {
    auto& blocks = meshes["grid"].blocks;
    int32_t number = 0;
    for (const auto& box : boxes) {
      const auto n = static_cast<size_t>(box.volume());
      auto& d = density.emplace_back(n);
      auto& v = velocity.emplace_back(3 * n);
      const model::Array scalar{d.data(), model::ElementType::Float64, 1,
                                model::packed_strides(box, 1)};
      model::Array vector{v.data(),
                          model::ElementType::Float32,
                          3,
                          {1, box.extent(0), box.extent(0) * box.extent(1), box.volume()}};
      vector.version = version;
      random_boxes::each_cell(box, [&](const Cell& cell) {
        *element<double>(scalar, box, cell, 0) = value_of(cell, 0, step);
        for (int32_t c = 0; c < 3; ++c)
          *element<float>(vector, box, cell, c) =
              static_cast<float>(value_of(cell, c, step_of_velocity));
      });
      if (number % 3 == 2) {
        blocks.push_back({number++, box, box.volume(), {{"density", scalar}}});
        blocks.push_back({number++, box, box.volume(), {{"velocity", vector}}});
      } else {
        blocks.push_back(
            {number++, box, box.volume(), {{"density", scalar}, {"velocity", vector}}});
      }
    }
  }
};

/// A publication as a simulation rank sends it.
void publish(NetworkSender& sender, SchemaCache& schemas, redistribution::SentByReceiver& sent,
             const Scenario& scenario, const Publication& p, int rank, int64_t sequence) {
  PublicationHeader head;
  head.sequence = head.step = sequence;
  head.due = {{p.due, 0, 0, 0}};
  Held held(p.boxes[static_cast<size_t>(rank)], sequence, scenario.step_of_velocity(p, sequence),
            scenario.is_constant ? p.epoch : 0);
  if (p.dropped == rank) {
    head.dropped = true;
    const Encoder encoder(head, {});
    encoder.encode(sender.reserve_head(encoder.size()));
    return sender.commit(sequence);
  }
  const Routes routes{{"grid", scenario.requests[static_cast<size_t>(p.due)]}};
  const std::map<std::string, pillion_domain> domains;
  const auto targets = sender.targets(due_set_of(head)).value();
  redistribution::SendPlan plan(held.meshes, 0,
                                {targets.sidecars, targets.primary, &scenario.catalogue, &routes,
                                 targets.cuts, &domains, &sent});
  head.targets = plan.receivers();
  head.box_keys = plan.keys();
  head.schema_changed = !schemas.has(due_set_of(head), plan.schema(), sequence);
  if (p.same && routes.at("grid").kind != Layout::AsShared) {
    if (scenario.is_constant) CHECK_FALSE(plan.bytes_of_fields().contains("velocity"));
    else CHECK_FALSE(head.schema_changed);
  }
  plan.lay_out(head.schema_changed);
  const Encoder encoder(head, held.meshes);
  std::byte* to = sender.reserve(redistribution::aligned(encoder.size()) + plan.size());
  REQUIRE(to != nullptr);
  encoder.encode(to);
  plan.pack(to + redistribution::aligned(encoder.size()), sequence);
  sender.commit(sequence, encoder.size(), plan.parts());
  schemas.keep(due_set_of(head), plan.schema(), sequence);
  plan.note_in(sent);
}

/// What sidecars know together of the heads, as SidecarSide finds out.
PublicationHeader agree(const comm::Communicator& side,
                        const std::map<int, PublicationHeader>& heads, const Publication& p,
                        int64_t sequence) {
  PublicationHeader agreed;
  agreed.sequence = sequence;
  agreed.due = {{p.due, 0, 0, 0}};
  int marks[2] = {0, 0};
  for (const auto& [rank, head] : heads) {
    REQUIRE(head.sequence == sequence);
    marks[0] |= head.schema_changed ? 1 : 0;
    marks[1] |= head.dropped ? 1 : 0;
  }
  side.reduce(marks, 2, comm::Operation::Max);
  agreed.schema_changed = marks[0] != 0;
  agreed.dropped = marks[1] != 0;
  return agreed;
}

int64_t wrong_values(const model::Block& block, const Box& domain, int64_t step,
                     int64_t step_of_velocity) {
  int64_t wrong = 0;
  random_boxes::each_cell(block.box, [&](const Cell& cell) {
    const Cell inside = random_boxes::wrapped(cell, domain);
    if (const auto at = block.arrays.find("density"); at != block.arrays.end())
      wrong += *element<double>(at->second, block.box, cell, 0) != value_of(inside, 0, step);
    if (const auto at = block.arrays.find("velocity"); at != block.arrays.end())
      for (int32_t c = 0; c < 3; ++c)
        wrong += *element<float>(at->second, block.box, cell, c) !=
                 static_cast<float>(value_of(inside, c, step_of_velocity));
  });
  return wrong;
}

/// That each cell of each field is in one block of one sidecar, with its value.
void check_blocks(const comm::Communicator& side, const ReceivedMeshes& received,
                  const Scenario& scenario, int64_t step, int64_t step_of_velocity) {
  int64_t cells[2] = {0, 0};
  if (const auto at = received.find("grid"); at != received.end())
    for (const auto& block : at->second.blocks) {
      CHECK(wrong_values(block, scenario.domain, step, step_of_velocity) == 0);
      cells[0] += block.arrays.contains("density") ? block.box.volume() : 0;
      cells[1] += block.arrays.contains("velocity") ? block.box.volume() : 0;
    }
  side.reduce(cells, 2, comm::Operation::Sum);
  CHECK(cells[0] == scenario.domain.volume());
  CHECK(cells[1] == scenario.domain.volume());
}

void check_arrived(const comm::Communicator& side, const ReceivedMeshes& received,
                   const Scenario& scenario, const Request& request, int64_t step,
                   int64_t step_of_velocity) {
  REQUIRE(received.contains("grid"));
  REQUIRE(received.at("grid").in_layout.has_value());
  const auto& arrived = *received.at("grid").in_layout;
  const auto wanted = layout::wanted_of(request, scenario.catalogue.mesh("grid"), side.size());
  size_t b = 0;
  for (const auto& place : wanted.tiling.places_of(side.rank())) {
    if (place.box.volume() == 0) continue;
    REQUIRE(b < arrived.blocks.size());
    CHECK(arrived.inner[b] == place.box);
    CHECK(arrived.blocks[b].box == wanted.grown(place.box));
    CHECK(arrived.blocks[b].arrays.size() == 2);
    CHECK(wrong_values(arrived.blocks[b++], scenario.domain, step, step_of_velocity) == 0);
  }
  CHECK(b == arrived.blocks.size());
  for (const auto& field : request.fields)
    if (arrived.cells > 0) CHECK(arrived.came.at(field) == arrived.cells);
}

/// That no sidecar has more than its share and the largest block.
void check_balance(const comm::Communicator& side, const ReceivedMeshes& received) {
  int64_t mine = 0, largest = 0;
  if (const auto at = received.find("grid"); at != received.end())
    for (const auto& block : at->second.blocks) {
      int64_t bytes = 0;
      for (const auto& [name, array] : block.arrays)
        bytes += block.box.volume() * (name == "density" ? 8 : 12);
      mine += bytes;
      largest = std::max(largest, 2 * bytes);  // two may have one middle
    }
  const int64_t total = side.reduced(mine, comm::Operation::Sum);
  CHECK(mine <= total / side.size() + side.reduced(largest, comm::Operation::Max) + side.size());
}

/// Whether sidecars have had the chance to balance these boxes: they were sent before, and all of
/// that was finished before this was sent.
bool is_balanced(const Scenario& scenario, size_t p) {
  const auto& now = scenario.publications[p];
  return std::any_of(
      scenario.publications.begin(), scenario.publications.begin() + static_cast<std::ptrdiff_t>(p),
      [&](const Publication& before) {
        return before.dropped < 0 && before.due == now.due && before.boxes == now.boxes;
      });
}

/// The sidecar to which a simulation rank sends its heads.
int sidecar_of(int rank, int simulations, int sidecars) { return rank * sidecars / simulations; }

/// What a rank knows in the end.
struct Known {
  MeshCuts cuts{};     ///< a simulation rank, of whole blocks
  size_t senders = 0;  ///< a sidecar, of messages that do not come with headers
};

/// The simulation may be so many publications ahead of the sidecars.
Known play(const Scenario& scenario, const comm::Communicator& world, int simulations,
           int64_t ahead) {
  const bool is_sidecar = world.rank() >= simulations;
  const auto side = world.split(is_sidecar ? 1 : 0);
  const int sidecars = world.size() - simulations;
  std::vector<int> ranks(static_cast<size_t>(sidecars));
  std::iota(ranks.begin(), ranks.end(), simulations);
  const auto count = static_cast<int64_t>(scenario.publications.size());
  if (!is_sidecar) {
    NetworkSender sender(world, ranks, sidecar_of(side.rank(), simulations, sidecars), 1 << 20);
    SchemaCache schemas;
    redistribution::SentByReceiver sent;
    for (int64_t p = 0; p < count; ++p) {
      publish(sender, schemas, sent, scenario, scenario.publications[static_cast<size_t>(p)],
              side.rank(), p + 1);
      while (sender.behind() > ahead) sender.poll();
    }
    while (sender.behind() > 0) sender.poll();
    CHECK(sender.in_flight() == 0);
    return {.cuts = *sender.targets({0, 1})->cuts};
  }
  std::vector<int> sources;
  for (int r = 0; r < simulations; ++r)
    if (sidecar_of(r, simulations, sidecars) == side.rank()) sources.push_back(r);
  NetworkReceiver receiver(world, side, sources, 1 << 20);
  for (int64_t p = 0; p < count; ++p) {
    const auto& publication = scenario.publications[static_cast<size_t>(p)];
    const Routes routes{{"grid", scenario.requests[static_cast<size_t>(publication.due)]}};
    const auto deliveries = receiver.next();
    ReceivedMeshes received;
    std::map<int, PublicationHeader> heads;
    for (const auto& delivery : *deliveries) {
      auto decoded = decode(delivery.data, delivery.size, delivery.keep);
      heads[delivery.source] = decoded.head;
      for (auto& [name, mesh] : decoded.meshes)
        std::move(mesh.blocks.begin(), mesh.blocks.end(),
                  std::back_inserter(received[name].blocks));
    }
    const auto agreed = agree(side, heads, publication, p + 1);
    CHECK(agreed.dropped == (publication.dropped >= 0));
    receiver.direct()->receive(agreed, heads, routes, scenario.catalogue, received);
    receiver.look();
    if (!agreed.dropped) {
      const auto& request = routes.at("grid");
      const int64_t of_velocity = scenario.step_of_velocity(publication, p + 1);
      check_blocks(side, received, scenario, p + 1, of_velocity);
      if (request.kind != Layout::AsShared)
        check_arrived(side, received, scenario, request, p + 1, of_velocity);
      else if (ahead == 0 && is_balanced(scenario, static_cast<size_t>(p)))
        check_balance(side, received);
    }
    receiver.finish(p + 1, {}, {});
  }
  return {.senders = receiver.direct()->senders()};
}

}  // namespace

TEST_CASE("every cell gets where it is wanted, whatever changes on the way") {
  const comm::Communicator world(MPI_COMM_WORLD);
  Random random(91);
  for (int round = 0; round < 60 && world.size() > 1; ++round) {
    const int simulations = 1 + static_cast<int>(below(random, world.size() - 1));
    const auto scenario = some_scenario(random, simulations);
    CAPTURE(round);
    (void)play(scenario, world, simulations, round % 3);
  }
}

// Two simulation ranks have half of a mesh each, and exchange their halves in the third publication
// of five. With four sidecars each half is in two pieces, which are between two of three cuts.
TEST_CASE("a simulation rank is sent the cuts around its own boxes, and no others") {
  const comm::Communicator world(MPI_COMM_WORLD);
  if (world.size() != 6) return;
  Random random(5);
  auto scenario = some_scenario(random, 2);
  scenario.is_constant = false;
  const auto text = std::string("meshes: {grid: {kind: uniform, cells: [16, 16, 16], ") +
                    "length: [1, 1, 1]}}\nfields:\n  density: {mesh: grid, type: float64}\n" +
                    "  velocity: {mesh: grid, type: float32, components: 3}\n";
  const auto root = base::parse_yaml(text, "catalogue", {});
  scenario.catalogue = {};
  scenario.catalogue.read(root.find("meshes"), root.find("fields"));
  scenario.domain = {{0, 0, 0}, {16, 16, 16}};
  std::vector<std::vector<Box>> halves(2);
  for (int64_t z = 0; z < 16; z += 4)
    for (int64_t y = 0; y < 16; y += 4)
      for (int64_t x = 0; x < 16; x += 4)
        halves[z < 8 ? 0 : 1].push_back({{x, y, z}, {x + 4, y + 4, z + 4}});
  scenario.publications.clear();
  for (int p = 0; p < 5; ++p) {
    if (p == 2) std::swap(halves[0], halves[1]);
    scenario.publications.push_back({.due = 1, .boxes = halves});
  }
  const auto in_the_end = play(scenario, world, 2, 0);
  // Each simulation rank sends to two sidecars, and its headers go to another.
  if (world.rank() >= 2) {
    CHECK(in_the_end.senders == 1);
    return;
  }
  // In the end rank 1 has the first half of the curve.
  const auto& known = in_the_end.cuts.at("grid");
  REQUIRE(known.size() == 2);
  CHECK(known[0].number == (world.rank() == 1 ? 1 : 2));
  CHECK(known[1].number == (world.rank() == 1 ? 2 : 3));
}

TEST_CASE("cells that nobody shares are missed, and those that are there are right") {
  const comm::Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  Random random(17);
  auto scenario = some_scenario(random, 1);
  scenario.is_constant = false;
  scenario.publications.resize(1);
  auto& only = scenario.publications.front();
  only = {};
  const Box half{{0, 0, 0},
                 {(scenario.domain.hi[0] + 1) / 2, scenario.domain.hi[1], scenario.domain.hi[2]}};
  Held held({half}, 3, 3, 0);
  const auto side = world.split(world.rank() == 0 ? 0 : 1);
  const Request request{
      .fields = {"density", "velocity"}, .kind = Layout::Blocks, .ghosts = {1, 1, 1}};
  const Routes routes{{"grid", request}};
  std::vector<int> ranks(static_cast<size_t>(world.size() - 1));
  std::iota(ranks.begin(), ranks.end(), 1);
  scenario.requests[0] = request;
  only.boxes = {{half}};
  if (world.rank() == 0) {
    NetworkSender sender(world, ranks, 0, 1 << 20);
    SchemaCache schemas;
    redistribution::SentByReceiver sent;
    publish(sender, schemas, sent, scenario, only, 0, 3);
    while (sender.behind() > 0) sender.poll();
    return;
  }
  NetworkReceiver receiver(world, side, side.rank() == 0 ? std::vector<int>{0} : std::vector<int>{},
                           1 << 20);
  std::map<int, PublicationHeader> heads;
  const auto deliveries = receiver.next();
  for (const auto& delivery : *deliveries) heads[0] = decode_head(delivery.data, delivery.size);
  ReceivedMeshes received;
  receiver.direct()->receive(agree(side, heads, only, 3), heads, routes, scenario.catalogue,
                             received);
  const auto& arrived = *received.at("grid").in_layout;
  const auto came = arrived.came.find("density");
  int64_t missing = arrived.cells - (came == arrived.came.end() ? 0 : came->second);
  int64_t shared = 0;
  for (const auto& block : received["grid"].blocks) {
    CHECK(wrong_values(block, scenario.domain, 3, 3) == 0);
    shared += block.box.volume();
  }
  CHECK(side.reduced(missing, comm::Operation::Sum) > 0);
  CHECK(side.reduced(shared, comm::Operation::Sum) == half.volume());
  receiver.finish(3, {}, {});
}
