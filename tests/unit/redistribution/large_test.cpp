// SPDX-License-Identifier: BSD-3-Clause
// A message of more than 2 GiB between two ranks. Takes 7 GiB of memory and is left out unless it
// is asked for with doctest's --no-skip, as tests/unit/test_large.py does.
#include <doctest/doctest.h>

#include "redistribution/exchange.hpp"

using namespace pillion;
using namespace pillion::redistribution;
using layout::Box;

namespace {

const Box domain{{0, 0, 0}, {1024, 640, 450}};  // 2.2 GiB of float64
const std::array<int64_t, 4> strides{1, 1024, 7, 0};

/// Values follow from their place, for planes lie in one another's memory.
std::vector<double> some_values() {
  std::vector<double> values(1024 * 640 + 7 * 450);
  for (size_t n = 0; n < values.size(); ++n) values[n] = static_cast<double>(n);
  return values;
}

int64_t wrong_values(const double* values) {
  int64_t wrong = 0, n = 0;
  for (int64_t k = 0; k < domain.hi[2]; ++k)
    for (int64_t j = 0; j < domain.hi[1]; ++j)
      for (int64_t i = 0; i < domain.hi[0]; ++i, ++n)
        wrong += values[n] != static_cast<double>(i + strides[1] * j + strides[2] * k);
  return wrong;
}

void exchange(const comm::Communicator& world, TransferMemory* memory) {
  const auto whole = [&](bool has) { return has ? std::vector{domain} : std::vector<Box>{}; };
  const bool sends = world.rank() == 0;
  Redistribution plan(world, whole(sends), WantedBoxes{whole(!sends), domain, {}}, memory);
  const auto given = some_values();
  const auto taken =
      std::make_unique_for_overwrite<double[]>(sends ? 0 : static_cast<size_t>(domain.volume()));
  FieldArrays field;
  if (sends)
    field.from.push_back({reinterpret_cast<const std::byte*>(given.data()), domain.lo, strides});
  else field.to.push_back(layout::packed_at(reinterpret_cast<std::byte*>(taken.get()), domain, 1));
  plan.exchange(std::span(&field, 1));
  CHECK(plan.cells_sent() == (sends ? domain.volume() : 0));
  if (!sends) CHECK(wrong_values(taken.get()) == 0);
}

}  // namespace

TEST_CASE("messages of more than 2 GiB" * doctest::skip()) {
  const comm::Communicator world(MPI_COMM_WORLD);
  REQUIRE(world.size() == 2);
  TransferMemory memory(Neighbours(world), size_t{8} << 30);
  exchange(world, nullptr);
  exchange(world, &memory);
}
