// SPDX-License-Identifier: BSD-3-Clause
#include "redistribution/take.hpp"

#include <doctest/doctest.h>

#include <random>

#include "base/value.hpp"

using namespace pillion;
using namespace pillion::redistribution;
using model::Box;
using model::ElementType;

namespace {

constexpr Box domain{{0, 0, 0}, {8, 8, 8}};

/// A receiver of one divided mesh, one of blocks, and one of particles.
struct Receiving {
  model::Catalogue catalogue;
  Routes routes;
  Taker taker;
  ReceivedMeshes out;

  Receiving() {
    const auto root = base::parse_yaml(
        "meshes:\n  grid: {kind: uniform, cells: [8, 8, 8], length: [1, 1, 1]}\n"
        "  atoms: {kind: particles}\n"
        "fields:\n  density: {mesh: grid, type: float64}\n  id: {mesh: atoms, type: int64}\n",
        "catalogue", {});
    catalogue.read(root.find("meshes"), root.find("fields"));
    routes["grid"] = {.fields = {"density"}, .kind = layout::Kind::Slabs};
    routes["atoms"] = {.fields = {"id"}, .kind = layout::Kind::ByKey, .key = "id"};
    taker.begin(routes, catalogue, 0, 0, 1, out);
  }
};

/// What a sender may say, in memory of exactly its size, so that a sanitizer sees the least excess.
struct Sent {
  MessageLayout layout;
  size_t size = 0;
  int64_t particle_bytes = 16 + 8 * 3;

  Sent() {
    const FieldType density{"density"};
    layout.regions.push_back({"grid", {density}, {{0, domain}}});
    layout.blocks.push_back({.mesh = "plain", .box = {{0, 0, 0}, {4, 4, 4}}, .fields = {density}});
    layout.particles = {"atoms"};
    size = aligned(64 * 8) + 512 * 8 + 64 + 40;
  }
  /// "" or why it was refused.
  [[nodiscard]] std::string take() const {
    Receiving receiving;
    std::vector<std::byte> values(size);
    const size_t at = aligned(64 * 8) + 512 * 8;
    if (size >= at + 64 + 16) {
      const int64_t counts[2] = {3, 0};
      std::memcpy(values.data() + at, &particle_bytes, sizeof particle_bytes);
      std::memcpy(values.data() + at + 64, counts, sizeof counts);
    }
    try {
      receiving.taker.take(layout, values, nullptr, receiving.out);
      receiving.taker.finish(receiving.routes, receiving.catalogue, false, receiving.out);
    } catch (const Error& e) {
      CHECK(e.code() == ErrorCode::Internal);
      return e.what();
    }
    return "";
  }
};

}  // namespace

TEST_CASE("what a message describes must be in it, and in the boxes of the receiver") {
  CHECK(Sent().take().empty());
  const auto refused = [](auto&& change) {
    Sent sent;
    change(sent);
    const auto why = sent.take();
    CHECK(!why.empty());
    return why;
  };
  refused([](Sent& s) { s.size -= 1; });
  refused([](Sent& s) { s.size = 0; });
  refused([](Sent& s) { s.particle_bytes = 41; });
  refused([](Sent& s) { s.particle_bytes = -1; });
  refused([](Sent& s) { s.particle_bytes = int64_t{1} << 62; });
  refused([](Sent& s) { s.layout.blocks[0].box.hi[0] = int64_t{1} << 40; });
  refused([](Sent& s) { s.layout.blocks[0].box = {{0, 0, 0}, {1 << 30, 1 << 30, 1 << 30}}; });
  refused([](Sent& s) { s.layout.blocks[0].box.hi[1] = -1; });
  refused([](Sent& s) { s.layout.blocks[0].fields[0].components = -1; });
  refused([](Sent& s) { s.layout.blocks[0].fields[0].type = static_cast<ElementType>(99); });
  refused([](Sent& s) { s.layout.regions[0].mesh = "other"; });
  refused([](Sent& s) { s.layout.regions[0].regions[0].to = 1; });
  refused([](Sent& s) { s.layout.regions[0].regions[0].to = -1; });
  refused([](Sent& s) { s.layout.regions[0].regions[0].to = int64_t{1} << 40; });
  CHECK(refused([](Sent& s) {
          s.layout.regions[0].regions[0].box = {{0, 0, 1}, {8, 8, 9}};
        }).find("not wanted") != std::string::npos);
  refused([](Sent& s) { s.layout.regions[0].fields[0].components = 1 << 20; });
  CHECK(refused([](Sent& s) {
          s.layout.regions[0].regions[0].box.hi[2] = 4;
          s.layout.regions.push_back(s.layout.regions[0]);
          s.layout.regions[1].fields[0].type = ElementType::Int8;
        }).find("different types") != std::string::npos);
}

// A sanitizer sees what is read or written out of place.
TEST_CASE("random numbers in a description do no harm") {
  std::mt19937_64 random(2026);
  int refused = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    Sent sent;
    auto& region = sent.layout.regions[0].regions[0];
    auto& block = sent.layout.blocks[0];
    int64_t* const numbers[] = {&region.to,        &region.box.lo[0], &region.box.lo[2],
                                &region.box.hi[1], &region.box.hi[2], &block.box.lo[0],
                                &block.box.hi[2],  &block.box.hi[0],  &sent.particle_bytes};
    for (int change = 0; change < 2; ++change) {
      auto& number = *numbers[random() % std::size(numbers)];
      const auto bits = static_cast<int>(random() % 64);
      number = random() % 2 == 0 ? number ^ (int64_t{1} << bits)
                                 : static_cast<int64_t>(random() >> bits);
    }
    refused += sent.take().empty() ? 0 : 1;
  }
  CHECK(refused > 500);
}
