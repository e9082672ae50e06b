// SPDX-License-Identifier: BSD-3-Clause
// Rules by their definitions, for machines that one has heard of, and what holds for all machines.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "spots_of_test.hpp"
#include "topology/hand_over.hpp"
#include "topology/mapping.hpp"
#include "topology/place.hpp"

using namespace pillion;
using namespace pillion::topology;

namespace {

using Cores = std::vector<int>;

Placement placed(const std::vector<Location>& locations, int64_t per_node, Mapping mapping) {
  return place(std::vector<Role>(locations.size(), Role::Any), locations,
               {.per_node = per_node, .mapping = mapping, .stay_on_node = true});
}

Cores sidecars_of(const Placement& placement) {
  Cores out;
  for (size_t r = 0; r < placement.roles.size(); ++r)
    if (placement.roles[r] == Role::Sidecar) out.push_back(static_cast<int>(r));
  return out;
}

Cores sidecars(const std::string& node, int64_t count, Mapping mapping) {
  return sidecars_of(placed(spots_of(node), count, mapping));
}

Cores loads_of(const Placement& placement) {
  std::map<int, int> load;
  for (const int r : sidecars_of(placement)) load[r] = 0;
  for (const int server : placement.server)
    if (server >= 0) ++load[server];
  Cores out;
  for (const auto& [rank, count] : load) out.push_back(count);
  return out;
}

int64_t crossings(const std::vector<Location>& locations, const Placement& placement) {
  int64_t count = 0;
  for (size_t r = 0; r < locations.size(); ++r)
    if (const int server = placement.server[r]; server >= 0)
      count += locations[r].numa != locations[static_cast<size_t>(server)].numa ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("two sockets of 16 cores, 3:1") {
  const std::string haswell = "package:2 numa:1 core:16";
  CHECK(sidecars(haswell, 8, Mapping::Contiguous) == Cores{24, 25, 26, 27, 28, 29, 30, 31});
  CHECK(sidecars(haswell, 8, Mapping::Striped) == Cores{3, 7, 11, 15, 19, 23, 27, 31});
  CHECK(sidecars(haswell, 8, Mapping::Numa) == Cores{12, 13, 14, 15, 28, 29, 30, 31});
  // Nobody crosses with 12 simulation cores and 4 sidecars in each domain.
  const auto locations = spots_of(haswell);
  CHECK(crossings(locations, placed(locations, 8, Mapping::Numa)) == 0);
  CHECK(crossings(locations, placed(locations, 8, Mapping::Contiguous)) == 16);
  CHECK(loads_of(placed(locations, 8, Mapping::Numa)) == Cores(8, 3));
}

TEST_CASE("an 8 x 8 mesh, 7:1: each column hands over in its middle") {
  const auto locations = spots_of("mesh:8x8");
  CHECK(sidecars("mesh:8x8", 8, Mapping::Contiguous) == Cores{56, 57, 58, 59, 60, 61, 62, 63});
  CHECK(sidecars("mesh:8x8", 8, Mapping::Striped) == Cores{7, 15, 23, 31, 39, 47, 55, 63});
  const auto folded = placed(locations, 8, Mapping::Folded);
  CHECK(sidecars_of(folded) == Cores{32, 33, 34, 35, 36, 37, 38, 39});
  for (size_t r = 0; r < locations.size(); ++r)
    if (const int server = folded.server[r]; server >= 0)
      CHECK(locations[r].column == locations[static_cast<size_t>(server)].column);
  // Four sidecars: two neighbouring columns each.
  const auto few = placed(locations, 4, Mapping::Folded);
  CHECK(sidecars_of(few).size() == 4);
  for (size_t r = 0; r < locations.size(); ++r)
    if (const int server = few.server[r]; server >= 0)
      CHECK(std::abs(locations[r].column - locations[static_cast<size_t>(server)].column) <= 1);
  CHECK(sidecars("mesh:8x8", 16, Mapping::Folded).size() == 16);
}

TEST_CASE("128 cores in 8 domains") {
  const std::string epyc = "package:2 numa:4 l3:4 core:4";
  const auto locations = spots_of(epyc);
  CHECK(sidecars(epyc, 8, Mapping::Numa) == Cores{15, 31, 47, 63, 79, 95, 111, 127});
  CHECK(sidecars(epyc, 8, Mapping::Striped) == Cores{15, 31, 47, 63, 79, 95, 111, 127});
  const auto numa = placed(locations, 16, Mapping::Numa);
  CHECK(crossings(locations, numa) == 0);
  CHECK(loads_of(numa) == Cores(16, 7));
}

TEST_CASE("whatever the machine: the number is right, loads are within one, no rule beats auto") {
  std::mt19937 random(23);
  for (const std::string node : {"core:2", "package:2 core:16", "mesh:8x8", "mesh:4x3",
                                 "numa:2 core:6", "core:7", "package:2 numa:2 l3:2 core:4"}) {
    const auto one = spots_of(node, 2);
    for (int repeat = 0; repeat < (node == "mesh:8x8" ? 2 : 12); ++repeat) {
      const auto cores = static_cast<unsigned>(one.size() / 2);
      const auto count = static_cast<int64_t>(1 + random() % (cores - 1));
      CAPTURE(node);
      CAPTURE(count);
      const auto automatic = placed(one, count, Mapping::Auto);
      for (const auto mapping : model::all_mappings) {
        const auto placement = placed(one, count, mapping);
        CAPTURE(name_of(mapping));
        CHECK(sidecars_of(placement).size() == static_cast<size_t>(2 * count));
        const auto loads = loads_of(placement);
        CHECK(*std::max_element(loads.begin(), loads.end()) -
                  *std::min_element(loads.begin(), loads.end()) <=
              1);
        for (size_t r = 0; r < one.size(); ++r) {
          if (placement.roles[r] == Role::Sidecar) CHECK(placement.server[r] == -1);
          else CHECK(one[static_cast<size_t>(placement.server[r])].node == one[r].node);
        }
        CHECK(automatic.cost <= placement.cost);
        const auto whole = place(std::vector<Role>(one.size(), Role::Any), one,
                                 {.ranks = count, .mapping = mapping});
        CHECK(sidecars_of(whole).size() == static_cast<size_t>(count));
      }
    }
  }
}

TEST_CASE("auto is the best of all choices on small nodes") {
  for (const std::string node : {"numa:2 core:4", "package:2 numa:2 core:2", "numa:3 core:3"})
    for (int64_t count = 1; count <= 4; ++count) {
      const auto locations = spots_of(node);
      double least = std::numeric_limits<double>::max();
      for (unsigned choice = 0; choice < 1U << locations.size(); ++choice) {
        if (std::popcount(choice) != count) continue;
        std::vector<Role> roles(locations.size());
        for (size_t r = 0; r < locations.size(); ++r)
          roles[r] = (choice >> r & 1U) != 0 ? Role::Sidecar : Role::Simulation;
        least = std::min(least, serve(roles, locations, true).cost);
      }
      CAPTURE(node);
      CAPTURE(count);
      CHECK(placed(locations, count, Mapping::Auto).cost == doctest::Approx(least));
    }
}

TEST_CASE("the cost is what its definition says") {
  // Two domains of three cores; both sidecars in the second: 3 hand-overs cross (4 levels, no
  // package being told apart means 3), 1 stays (2 levels); all 4 go into one of two domains.
  const auto locations = spots_of("numa:2 core:3");
  const std::vector<Location> simulation{locations[0], locations[1], locations[2], locations[3]};
  const std::vector<Location> sidecars{locations[4], locations[5]};
  CHECK(cost_of(simulation, sidecars, {0, 0, 1, 1}) == doctest::Approx(3 * 3 + 2 + 16.0 / 2));
}

TEST_CASE("numa counts ranks that insist in their domains") {
  const auto locations = spots_of("numa:2 core:8");
  const auto with = [&](Cores insist, Role role, int64_t per_node) {
    std::vector<Role> insisted(locations.size(), Role::Any);
    for (const int core : insist) insisted[static_cast<size_t>(core)] = role;
    return place(insisted, locations,
                 {.per_node = per_node, .mapping = Mapping::Numa, .stay_on_node = true});
  };
  const auto cars = with({0, 1}, Role::Sidecar, 4);
  CHECK(sidecars_of(cars) == Cores{0, 1, 14, 15});
  CHECK(crossings(locations, cars) == 0);
  const auto sims = with({0, 1, 2, 3, 4, 5}, Role::Simulation, 2);
  CHECK(sidecars_of(sims) == Cores{7, 15});
  CHECK(crossings(locations, sims) == 0);
  // More than the share of their domain, or no room for it: the other takes what is left.
  CHECK(sidecars_of(with({0, 1, 2}, Role::Sidecar, 4)) == Cores{0, 1, 2, 15});
  CHECK(sidecars_of(with({0, 1, 2}, Role::Sidecar, 3)) == Cores{0, 1, 2});
  CHECK(sidecars_of(with({0, 1, 2, 3, 4, 5, 6, 7}, Role::Simulation, 2)) == Cores{14, 15});
}

TEST_CASE("sidecars of the whole job are dealt to domains of all nodes") {
  const auto locations = spots_of("numa:2 core:4", 4);
  const std::vector<Role> any(locations.size(), Role::Any);
  const auto numa = place(any, locations, {.ranks = 8, .mapping = Mapping::Numa});
  CHECK(sidecars_of(numa) == Cores{3, 7, 11, 15, 19, 23, 27, 31});
  CHECK(crossings(locations, numa) == 0);
  const auto last = place(any, locations, {.ranks = 8, .mapping = Mapping::Contiguous});
  CHECK(sidecars_of(last) == Cores{24, 25, 26, 27, 28, 29, 30, 31});
}

TEST_CASE("a core that is left idle takes no sidecar from its domain") {
  for (const auto& [node, domains] :
       {std::pair{"numa:2 core:16", 2}, std::pair{"numa:4 core:16", 4},
        std::pair{"package:2 numa:4 l3:4 core:4", 8}})
    for (const int64_t each : {1, 2})
      for (const size_t missing : {size_t{0}, size_t{5}, spots_of(node).size() - 1}) {
        auto locations = spots_of(node);
        // As the operating system keeps it.
        locations.erase(locations.begin() + static_cast<std::ptrdiff_t>(missing));
        const auto numa = placed(locations, each * domains, Mapping::Numa);
        CAPTURE(node);
        CAPTURE(each);
        CAPTURE(missing);
        std::map<int, int64_t> in_domain;
        for (const int r : sidecars_of(numa)) ++in_domain[locations[static_cast<size_t>(r)].numa];
        CHECK(in_domain.size() == static_cast<size_t>(domains));
        for (const auto& [domain, sidecars] : in_domain) CHECK(sidecars == each);
        CHECK(crossings(locations, numa) == 0);
      }
  // 12 ranks and 20: two sidecars and three have five or six to serve there, one and four have not.
  auto uneven = spots_of("numa:2 core:20");
  uneven.erase(uneven.begin(), uneven.begin() + 8);
  CHECK(crossings(uneven, placed(uneven, 5, Mapping::Numa)) == 0);
}

TEST_CASE("spots count, not numbers of ranks") {
  // Ranks that a launcher dealt to two domains in turn.
  auto locations = spots_of("numa:2 core:4");
  std::vector<Location> dealt;
  for (size_t i = 0; i < 4; ++i) {
    dealt.push_back(locations[i]);
    dealt.push_back(locations[4 + i]);
  }
  const auto numa = placed(dealt, 2, Mapping::Numa);
  CHECK(sidecars_of(numa) == Cores{6, 7});
  CHECK(crossings(dealt, numa) == 0);
  CHECK(sidecars_of(placed(dealt, 2, Mapping::Contiguous)) == Cores{5, 7});
}

TEST_CASE("domains that share a cache are not crossed either") {
  const auto locations = spots_of("package:1 l3:1 numa:2 core:4");
  std::vector<Location> dealt;
  for (size_t i = 0; i < 4; ++i) {
    dealt.push_back(locations[i]);
    dealt.push_back(locations[4 + i]);
  }
  CHECK(crossings(dealt, placed(dealt, 2, Mapping::Numa)) == 0);
}

TEST_CASE("bettering keeps to the effort that it is allowed") {
  const auto locations = spots_of("package:2 numa:4 l3:4 core:4");
  NodeRanks node{locations, std::vector<Role>(128, Role::Any),
                 std::vector<Role>(128, Role::Simulation)};
  std::fill(node.roles.end() - 16, node.roles.end(), Role::Sidecar);
  const int64_t trial = 112 * 16;
  int64_t effort = trial - 1;
  CHECK(improve_roles(node, effort) == node.roles);
  CHECK(effort == trial - 1);
  effort = 40 * trial;
  const auto better = improve_roles(node, effort);
  CHECK(effort >= 0);
  CHECK(better != node.roles);
  CHECK(serve(better, locations, true).cost < serve(node.roles, locations, true).cost);
}

TEST_CASE("a trial is dear where ranks share cores, since no two are alike then") {
  auto locations = spots_of("package:2 numa:4 core:16");
  const auto threads = locations;
  locations.insert(locations.end(), threads.begin(), threads.end());
  NodeRanks node{locations, std::vector<Role>(256, Role::Any),
                 std::vector<Role>(256, Role::Simulation)};
  std::fill(node.roles.begin() + 128, node.roles.end(), Role::Sidecar);
  std::swap(node.roles.front(), node.roles.back());
  const int64_t trial = 128 * 128 * (1 + 128 / 8);
  int64_t effort = trial - 1;
  (void)improve_roles(node, effort);
  CHECK(effort == trial - 1);
  effort = 3 * trial;
  (void)improve_roles(node, effort);
  CHECK(effort == 0);
}

TEST_CASE("nodes are bettered alike however ranks are numbered on them") {
  // Uneven, so that no rule is the best choice.
  const auto one = spots_of("numa:3 core:5");
  for (int64_t count = 2; count < 8; ++count) {
    const auto least = placed(one, count, Mapping::Auto).cost;
    std::mt19937 random(3);
    auto many = spots_of("numa:3 core:5", 4);
    std::shuffle(many.begin(), many.end(), random);
    CHECK(placed(many, count, Mapping::Auto).cost == doctest::Approx(4 * least));
  }
}
