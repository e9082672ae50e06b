// SPDX-License-Identifier: BSD-3-Clause
// A step asks only what its host can answer: a host that is older than a function has a shorter
// table, and nothing behind its end may be called.
#include <doctest/doctest.h>

#include <pillion/stage.hpp>
#include <string>

using namespace pillion;

namespace {

pillion_stage_host host_with(int32_t (*coarsening)(const pillion_work*, const char*)) {
  pillion_stage_host host{};
  host.abi_version = PILLION_STAGE_ABI_VERSION;
  host.size = sizeof host;
  host.failure = [] { return "no such mesh"; };
  host.coarsening = coarsening;
  return host;
}

}  // namespace

TEST_CASE("how coarse a publication is") {
  const auto host = host_with(
      [](const pillion_work*, const char* mesh) { return std::string(mesh) == "grid" ? 4 : 0; });
  const stage::Step step(&host, nullptr);
  CHECK(step.coarsening("grid") == 4);
  CHECK_THROWS_WITH_AS((void)step.coarsening("gird"), "no such mesh", Error);
}

TEST_CASE("hosts from before there were coarse publications have none") {
  auto host = host_with(nullptr);
  host.size = offsetof(pillion_stage_host, coarsening);
  CHECK(stage::Step(&host, nullptr).coarsening("grid") == 1);
}
