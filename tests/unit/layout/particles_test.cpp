// SPDX-License-Identifier: BSD-3-Clause
// Particles dealt out by many ranks, packed and unpacked, all in one process: each selected one
// arrives once, with its values, and its copies wherever they are near.
#include "layout/particles.hpp"

#include <algorithm>

#include "random_particles.hpp"

using namespace pillion;
using namespace pillion::layout;
using namespace random_particles;

namespace {

using Message = std::vector<std::byte>;

ParticleMoves deal(const Held& held, const Request& request, const Shape& shape, int ranks) {
  return request.kind == Kind::ByKey
             ? ParticleMoves::by_key(held.blocks, request, ranks)
             : ParticleMoves::spatial(held.blocks, request, shape.domain, ranks);
}

/// What a rank sends, by receiver; not a byte more is written than was promised.
std::vector<Message> pack(const ParticleMoves& moves, int ranks) {
  constexpr std::byte guard{0xa5};
  std::vector<Message> out;
  std::vector<std::byte*> to;
  for (int r = 0; r < ranks; ++r) {
    const bool gets = std::binary_search(moves.ranks().begin(), moves.ranks().end(), r);
    CHECK(gets == (moves.size_for(r) > 0));
    out.emplace_back(moves.size_for(r) + 64, guard);
    if (gets) to.push_back(out.back().data());
  }
  moves.pack(to);
  for (auto& message : out) {
    CHECK(std::count(message.end() - 64, message.end(), guard) == 64);
    message.resize(message.size() - 64);
  }
  return out;
}

std::vector<std::span<const std::byte>> to(int rank, const std::vector<std::vector<Message>>& all) {
  std::vector<std::span<const std::byte>> out;
  for (const auto& from : all) out.emplace_back(from[static_cast<size_t>(rank)]);
  return out;
}

void check(const std::vector<Particle>& all, const Shape& shape, const Request& request, int rank,
           int ranks, const model::MeshBlocks& out) {
  request.kind == Kind::ByKey ? check_by_key(all, request, rank, ranks, out)
                              : check_spatial(all, shape, request, rank, ranks, out);
}

}  // namespace

TEST_CASE("each selected particle arrives once as owned, and where it is near as a copy") {
  const auto fields = catalogue();
  Random random(5);
  UnpackingRoom room;
  for (int round = 0; round < 80; ++round) {
    const int ranks = 1 + static_cast<int>(below(random, 9));
    const auto shape = some_shape(random);
    const auto all = some_particles(shape, below(random, 250), random);
    const auto request = some_request(round % 2 == 0 ? Kind::ByKey : Kind::Spatial, shape, random);
    const auto held = share_out(all, ranks, random);
    std::vector<std::vector<Message>> messages;
    for (const auto& h : held) {
      const auto moves = deal(h, request, shape, ranks);
      messages.push_back(pack(moves, ranks));
      CHECK(pack(moves, ranks) == messages.back());
    }
    for (int r = 0; r < ranks; ++r) {
      const auto received = to(r, messages);
      check(all, shape, request, r, ranks, unpack(received, request, fields));
      check(all, shape, request, r, ranks, unpack(received, request, fields, room));
    }
  }
}

TEST_CASE("assignment costs no memory for ranks that get nothing") {
  Random random(3);
  const auto shape = some_shape(random);
  const auto held = share_out(some_particles(shape, 3, random), 1, random);
  Request request = some_request(Kind::ByKey, shape, random);
  request.select.clear();
  const auto moves = ParticleMoves::by_key(held[0].blocks, request, 1 << 20);
  CHECK(moves.ranks().size() <= 3);
  CHECK(!moves.ranks().empty());
}

TEST_CASE("what cannot be dealt out or unpacked is refused") {
  Random random(2);
  const Shape shape({{-1, 0, 2}, {9, 8, 14}, {0, 0, 0}, {1, 1, 1}, 0});
  std::vector<Particle> all{{1, {0, 1, 3}}, {2, {1, 1, 3}}};
  const auto refused = [&](const Request& request, const pillion_domain& domain) {
    Held held;
    held.add(all, random);
    CHECK_THROWS_AS(ParticleMoves::spatial(held.blocks, request, domain, 2), Error);
  };
  Request request{.fields = {"x"}, .kind = Kind::Spatial, .position = "x", .halo = 8.5};
  refused(request, shape.domain);
  request.halo = 1;
  refused(request, pillion_domain{});
  for (const double x : {std::nan(""), HUGE_VAL, 1e6, -1e6}) {
    all[1].x[0] = x;
    refused(request, shape.domain);
  }
  all[1].x[0] = 1;
  request.position = "y";
  refused(request, shape.domain);
  request.position = "x";
  Held held;
  held.add(all, random);
  const auto moves = ParticleMoves::spatial(held.blocks, request, shape.domain, 1);
  Message message(moves.size_for(0));
  moves.pack(std::array{message.data()});
  const std::span<const std::byte> whole(message);
  CHECK(unpack({whole, {}}, request, catalogue()).blocks.front().owned == 2);
  for (const size_t size : {whole.size() - 1, size_t{16}, size_t{3}})
    CHECK_THROWS_AS(unpack({whole.first(size)}, request, catalogue()), Error);
}

TEST_CASE("a domain is divided so that faces are small") {
  CHECK(division(1, {1, 1, 1}) == std::array<int, 3>{1, 1, 1});
  CHECK(division(8, {1, 1, 1}) == std::array<int, 3>{2, 2, 2});
  CHECK(division(4, {1, 1, 100}) == std::array<int, 3>{1, 1, 4});
  CHECK(division(6, {3, 2, 1}) == std::array<int, 3>{3, 2, 1});
  CHECK(division(4, {1, 1, 100}, 2) == std::array<int, 3>{2, 2, 1});
  CHECK(division(6, {3, 2, 100}, 2) == std::array<int, 3>{3, 2, 1});
  CHECK(division(7, {1, 1, 1})[0] * division(7, {1, 1, 1})[1] * division(7, {1, 1, 1})[2] == 7);
}

TEST_CASE("keys with a stride are spread over all owners") {
  for (const int64_t stride : {1, 3, 64, 1024}) {
    std::vector<int> count(7);
    for (int64_t k = 0; k < 7000; ++k) ++count[static_cast<size_t>(owner_of(k * stride, 7))];
    CHECK(*std::min_element(count.begin(), count.end()) > 850);
    CHECK(*std::max_element(count.begin(), count.end()) < 1150);
  }
}
