// SPDX-License-Identifier: BSD-3-Clause
// How fast do particles get to the owners of their keys, and to the parts of the domain that they
// are in or near to? From dealing them out to arrays in order, against MPI_Alltoallv of the same
// bytes, which lie packed on both sides. A million particles with positions, velocities and keys,
// each rank's in a slab of the domain, cell by cell as simulations keep them. On 2 to 8 ranks.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "redistribution/exchange.hpp"
#include "timing.hpp"

namespace {

using namespace pillion;
using layout::Kind;
using layout::ParticleMoves;
using layout::Request;
using layout::Vector;

constexpr int repetitions = 15;
constexpr int64_t particles = 1000000;
constexpr double edge = 100;  // of the domain; there is about one particle in each unit of volume
constexpr pillion_domain domain = {{0, 0, 0}, {edge, edge, edge}, {0, 0, 0}, {1, 1, 1}, 0};

/// What this rank has.
struct Held {
  std::vector<double> positions, velocities;
  std::vector<int64_t> keys;
  model::MeshBlocks mine;

  explicit Held(const comm::Communicator& world) {
    const int64_t first = particles * world.rank() / world.size();
    const int64_t count = particles * (world.rank() + 1) / world.size() - first;
    std::mt19937 random(static_cast<unsigned>(world.rank()));
    put_positions(world, count, random);
    std::uniform_real_distribution<double> speed(-1, 1);
    velocities.resize(positions.size());
    for (auto& v : velocities) v = speed(random);
    keys.resize(static_cast<size_t>(count));
    std::iota(keys.begin(), keys.end(), first + 1);
    std::shuffle(keys.begin(), keys.end(), random);
    using enum model::ElementType;
    mine.blocks.push_back({0,
                           {{0, 0, 0}, {count, 1, 1}},
                           count,
                           {{"x", {positions.data(), Float64, 3, {3, 0, 0, 1}}},
                            {"v", {velocities.data(), Float64, 3, {3, 0, 0, 1}}},
                            {"id", {keys.data(), Int64, 1, {1, 0, 0, 1}}}}});
  }

  void put_positions(const comm::Communicator& world, int64_t count, std::mt19937& random) {
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<Vector> all(static_cast<size_t>(count));
    for (auto& x : all)
      x = {edge * (world.rank() + uniform(random)) / world.size(), edge * uniform(random),
           edge * uniform(random)};
    const auto cell_of = [](const Vector& x) {
      constexpr double side = 3;
      return std::array{static_cast<int>(x[2] / side), static_cast<int>(x[1] / side),
                        static_cast<int>(x[0] / side)};
    };
    std::sort(all.begin(), all.end(),
              [&](const Vector& a, const Vector& b) { return cell_of(a) < cell_of(b); });
    for (const auto& x : all) positions.insert(positions.end(), x.begin(), x.end());
  }
};

model::Catalogue catalogue() {
  const auto root = base::parse_yaml(
      "meshes: {atoms: {kind: particles}}\n"
      "fields:\n  id: {mesh: atoms, type: int64}\n"
      "  x: {mesh: atoms, type: float64, components: 3}\n"
      "  v: {mesh: atoms, type: float64, components: 3}\n",
      "bench", {});
  model::Catalogue out;
  out.read(root.find("meshes"), root.find("fields"));
  return out;
}

/// The bytes that all ranks exchange, in one piece on both sides.
struct Contiguous {
  std::vector<int> give, give_at, take, take_at;
  std::vector<std::byte> from, to;

  Contiguous(const comm::Communicator& world, const ParticleMoves& moves) {
    const auto n = static_cast<size_t>(world.size());
    for (int r = 0; r < world.size(); ++r) give.push_back(static_cast<int>(moves.size_for(r)));
    take.resize(n), give_at.resize(n), take_at.resize(n);
    MPI_Alltoall(give.data(), 1, MPI_INT, take.data(), 1, MPI_INT, world.handle());
    std::exclusive_scan(give.begin(), give.end(), give_at.begin(), 0);
    std::exclusive_scan(take.begin(), take.end(), take_at.begin(), 0);
    from.resize(static_cast<size_t>(give_at.back() + give.back()));
    to.resize(static_cast<size_t>(take_at.back() + take.back()));
  }
  void carry(MPI_Comm comm) {
    MPI_Alltoallv(from.data(), give.data(), give_at.data(), MPI_BYTE, to.data(), take.data(),
                  take_at.data(), MPI_BYTE, comm);
  }
};

/// The speed as a fraction of that of MPI_Alltoallv.
double measure(const comm::Communicator& world, const Held& held, const Request& request) {
  const auto fields = catalogue();
  const auto deal = [&] {
    return request.kind == Kind::ByKey
               ? ParticleMoves::by_key(held.mine, request, world.size())
               : ParticleMoves::spatial(held.mine, request, domain, world.size());
  };
  redistribution::ParticleExchange exchange;
  Contiguous contiguous(world, deal());
  std::vector<double> dealing, carrying, ours, theirs;
  for (int r = -1; r < repetitions; ++r) {  // once to warm up; in turns, to meet the same machine
    std::optional<ParticleMoves> moves;
    const double dealt = bench::seconds_of([&] { moves = deal(); });
    const double carried = bench::seconds_of([&] {
      exchange.plan(world, *moves);
      (void)exchange.exchange(request, fields);
    });
    const double alltoallv = bench::seconds_of([&] { contiguous.carry(world.handle()); });
    if (r < 0) continue;
    dealing.push_back(dealt), carrying.push_back(carried);
    ours.push_back(dealt + carried), theirs.push_back(alltoallv);
  }
  const double bytes =
      world.reduced(static_cast<double>(contiguous.from.size()), comm::Operation::Sum);
  if (world.rank() == 0)
    std::printf(
        "{\"bench\": \"redistribute_particles\", \"case\": \"%s\", \"ranks\": %d, "
        "\"bytes\": %.0f, \"seconds\": %.3g, \"dealing_seconds\": %.3g, "
        "\"carrying_seconds\": %.3g, \"alltoallv_seconds\": %.3g}\n",
        request.kind == Kind::ByKey ? "by key" : "spatial with halo", world.size(), bytes,
        bench::median(ours), bench::median(dealing), bench::median(carrying),
        bench::median(theirs));
  return bench::median(theirs) / bench::median(ours);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    const comm::Communicator world(MPI_COMM_WORLD);
    const Held held(world);
    const double by_key =
        measure(world, held, {.fields = {"x", "v"}, .kind = Kind::ByKey, .key = "id"});
    const double spatial =
        measure(world, held,
                {.fields = {"x", "v", "id"}, .kind = Kind::Spatial, .position = "x", .halo = 3});
    if (world.rank() == 0)
      std::printf(
          "bench redistribute_particles: ranks=%d alltoallv_share_by_key=%.2f "
          "alltoallv_share_spatial=%.2f\n",
          world.size(), by_key, spatial);
  }
  MPI_Finalize();
  return 0;
}
