// SPDX-License-Identifier: BSD-3-Clause
#include "transport/publication_header.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <random>

#include "base/copy_threads.hpp"
#include "model/coarsen.hpp"
#include "transport/staging.hpp"

using namespace pillion;
using namespace pillion::transport;

TEST_CASE("a message decodes to what was encoded, values aligned and in place") {
  std::vector<double> density(24);
  std::iota(density.begin(), density.end(), 0.5);
  const std::vector<int32_t> ids = {5, 6, 7};
  Meshes meshes;
  const model::Box box{{2, 0, 0}, {4, 3, 4}};
  meshes["grid"].blocks.push_back(
      {.id = model::block_id(5, 3),
       .box = box,
       .owned = 24,
       .arrays = {{"density",
                   {density.data(), model::ElementType::Float64, 1, model::packed_strides(box, 1),
                    model::Centering::Cell}}},
       .level = 2,
       .topology_version = 7,
       .geometry_version = 8});
  meshes["atoms"].kind = model::MeshKind::Particles;
  meshes["atoms"].blocks.push_back(
      {0,
       {{0, 0, 0}, {3, 1, 1}},
       3,
       {{"id", {ids.data(), model::ElementType::Int32, 1, {1, 0, 0, 1}}}}});
  meshes["atoms"].blocks.push_back(
      {1,
       {{0, 0, 0}, {0, 1, 1}},
       0,
       {{"id", {nullptr, model::ElementType::Int32, 1, {1, 0, 0, 1}}}}});
  PublicationHeader head;
  head.sequence = 9;
  head.step = 50;
  head.time = 0.25;
  head.due = {{.analysis = 1, .skipped = 4}};
  head.units = {{"density", "kg"}};
  head.domains["atoms"].hi[1] = 3;
  head.path = "p";
  head.scalars = {0.5, 2};

  const Encoder encoder(head, meshes);
  CHECK(encoder.bytes_of_fields().at("density").all == 24 * 8);
  const Buffer memory(encoder.size());
  encoder.encode(memory.data());
  const auto out = decode(memory.data(), encoder.size(), nullptr);
  CHECK(out.head.sequence == 9);
  CHECK(out.head.scalars == std::vector<double>{0.5, 2});
  CHECK(out.head.step == 50);
  CHECK(out.head.time == 0.25);
  CHECK(out.head.due.at(0).skipped == 4);
  CHECK(out.head.units.at("density") == "kg");
  CHECK(out.head.domains.at("atoms").hi[1] == 3);
  CHECK(out.head.path == "p");
  const auto& block = out.meshes.at("grid").blocks.at(0);
  CHECK(block.id == model::block_id(5, 3));
  CHECK(block.number() == 3);
  CHECK(block.level == 2);
  CHECK(block.topology_version == 7);
  CHECK(block.geometry_version == 8);
  CHECK(block.arrays.at("density").centering == model::Centering::Cell);
  CHECK(out.meshes.at("grid").kind == model::MeshKind::Uniform);
  CHECK(out.meshes.at("atoms").kind == model::MeshKind::Particles);
  CHECK(block.box == box);
  const auto& array = block.arrays.at("density");
  CHECK(reinterpret_cast<uintptr_t>(array.data) % 64 == 0);
  CHECK(std::equal(density.begin(), density.end(), static_cast<const double*>(array.data)));
  CHECK(out.meshes.at("atoms").blocks.size() == 2);
  CHECK(static_cast<const int32_t*>(out.meshes.at("atoms").blocks[0].arrays.at("id").data)[2] == 7);
}

TEST_CASE("several threads copy what one does") {
  base::CopyThreads threads(3);
  CHECK(threads.count() == std::min(3, base::usable_cores()));
  // Packed, in rows with gaps, with the axes the other way round, one long axis, too few cells.
  struct Case {
    std::array<int64_t, 3> extent;
    std::array<int64_t, 4> strides;
    int32_t components;
  };
  const std::vector<Case> cases = {
      {{70, 50, 90}, {1, 70, 3500, 1}, 1},    {{70, 50, 90}, {1, 72, 3650, 1}, 1},
      {{60, 50, 90}, {4500, 90, 1, 1}, 1},    {{400000, 1, 1}, {3, 0, 0, 1}, 3},
      {{400000, 1, 1}, {1, 0, 0, 400000}, 3}, {{8, 8, 8}, {1, 8, 64, 1}, 1}};
  std::vector<double> values(1300000);
  std::iota(values.begin(), values.end(), 0.25);
  for (const auto& [extent, strides, components] : cases)
    for (const auto how : {base::Copy::Plain, base::Copy::Streaming}) {
      Meshes meshes;
      model::Block block;
      block.box = {{5, 6, 7}, {5 + extent[0], 6 + extent[1], 7 + extent[2]}};
      block.arrays["f"] = {values.data(), model::ElementType::Float64, components, strides};
      meshes["m"].blocks.push_back(block);
      const Encoder encoder(PublicationHeader(), meshes);
      const Buffer alone(encoder.size()), together(encoder.size());
      std::memset(alone.data(), 0, encoder.size());
      std::memset(together.data(), 0, encoder.size());
      encoder.encode(alone.data(), how);
      for (int round = 0; round < 3; ++round) encoder.encode(together.data(), how, &threads);
      CHECK(std::memcmp(alone.data(), together.data(), encoder.size()) == 0);
    }
}

