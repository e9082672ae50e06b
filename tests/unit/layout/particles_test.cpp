// SPDX-License-Identifier: BSD-3-Clause
// Redistribution of particles against brute force: who must own or see a particle is decided by
// comparing it, and all its images, with every other.
#include "layout/particles.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "comm/communicator.hpp"
#include "layout/cell.hpp"
#include "layout/owner.hpp"

using namespace pillion;
using namespace pillion::layout;

namespace {

model::Catalogue catalogue() {
  const auto root = base::parse_yaml(
      "meshes: {atoms: {kind: particles}}\n"
      "fields:\n  id: {mesh: atoms, type: int64}\n  type: {mesh: atoms, type: int32}\n"
      "  x: {mesh: atoms, type: float64, components: 3}\n",
      "c", {});
  model::Catalogue out;
  out.read(root.find("meshes"), root.find("fields"));
  return out;
}

struct Particle {
  int64_t id;
  int32_t type;
  Vector x;
};

/// The same particles on every rank; some lie outside the domain.
std::vector<Particle> particles(const pillion_domain& domain, int count) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-0.3, 1.3);
  std::vector<Particle> out;
  for (int i = 0; i < count; ++i) {
    const double f[3] = {domain.periodic[0] ? uniform(random) : (uniform(random) + 0.3) / 1.6,
                         domain.periodic[1] ? uniform(random) : (uniform(random) + 0.3) / 1.6,
                         domain.periodic[2] ? uniform(random) : (uniform(random) + 0.3) / 1.6};
    const double L[3] = {domain.hi[0] - domain.lo[0], domain.hi[1] - domain.lo[1],
                         domain.hi[2] - domain.lo[2]};
    out.push_back(
        {100 + 3 * i,
         i % 4,
         {domain.lo[0] + f[0] * L[0] + f[1] * domain.tilt[0] + f[2] * domain.tilt[1],
          domain.lo[1] + f[1] * L[1] + f[2] * domain.tilt[2], domain.lo[2] + f[2] * L[2]}});
  }
  return out;
}

/// One rank's part, in two blocks, with positions component by component in memory.
struct Held {
  std::vector<int64_t> ids;
  std::vector<int32_t> types;
  std::vector<double> x;
  model::MeshBlocks blocks;

  Held(const std::vector<Particle>& all, int rank, int ranks) {
    // The last of several ranks has nothing.
    const int holders = std::max(1, ranks - 1);
    std::vector<Particle> mine;
    for (size_t i = 0; i < all.size(); ++i)
      if (static_cast<int>(i * 7 % static_cast<size_t>(holders)) == rank) mine.push_back(all[i]);
    const size_t n = mine.size();
    for (const auto& p : mine) ids.push_back(p.id), types.push_back(p.type);
    for (int c = 0; c < 3; ++c)
      for (const auto& p : mine) x.push_back(p.x[c]);
    if (n == 0) return;
    const size_t half = n / 2;
    for (const auto& [number, begin, end] :
         {std::tuple(0, size_t{0}, half), std::tuple(1, half, n)}) {
      const auto count = static_cast<int64_t>(end - begin);
      blocks.blocks.push_back(
          {number,
           {{0, 0, 0}, {count, 1, 1}},
           count,
           {{"id", {ids.data() + begin, model::ElementType::Int64, 1, {1, 0, 0, 1}}},
            {"type", {types.data() + begin, model::ElementType::Int32, 1, {1, 0, 0, 1}}},
            {"x",
             {x.data() + begin,
              model::ElementType::Float64,
              3,
              {1, 0, 0, static_cast<int64_t>(n)}}}}});
    }
  }
};

const pillion_domain cubic = {{-1, 0, 2}, {9, 8, 14}, {0, 0, 0}, {1, 1, 1}, 0};
const pillion_domain slab = {{0, 0, 0}, {10, 8, 12}, {0, 0, 0}, {1, 0, 1}, 0};
const pillion_domain tilted = {{0, 1, 0}, {10, 11, 12}, {3, -2, 4}, {1, 1, 1}, 0};

/// Coordinates of a particle of the input by its id.
const Particle& by_id(const std::vector<Particle>& all, int64_t id) {
  return all[static_cast<size_t>((id - 100) / 3)];
}

}  // namespace

