// SPDX-License-Identifier: BSD-3-Clause
// A message layout means the same to its receiver, and what was packed by a plan is unpacked to
// where the plan says.
#include "redistribution/message_layout.hpp"

#include <doctest/doctest.h>

#include <numeric>

using namespace pillion;
using namespace pillion::redistribution;
using model::Box;

TEST_CASE("a message layout is the same after its way as bytes") {
  const FieldType density{"density", model::ElementType::Float64, 1};
  const FieldType velocity{"velocity", model::ElementType::Float32, 3};
  MessageLayout sent;
  sent.blocks.push_back({.mesh = "grid",
                         .id = model::block_id(3, 1),
                         .box = {{0, 1, 2}, {3, 4, 5}},
                         .owned = 27,
                         .level = 2,
                         .fields = {density}});
  sent.regions.push_back(
      {"grid", {density, velocity}, {{4, {{0, 0, 0}, {1, 2, 3}}}, {7, {{5, 5, 5}, {6, 6, 6}}}}});
  sent.particles = {"atoms", "stars"};
  const auto got = base::from_bytes<MessageLayout>(base::to_bytes(sent));
  REQUIRE(got.blocks.size() == 1);
  CHECK(got.blocks[0].mesh == "grid");
  CHECK(got.blocks[0].id == model::block_id(3, 1));
  CHECK(got.blocks[0].box == sent.blocks[0].box);
  CHECK(got.blocks[0].owned == 27);
  CHECK(got.blocks[0].level == 2);
  CHECK(got.blocks[0].fields == sent.blocks[0].fields);
  REQUIRE(got.regions.size() == 1);
  CHECK(got.regions[0].fields == sent.regions[0].fields);
  REQUIRE(got.regions[0].regions.size() == 2);
  CHECK(got.regions[0].regions[1].to == 7);
  CHECK(got.regions[0].regions[1].box == sent.regions[0].regions[1].box);
  CHECK(got.particles == sent.particles);
}

TEST_CASE("regions are unpacked where the plan of the sender says") {
  const Box box{{0, 0, 0}, {4, 3, 2}};
  std::vector<int32_t> values(24), copied(24, -1);
  std::iota(values.begin(), values.end(), 0);
  const layout::Moves plan{
      5, {{0, 1, {{1, 0, 0}, {3, 3, 2}}, {}}, {0, 0, {{0, 0, 0}, {1, 3, 2}}, {}}}, 18};
  FieldArrays field{1, sizeof(int32_t)};
  field.from.push_back(
      layout::packed_at(reinterpret_cast<const std::byte*>(values.data()), box, 1));
  std::vector<std::byte> message(18 * sizeof(int32_t));
  std::byte* to = message.data();
  for (const auto& move : plan.moves) to = pack(move, {&field, 1}, to);
  CHECK(to == message.data() + message.size());

  const auto received = moves_of(regions_of(plan), 2);
  CHECK(received.rank == 2);
  CHECK(received.cells == 18);
  FieldArrays there{1, sizeof(int32_t)};
  for (int b = 0; b < 2; ++b)
    there.to.push_back(layout::packed_at(reinterpret_cast<std::byte*>(copied.data()), box, 1));
  const std::byte* from = message.data();
  for (const auto& move : received.moves) from = unpack(move, {&there, 1}, from);
  for (int i = 0; i < 24; ++i) CHECK(copied[static_cast<size_t>(i)] == (i % 4 < 3 ? i : -1));
}