TEST_CASE("parts are each done once, by however many threads") {
  for (const int count : {1, 2, 4}) {
    base::CopyThreads threads(count);
    for (const size_t parts : {0u, 1u, 2u, 7u, 100u}) {
      std::vector<std::atomic<int>> done(parts);
      threads.run(parts, [&](size_t n) { ++done[n]; });
      CHECK(std::all_of(done.begin(), done.end(), [](const auto& d) { return d == 1; }));
    }
  }
}

TEST_CASE("a mesh without blocks is there, and of its kind") {
  Meshes meshes;
  meshes["grid"].kind = model::MeshKind::Spectral;
  const Encoder encoder({}, meshes);
  const Buffer memory(encoder.size());
  encoder.encode(memory.data());
  const auto out = decode(memory.data(), encoder.size(), nullptr);
  CHECK(out.meshes.at("grid").kind == model::MeshKind::Spectral);
  CHECK(out.meshes.at("grid").blocks.empty());
}

TEST_CASE("a message that ends too early is an error, not a crash") {
  const Encoder encoder({}, {});
  const Buffer memory(encoder.size());
  encoder.encode(memory.data());
  CHECK_THROWS_AS(decode_head(memory.data(), 20), Error);
}

namespace {

/// Lends what lies in one array.
class LibraryOf final : public Lender {
 public:
  explicit LibraryOf(const std::vector<double>& values) : values_(values) {}
  std::optional<Lent> find(const void* data) const override {
    const auto* at = static_cast<const double*>(data);
    if (at < values_.data() || at >= values_.data() + values_.size()) return {};
    return Lent{4096, 8 * values_.size(), static_cast<uint64_t>(at - values_.data()) * 8};
  }

 private:
  const std::vector<double>& values_;
};

/// Values of all blocks of a field, in order of cells.
std::vector<double> values_in(const model::MeshBlocks& mesh, const std::string& field) {
  std::vector<double> out;
  for (const auto& block : mesh.blocks) {
    const auto& array = block.arrays.at(field);
    std::vector<double> packed(static_cast<size_t>(block.box.volume()));
    model::pack(array, block.box, reinterpret_cast<std::byte*>(packed.data()));
    out.insert(out.end(), packed.begin(), packed.end());
  }
  return out;
}

}  // namespace

TEST_CASE("lent arrays are only pointed to, and found again where they are mapped") {
  std::vector<double> lent(60), copied(30);
  std::iota(lent.begin(), lent.end(), 0.25);
  std::iota(copied.begin(), copied.end(), 1000.5);
  const model::Box box{{0, 0, 0}, {5, 3, 2}};
  const auto packed = model::packed_strides(box, 1);
  const auto type = model::ElementType::Float64;
  Meshes meshes;
  meshes["grid"].blocks = {
      {0,
       box,
       30,
       {{"a", {lent.data(), type, 1, packed}}, {"b", {copied.data(), type, 1, packed}}}},
      {1, box, 30, {{"a", {lent.data() + 30, type, 1, packed}}}}};
  const LibraryOf library(lent);
  const Encoder whole({}, meshes), pointed({}, meshes, &library);
  CHECK(whole.size() - pointed.size() >= 60 * 8);
  CHECK(whole.bytes_of_fields().at("a").lent == 0);
  CHECK(pointed.bytes_of_fields().at("a").all == 480);
  CHECK(pointed.bytes_of_fields().at("a").lent == 480);
  CHECK(pointed.bytes_of_fields().at("b").all == 240);
  CHECK(pointed.bytes_of_fields().at("b").lent == 0);
  const Buffer memory(pointed.size());
  pointed.encode(memory.data());
  const auto mapped = lent;
  const auto look = [&](const Lent& l, size_t bytes) {
    CHECK(bytes == 240);
    CHECK(l.region == 4096);
    CHECK(l.region_size == 480);
    return reinterpret_cast<const std::byte*>(mapped.data()) + l.offset;
  };
  std::fill(lent.begin(), lent.end(), 0.0);
  const auto out = decode(memory.data(), pointed.size(), nullptr, look);
  const auto& blocks = out.meshes.at("grid").blocks;
  CHECK(blocks[0].arrays.at("a").data == mapped.data());
  CHECK(blocks[1].arrays.at("a").data == mapped.data() + 30);
  CHECK(values_in(out.meshes.at("grid"), "a") == mapped);
  CHECK(std::equal(copied.begin(), copied.end(),
                   static_cast<const double*>(blocks[0].arrays.at("b").data)));
}

