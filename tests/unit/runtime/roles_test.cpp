// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/roles.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"

using namespace pillion;
using namespace pillion::runtime;

namespace {

constexpr auto any = Role::Any, sim = Role::Simulation, car = Role::Sidecar;
using Roles = std::vector<Role>;

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
