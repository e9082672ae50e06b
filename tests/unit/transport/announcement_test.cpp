// SPDX-License-Identifier: BSD-3-Clause
#include "transport/announcement.hpp"

#include <doctest/doctest.h>

#include <numeric>

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
      {3,
       box,
       24,
       {{"density",
         {density.data(), model::ElementType::Float64, 1, model::packed_strides(box, 1)}}}});
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
  Announcement head;
  head.sequence = 9;
  head.step = 50;
  head.time = 0.25;
  head.due = {{.analysis = 1, .skipped = 4}};
  head.units = {{"density", "kg"}};
  head.domains["atoms"].hi[1] = 3;
  head.path = "p";

  const Encoder encoder(head, meshes);
  CHECK(encoder.bytes_of_fields().at("density") == 24 * 8);
  const Buffer memory(encoder.size());
  encoder.encode(memory.data());
  const auto out = decode(memory.data(), encoder.size(), nullptr);
  CHECK(out.head.sequence == 9);
  CHECK(out.head.step == 50);
  CHECK(out.head.time == 0.25);
  CHECK(out.head.due.at(0).skipped == 4);
  CHECK(out.head.units.at("density") == "kg");
  CHECK(out.head.domains.at("atoms").hi[1] == 3);
  CHECK(out.head.path == "p");
  const auto& block = out.meshes.at("grid").blocks.at(0);
  CHECK(block.number == 3);
  CHECK(block.box == box);
  const auto& array = block.arrays.at("density");
  CHECK(reinterpret_cast<uintptr_t>(array.data) % 64 == 0);
  CHECK(std::equal(density.begin(), density.end(), static_cast<const double*>(array.data)));
  CHECK(out.meshes.at("atoms").blocks.size() == 2);
  CHECK(static_cast<const int32_t*>(out.meshes.at("atoms").blocks[0].arrays.at("id").data)[2] == 7);
}

TEST_CASE("a message that ends too early is an error, not a crash") {
  const Encoder encoder({}, {});
  const Buffer memory(encoder.size());
  encoder.encode(memory.data());
  CHECK_THROWS_AS(decode_head(memory.data(), 20), Error);
}
