// SPDX-License-Identifier: BSD-3-Clause
// What must be true of every plan, whatever it is for.
#pragma once

#include <doctest/doctest.h>

#include "some_field.hpp"

namespace exchanging {

using namespace pillion;
using namespace some_field;
using redistribution::Neighbours;
using redistribution::TransferMemory;

/// Which ranks hand values to each other through memory: all, those of either half, or none.
struct Ways {
  explicit Ways(const comm::Communicator& world)
      : all(Neighbours(world), plenty),
        half(Neighbours(world, world.split(world.rank() % 2)), plenty) {}
  [[nodiscard]] TransferMemory* of(int round) const {
    TransferMemory* ways[] = {&all, &half, nullptr};
    return ways[round % 3];
  }
  static constexpr size_t plenty = size_t{1} << 30;
  mutable TransferMemory all, half;
};

template <class Origin>
int64_t cells_with_origin(const std::vector<Box>& boxes, Origin&& origin) {
  int64_t cells = 0;
  for (const auto& box : boxes)
    random_boxes::each_cell(box, [&](const Cell& cell) { cells += origin(cell) ? 1 : 0; });
  return cells;
}

/// Fields of many kinds arrive as they were, each cell once, however often the plan is used.
/// [collective], `random` draws alike on all ranks.
template <class Origin>
void check(const comm::Communicator& world, Redistribution& plan, Origin&& origin, Random& random) {
  Random own(static_cast<unsigned>(random() + 7919u * static_cast<unsigned>(world.rank())));
  const auto fields = some_fields(plan, random, own);
  const auto arrays = arrays_of(fields);
  for (const int round : {0, 1, 2}) {
    const size_t count = round == 1 ? 1 : fields.size();
    for (auto& field : fields) field->fill(round);
    plan.exchange(std::span(arrays).first(count));
    for (size_t f = 0; f < fields.size(); ++f)
      if (f < count) CHECK(fields[f]->has_arrived(round, origin));
      else CHECK(fields[f]->has_arrived(round, [](const Cell&) { return std::optional<Cell>(); }));
  }
  const auto sum = [&](int64_t cells) { return world.reduced(cells, comm::Operation::Sum); };
  CHECK(sum(plan.cells_sent()) == sum(plan.cells_received()));
  CHECK(plan.cells_received() + plan.cells_kept() == cells_with_origin(plan.boxes(), origin));
  CHECK(plan.messages_sent() < static_cast<size_t>(world.size()));
}

}  // namespace exchanging
