// SPDX-License-Identifier: BSD-3-Clause
#include "topology/place.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "base/error.hpp"
#include "spots_of_test.hpp"

using namespace pillion;
using namespace pillion::topology;

namespace {

constexpr auto any = Role::Any, sim = Role::Simulation, car = Role::Sidecar;
using Roles = std::vector<Role>;

Roles assign_roles(const Roles& wanted, int64_t sidecars) {
  return place(wanted, spots_on(std::vector<int>(wanted.size())), {.ranks = sidecars}).roles;
}

Roles assign_roles_per_node(const Roles& wanted, const std::vector<int>& node, int64_t per_node) {
  return place(wanted, spots_on(node), {.per_node = per_node, .stay_on_node = true}).roles;
}

}  // namespace

TEST_CASE("the last ranks become sidecars unless ranks insist") {
  CHECK(assign_roles({any, any, any}, 0) == Roles{sim, sim, sim});
  CHECK(assign_roles({any, any, any}, 1) == Roles{sim, sim, car});
  CHECK(assign_roles({any, any, sim}, 1) == Roles{sim, car, sim});
  CHECK(assign_roles({car, any, any}, 1) == Roles{car, sim, sim});
  CHECK(assign_roles({car, any, any}, 2) == Roles{car, sim, car});
}

TEST_CASE("too few of either kind is an error") {
  for (const auto& [wanted, sidecars] : std::vector<std::pair<Roles, int64_t>>{
           {{any}, 1}, {{any, any}, 2}, {{any, any}, 3}, {{sim, sim}, 1}, {{car, car, any}, 1}}) {
    try {
      assign_roles(wanted, sidecars);
      FAIL("no error");
    } catch (const Error& e) {
      CHECK(e.code() == ErrorCode::Placement);
    }
  }
}

TEST_CASE("the last ranks of every node become sidecars unless ranks insist") {
  CHECK(assign_roles_per_node({any, any, any}, {0, 0, 0}, 1) == Roles{sim, sim, car});
  CHECK(assign_roles_per_node({any, any, any, any}, {0, 1, 0, 1}, 1) == Roles{sim, sim, car, car});
  CHECK(assign_roles_per_node({any, any, sim, any, car, any}, {0, 0, 0, 1, 1, 1}, 1) ==
        Roles{sim, car, sim, sim, car, sim});
  CHECK(assign_roles_per_node({car, any, any, any}, {0, 0, 0, 0}, 2) == Roles{car, sim, sim, car});
}

namespace {

/// The roles of one node by trying every choice of sidecars and keeping the one with the latest
/// ranks.
std::optional<Roles> best_choice(const Roles& wanted, int64_t sidecars) {
  std::optional<unsigned> best;
  const unsigned ranks = static_cast<unsigned>(wanted.size());
  for (unsigned choice = 0; choice < (1U << ranks); ++choice) {
    int64_t chosen = 0;
    bool fits = choice != (1U << ranks) - 1;
    for (unsigned r = 0; r < ranks; ++r) {
      const bool is_car = (choice >> r & 1U) != 0;
      chosen += is_car ? 1 : 0;
      fits = fits && wanted[r] != (is_car ? sim : car);
    }
    if (fits && chosen == sidecars) best = choice;
  }
  if (!best) return {};
  Roles roles;
  for (unsigned r = 0; r < ranks; ++r) roles.push_back((*best >> r & 1U) != 0 ? car : sim);
  return roles;
}

}  // namespace

TEST_CASE("roles per node agree with trying every choice on every node") {
  std::mt19937 random(7);
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  int refused = 0;
  for (int repeat = 0; repeat < 2000; ++repeat) {
    std::vector<Roles> on_node(1 + static_cast<size_t>(below(3)));
    Roles wanted;
    std::vector<int> node;
    for (size_t r = on_node.size() + static_cast<size_t>(below(9)); r-- > 0;) {
      node.push_back(r < on_node.size() ? static_cast<int>(r)
                                        : below(static_cast<unsigned>(on_node.size())));
      const int wish = below(8);
      wanted.push_back(wish == 0 ? sim : wish == 1 ? car : any);
      on_node[static_cast<size_t>(node.back())].push_back(wanted.back());
    }
    const int64_t per_node = 1 + below(2);
    std::vector<std::optional<Roles>> expected;
    for (const auto& wishes : on_node) expected.push_back(best_choice(wishes, per_node));
    try {
      const auto roles = assign_roles_per_node(wanted, node, per_node);
      std::vector<Roles> found(on_node.size());
      for (size_t r = 0; r < roles.size(); ++r)
        found[static_cast<size_t>(node[r])].push_back(roles[r]);
      for (size_t n = 0; n < found.size(); ++n) {
        REQUIRE(expected[n].has_value());
        CHECK(found[n] == *expected[n]);
      }
    } catch (const Error& e) {
      CHECK(e.code() == ErrorCode::Placement);
      ++refused;
      CHECK_FALSE(std::all_of(expected.begin(), expected.end(), [](auto& x) { return !!x; }));
    }
  }
  CHECK(refused > 100);
  CHECK(refused < 1900);
}

TEST_CASE("an error names the node, its ranks, and what to do") {
  const auto error_of = [](const Roles& wanted, int64_t per_node) -> std::string {
    try {
      assign_roles_per_node(wanted, {0, 0, 0, 1, 1}, per_node);
    } catch (const Error& e) {
      CHECK(e.code() == ErrorCode::Placement);
      return e.what();
    }
    return "no error";
  };
  const auto has = [](const std::string& text, const char* part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has(error_of({any, any, any, any, any}, 2), "2 sidecars of the 2 ranks on node 1 leave none");
  has(error_of({any, any, any, sim, sim}, 1), "only 0 of the 2 ranks on node 1 may become one");
  has(error_of({any, any, any, car, car}, 1), "2 of the 2 ranks on node 1 insist");
  has(error_of({any, any, any, any, any}, 2), "start more ranks there or ask for fewer");
}
