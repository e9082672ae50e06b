// SPDX-License-Identifier: BSD-3-Clause
// Particles are exchanged between ranks, again and again in the same memory; every rank draws the
// same random numbers, so that each can tell by itself what it must get.
#include "../layout/random_particles.hpp"
#include "redistribution/exchange.hpp"

using namespace pillion;
using namespace pillion::redistribution;
using namespace random_particles;
using layout::Kind;
using layout::ParticleMoves;

namespace {

struct Scene {
  Shape shape;
  std::vector<Particle> all;
  Request request;
  std::vector<Held> held;

  Scene(Kind kind, int64_t most, int ranks, Random& random)
      : shape(some_shape(random)),
        all(some_particles(shape, below(random, most), random)),
        request(some_request(kind, shape, random)),
        held(share_out(all, ranks, random)) {}

  [[nodiscard]] ParticleMoves moves(const comm::Communicator& world) const {
    const auto& mine = held[static_cast<size_t>(world.rank())].blocks;
    return request.kind == Kind::ByKey
               ? ParticleMoves::by_key(mine, request, world.size())
               : ParticleMoves::spatial(mine, request, shape.domain, world.size());
  }
  void check(const comm::Communicator& world, const model::MeshBlocks& out) const {
    if (request.kind == Kind::ByKey) check_by_key(all, request, world.rank(), world.size(), out);
    else check_spatial(all, shape, request, world.rank(), world.size(), out);
  }
};

/// Everything that a block holds.
std::vector<std::byte> contents(const model::MeshBlocks& out) {
  std::vector<std::byte> bytes;
  const auto& block = out.blocks.at(0);
  for (const auto& [name, array] : block.arrays) {
    const auto size =
        static_cast<size_t>(block.box.volume() * array.components) * model::size_of(array.type);
    const auto* data = static_cast<const std::byte*>(array.data);
    bytes.insert(bytes.end(), data, data + size);
  }
  return bytes;
}

}  // namespace

TEST_CASE("particles arrive where they belong, however often the same memory is used") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto fields = catalogue();
  Random random(17);
  ParticleExchange exchange;
  for (int round = 0; round < 60; ++round) {
    const Scene scene(round % 2 == 0 ? Kind::ByKey : Kind::Spatial, round % 5 == 0 ? 4 : 300,
                      world.size(), random);
    const auto moves = scene.moves(world);
    std::vector<std::byte> first;
    for (int again = 0; again < 3; ++again) {
      exchange.plan(world, moves);
      const auto out = exchange.exchange(scene.request, fields);
      scene.check(world, out);
      if (again == 0) first = contents(out);
      CHECK(contents(out) == first);
    }
    const auto sum = [&](size_t n) {
      return world.reduced(static_cast<int64_t>(n), comm::Operation::Sum);
    };
    CHECK(sum(exchange.bytes_sent()) == sum(exchange.bytes_received()));
    const auto& to = moves.ranks();
    const bool own = std::binary_search(to.begin(), to.end(), world.rank());
    CHECK(exchange.messages_sent() == to.size() - (own ? 1 : 0));
  }
}

TEST_CASE("exchanges of several inputs and communicators do not meet each other") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto half = world.split(world.rank() % 2);
  const auto fields = catalogue();
  std::vector<ParticleExchange> exchanges(3);
  for (int round = 0; round < 20; ++round)
    for (size_t e = 0; e < exchanges.size(); ++e) {
      const auto& ranks = e == 2 && round >= 10 ? half : world;
      Random random(static_cast<unsigned>(100 * round) + static_cast<unsigned>(e));
      const Scene scene(e == 0 ? Kind::ByKey : Kind::Spatial, 200, ranks.size(), random);
      const auto moves = scene.moves(ranks);
      exchanges[e].plan(ranks, moves);
      world.barrier();  // as ranks that agree that all have room
      scene.check(ranks, exchanges[e].exchange(scene.request, fields));
    }
}