// Strided values of lent memory cannot be pointed to, for sidecars are told no strides.
TEST_CASE("a coarse publication has the values of its cells, lent or not") {
  model::Mesh mesh;
  mesh.kind = model::MeshKind::Uniform;
  mesh.axes = 2;
  mesh.cells = {9, 6, 1};
  std::vector<double> values(54);
  std::iota(values.begin(), values.end(), 0.0);
  const model::Box box{{0, 0, 0}, {9, 6, 1}};
  model::MeshBlocks fine;
  fine.blocks.push_back(
      {0,
       box,
       54,
       {{"d", {values.data(), model::ElementType::Float64, 1, model::packed_strides(box, 1)}}}});
  PublicationHeader head;
  head.coarsening = 2;
  head.dropped = true;
  const Meshes meshes{{"grid", model::coarsen(fine, mesh, 2, "")}};
  const LibraryOf library(values);
  const Encoder encoder(head, meshes, &library);
  const Buffer memory(encoder.size());
  encoder.encode(memory.data());
  std::fill(values.begin(), values.end(), -1.0);
  const auto out = decode(memory.data(), encoder.size(), nullptr);
  CHECK(out.head.coarsening == 2);
  CHECK(out.head.dropped);
  std::vector<double> expected;
  for (int j = 0; j < 6; j += 2)
    for (int i = 0; i < 9; i += 2) expected.push_back(9 * j + i);
  CHECK(values_in(out.meshes.at("grid"), "d") == expected);
}

TEST_CASE("a damaged message is an error, or has all of its arrays within itself") {
  const std::vector<double> values(60, 1.5);
  Meshes meshes;
  const model::Box box{{2, 0, 0}, {4, 5, 3}};
  const auto packed = model::packed_strides(box, 1);
  constexpr auto type = model::ElementType::Float64;
  meshes["grid"].blocks = {{0, box, 30, {{"a", {values.data(), type, 1, packed}}}},
                           {1, box, 30, {{"b", {values.data() + 30, type, 1, packed}}}}};
  PublicationHeader head;
  head.due = {{.analysis = 1}};
  const Encoder encoder(head, meshes);
  const Buffer sound(encoder.size()), damaged(encoder.size());
  encoder.encode(sound.data());
  const size_t head_size = head_of({0, sound.data(), encoder.size(), nullptr}).size();
  std::mt19937_64 random(3);
  const auto* begin = damaged.data();
  int refused = 0, accepted = 0;
  for (int n = 0; n < 20000; ++n) {
    std::memcpy(damaged.data(), sound.data(), encoder.size());
    for (uint64_t k = 0; k <= random() % 3; ++k) {
      const uint64_t word = random() >> (random() % 64);
      const size_t size = size_t{1} << (random() % 4);
      std::memcpy(damaged.data() + random() % (head_size - size), &word, size);
    }
    const size_t size = random() % 8 == 0 ? random() % encoder.size() : encoder.size();
    try {
      const auto out = decode(begin, size, nullptr, [&](const Lent&, size_t) { return begin; });
      (void)head_of({0, begin, size, nullptr});
      ++accepted;
      for (const auto& [name, mesh] : out.meshes)
        for (const auto& block : mesh.blocks)
          for (const auto& [field, array] : block.arrays) {
            const auto bytes = model::bytes_of(array, block.box);
            const auto* at = static_cast<const std::byte*>(array.data);
            REQUIRE((bytes == 0 || at == begin || (at > begin && at + bytes <= begin + size)));
          }
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 5000);
  CHECK(accepted > 1000);
}
