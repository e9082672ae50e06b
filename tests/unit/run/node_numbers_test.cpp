// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>

#include "run/locations.hpp"

using namespace pillion;
using namespace pillion::run;

TEST_CASE("pretended nodes are contiguous, balanced, and none is empty") {
  for (int ranks = 1; ranks <= 20; ++ranks)
    for (int nodes = 1; nodes <= 22; ++nodes) {
      CAPTURE(ranks);
      CAPTURE(nodes);
      std::vector<int> sizes(static_cast<size_t>(std::min(ranks, nodes)));
      int before = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const int node = overridden_node(rank, ranks, nodes);
        CHECK(node >= before);
        REQUIRE(node < static_cast<int>(sizes.size()));
        ++sizes[static_cast<size_t>(node)];
        before = node;
      }
      const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
      CHECK(*least >= 1);
      CHECK(*most - *least <= 1);
    }
}

TEST_CASE("fewer than one pretended node is one") {
  CHECK(overridden_node(3, 4, 0) == 0);
  CHECK(overridden_node(3, 4, -2) == 0);
}

TEST_CASE("nodes are numbered in the order in which they appear") {
  CHECK(number_nodes({0, 0, 2, 2}) == std::vector<int>{0, 0, 1, 1});
  CHECK(number_nodes({9, 4, 9, int64_t{1} << 40, 4}) == std::vector<int>{0, 1, 0, 2, 1});
  CHECK(number_nodes({}).empty());
}
