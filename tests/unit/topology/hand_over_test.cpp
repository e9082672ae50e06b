// SPDX-License-Identifier: BSD-3-Clause
#include "topology/hand_over.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "base/error.hpp"
#include "spots_of_test.hpp"

using namespace pillion;
using namespace pillion::topology;

namespace {

int64_t sum_of_distances(const std::vector<Location>& simulation,
                         const std::vector<Location>& sidecars, const std::vector<int>& server) {
  int64_t sum = 0;
  for (size_t i = 0; i < simulation.size(); ++i)
    sum += distance(simulation[i], sidecars[static_cast<size_t>(server[i])]);
  return sum;
}

/// The least sum of distances with loads within one, by trying every way.
int64_t least_sum(const std::vector<Location>& simulation, const std::vector<Location>& sidecars) {
  std::vector<size_t> load(sidecars.size());
  const size_t most = (simulation.size() + sidecars.size() - 1) / sidecars.size();
  int64_t best = std::numeric_limits<int64_t>::max();
  const std::function<void(size_t, int64_t)> send = [&](size_t k, int64_t sum) {
    if (k == simulation.size()) {
      const auto [least, highest] = std::minmax_element(load.begin(), load.end());
      if (*highest - *least <= 1) best = std::min(best, sum);
      return;
    }
    for (size_t j = 0; j < sidecars.size(); ++j)
      if (load[j] < most) {
        ++load[j];
        send(k + 1, sum + distance(simulation[k], sidecars[j]));
        --load[j];
      }
  };
  send(0, 0);
  return best;
}

void split(const std::vector<Location>& locations, std::mt19937& random,
           std::vector<Location>& simulation, std::vector<Location>& sidecars) {
  for (const Location& location : locations)
    (random() % 3 == 0 ? sidecars : simulation).push_back(location);
}

}  // namespace

TEST_CASE("hand-overs on a node are the nearest that share the load: all ways are tried") {
  std::mt19937 random(11);
  int tried = 0;
  for (const std::string node :
       {"numa:2 core:4", "package:2 numa:2 core:2", "numa:2 l3:2 core:2", "mesh:3x3", "core:6"})
    for (int repeat = 0; repeat < 40; ++repeat) {
      std::vector<Location> simulation, sidecars;
      split(spots_of(node), random, simulation, sidecars);
      if (simulation.empty() || sidecars.empty()) continue;
      const auto server = hand_over_on_nodes(simulation, sidecars);
      CHECK(sum_of_distances(simulation, sidecars, server) == least_sum(simulation, sidecars));
      std::vector<int> load(sidecars.size());
      for (const int s : server) ++load[static_cast<size_t>(s)];
      const auto [least, most] = std::minmax_element(load.begin(), load.end());
      CHECK(*most - *least <= 1);
      ++tried;
    }
  CHECK(tried > 150);
}

TEST_CASE("neighbours share a sidecar where spots are not known") {
  using Servers = std::vector<int>;
  CHECK(hand_over_on_nodes(spots_on({0, 0, 0, 0, 0}), spots_on({0, 0})) == Servers{0, 0, 0, 1, 1});
  CHECK(hand_over_on_nodes(spots_on({0, 1, 0, 1}), spots_on({1, 0})) == Servers{1, 0, 1, 0});
  CHECK(hand_over_on_nodes(spots_on({0, 0}), spots_on({0, 0, 0})).size() == 2);
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
    const auto server = hand_over_on_nodes(spots_on(simulation), spots_on(sidecar));
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

TEST_CASE("anywhere, loads differ by one at most, and ranks stay on their node if they can") {
  std::mt19937 random(6);
  for (int repeat = 0; repeat < 500; ++repeat) {
    std::vector<Location> simulation, sidecars;
    split(spots_of("numa:2 core:3", 1 + static_cast<int>(random() % 4)), random, simulation,
          sidecars);
    if (simulation.empty() || sidecars.empty()) continue;
    const auto server = hand_over_anywhere(simulation, sidecars);
    std::vector<int64_t> load(sidecars.size());
    for (const int s : server) {
      REQUIRE(s >= 0);
      ++load[static_cast<size_t>(s)];
    }
    const auto [least, most] = std::minmax_element(load.begin(), load.end());
    CHECK(*most - *least <= 1);
    // Nobody travels to a node while somebody from another sits with a sidecar of the own.
    for (size_t i = 0; i < simulation.size(); ++i)
      for (size_t k = 0; k < simulation.size(); ++k) {
        const bool travels = sidecars[static_cast<size_t>(server[i])].node != simulation[i].node;
        const auto& taken = sidecars[static_cast<size_t>(server[k])];
        if (travels && simulation[k].node != taken.node) CHECK(taken.node != simulation[i].node);
      }
  }
}

TEST_CASE("of a crowded node the ranks that are nearest to its sidecars stay") {
  // A sidecar and three of the seven ranks there share a domain; two sidecars are on a node without
  // ranks.
  const auto crowded = spots_of("numa:2 core:4", 2);
  std::vector<Location> simulation(crowded.begin(), crowded.begin() + 7);
  const std::vector<Location> sidecars = {crowded[7], crowded[8], crowded[9]};
  const auto server = hand_over_anywhere(simulation, sidecars);
  int stay = 0;
  for (int rank = 0; rank < 7; ++rank)
    if (server[static_cast<size_t>(rank)] == 0) {
      ++stay;
      CHECK(rank >= 4);
    }
  CHECK(stay == 3);
}

TEST_CASE("a node without a sidecar is named") {
  try {
    hand_over_on_nodes(spots_on({0, 0, 1, 2, 1}), spots_on({0, 2}));
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::Placement);
    CHECK(std::string(e.what()).find("node 1 has 2 simulation ranks but no sidecar; start one on "
                                     "every node") != std::string::npos);
  }
}
