// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/seating.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "base/error.hpp"

using namespace pillion;
using namespace pillion::runtime;

TEST_CASE("pretended nodes are contiguous, balanced, and none is empty") {
  for (int ranks = 1; ranks <= 20; ++ranks)
    for (int nodes = 1; nodes <= 22; ++nodes) {
      CAPTURE(ranks);
      CAPTURE(nodes);
      std::vector<int> sizes(static_cast<size_t>(std::min(ranks, nodes)));
      int before = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const int node = pretended_node(rank, ranks, nodes);
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
  CHECK(pretended_node(3, 4, 0) == 0);
  CHECK(pretended_node(3, 4, -2) == 0);
}

TEST_CASE("nodes are numbered in the order in which they appear") {
  CHECK(number_nodes({0, 0, 2, 2}) == std::vector<int>{0, 0, 1, 1});
  CHECK(number_nodes({9, 4, 9, int64_t{1} << 40, 4}) == std::vector<int>{0, 1, 0, 2, 1});
  CHECK(number_nodes({}).empty());
}

TEST_CASE("neighbours share a sidecar") {
  CHECK(serve({0, 0, 0, 0, 0}, {0, 0}) == std::vector<int>{0, 0, 0, 1, 1});
  CHECK(serve({0, 1, 0, 1}, {1, 0}) == std::vector<int>{1, 0, 1, 0});
  CHECK(serve({0, 0}, {0, 0, 0}).size() == 2);
}

TEST_CASE("sidecars serve ranks of their own node, evenly, and neighbours together") {
  std::mt19937 random(5);
  for (int repeat = 0; repeat < 500; ++repeat) {
    const int nodes = 1 + static_cast<int>(random() % 4);
    std::vector<int> simulation, sidecar;
    for (int node = 0; node < nodes; ++node) {
      simulation.insert(simulation.end(), 1 + random() % 7, node);
      sidecar.insert(sidecar.end(), 1 + random() % 4, node);
    }
    std::shuffle(simulation.begin(), simulation.end(), random);
    std::shuffle(sidecar.begin(), sidecar.end(), random);
    const auto server = serve(simulation, sidecar);
    REQUIRE(server.size() == simulation.size());
    std::vector<int> load(sidecar.size());
    std::map<int, int> last;
    for (size_t rank = 0; rank < server.size(); ++rank) {
      REQUIRE(server[rank] >= 0);
      REQUIRE(static_cast<size_t>(server[rank]) < sidecar.size());
      CHECK(sidecar[static_cast<size_t>(server[rank])] == simulation[rank]);
      ++load[static_cast<size_t>(server[rank])];
      const auto before = last.find(simulation[rank]);
      if (before != last.end()) CHECK(server[rank] >= before->second);
      last[simulation[rank]] = server[rank];
    }
    for (size_t a = 0; a < sidecar.size(); ++a)
      for (size_t b = 0; b < sidecar.size(); ++b)
        if (sidecar[a] == sidecar[b]) CHECK(std::abs(load[a] - load[b]) <= 1);
  }
}

TEST_CASE("a node without a sidecar is named") {
  try {
    serve({0, 0, 1, 2, 1}, {0, 2});
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::Placement);
    CHECK(std::string(e.what()).find("node 1 has 2 simulation ranks but no sidecar; start one on "
                                     "every node") != std::string::npos);
  }
}