TEST_CASE("by key: every selected particle is at its owner, sorted, with its values") {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto all = particles(cubic, 500);
  const Held held(all, world.rank(), world.size());
  Request request;
  request.fields = {"x"};
  request.kind = Kind::ByKey;
  request.key = "id";
  request.select = "type";
  request.select_values = {1, 3};
  const auto out =
      unpack(world.exchange(pack_by_key(held.blocks, request, world.size())), request, catalogue());
  const auto& block = out.blocks.at(0);
  std::vector<int64_t> expected;
  for (const auto& p : all)
    if (p.type % 2 == 1 && owner_of(p.id, world.size()) == world.rank()) expected.push_back(p.id);
  const auto* ids = static_cast<const int64_t*>(block.arrays.at("id").data);
  const auto* x = static_cast<const double*>(block.arrays.at("x").data);
  REQUIRE(block.owned == static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    CHECK(ids[i] == expected[i]);
    for (int c = 0; c < 3; ++c) CHECK(x[3 * i + static_cast<size_t>(c)] == by_id(all, ids[i]).x[c]);
  }
}

TEST_CASE("spatial: each particle is owned once, and every neighbour within the halo is at hand") {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (const auto& domain : {cubic, slab, tilted}) {
    const auto all = particles(domain, 400);
    const Held held(all, world.rank(), world.size());
    const Cell cell(domain);
    Request request;
    request.fields = {"id", "x"};
    request.kind = Kind::Spatial;
    request.position = "x";
    request.halo = 2.5;
    const auto packed = pack_spatial(held.blocks, request, domain, world.size());
    const auto out = unpack(world.exchange(packed), request, catalogue());
    const auto& block = out.blocks.at(0);
    const auto* ids = static_cast<const int64_t*>(block.arrays.at("id").data);
    const auto* x = static_cast<const double*>(block.arrays.at("x").data);
    CHECK(world.reduced(block.owned, comm::Operation::Sum) == static_cast<int64_t>(all.size()));
    int64_t id_sum = 0;
    for (int64_t i = 0; i < block.owned; ++i) id_sum += ids[i];
    int64_t expected_sum = 0;
    for (const auto& p : all) expected_sum += p.id;
    CHECK(world.reduced(id_sum, comm::Operation::Sum) == expected_sum);

    // Brute force over all particles and images: pairs within the halo, counted at the owner.
    int64_t missing = 0, found = 0;
    for (int64_t i = 0; i < block.owned; ++i) {
      std::vector<std::pair<int64_t, double>> near, expected;
      for (int64_t j = 0; j < block.box.volume(); ++j) {
        const double d = std::hypot(x[3 * i] - x[3 * j], x[3 * i + 1] - x[3 * j + 1],
                                    x[3 * i + 2] - x[3 * j + 2]);
        if (j != i && d < request.halo) near.emplace_back(ids[j], d);
      }
      const Vector a = by_id(all, ids[i]).x;
      for (const auto& p : all)
        for (int64_t u = -3; u <= 3; ++u)
          for (int64_t v = -3; v <= 3; ++v)
            for (int64_t w = -3; w <= 3; ++w) {
              if ((u != 0 && !cell.periodic(0)) || (v != 0 && !cell.periodic(1)) ||
                  (w != 0 && !cell.periodic(2)))
                continue;
              const Vector s = cell.shift({u, v, w});
              const double d =
                  std::hypot(a[0] - p.x[0] - s[0], a[1] - p.x[1] - s[1], a[2] - p.x[2] - s[2]);
              if (d < request.halo && !(p.id == ids[i] && u == 0 && v == 0 && w == 0))
                expected.emplace_back(p.id, d);
            }
      std::sort(near.begin(), near.end());
      std::sort(expected.begin(), expected.end());
      REQUIRE(near.size() == expected.size());
      for (size_t k = 0; k < near.size(); ++k) {
        missing += near[k].first != expected[k].first ? 1 : 0;
        CHECK(near[k].second == doctest::Approx(expected[k].second).epsilon(1e-12));
        ++found;
      }
    }
    CHECK(missing == 0);
    CHECK(world.reduced(found, comm::Operation::Sum) > 1000);
  }
}

TEST_CASE("a halo wider than the domain, and positions that are not finite, are refused") {
  const auto all = particles(cubic, 10);
  Held held(all, 0, 1);
  Request request;
  request.fields = {"x"};
  request.kind = Kind::Spatial;
  request.position = "x";
  request.halo = 8.5;
  CHECK_THROWS_AS(pack_spatial(held.blocks, request, cubic, 2), Error);
  request.halo = 1;
  held.x[3] = std::nan("");
  CHECK_THROWS_AS(pack_spatial(held.blocks, request, cubic, 2), Error);
  CHECK_THROWS_AS(Cell(pillion_domain{}), Error);
}

TEST_CASE("a domain is divided so that faces are small") {
  CHECK(division(1, {1, 1, 1}) == std::array<int, 3>{1, 1, 1});
  CHECK(division(8, {1, 1, 1}) == std::array<int, 3>{2, 2, 2});
  CHECK(division(4, {1, 1, 100}) == std::array<int, 3>{1, 1, 4});
  CHECK(division(6, {3, 2, 1}) == std::array<int, 3>{3, 2, 1});
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
