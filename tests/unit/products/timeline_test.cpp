// SPDX-License-Identifier: BSD-3-Clause
#include "products/timeline.hpp"

#include <doctest/doctest.h>
#include <yaml-cpp/yaml.h>

using namespace pillion::products;

// JSON is YAML, so another library can read the trace.
TEST_CASE("a trace holds every event until the timeline is full, and says what it left out") {
  Timeline timeline(2);
  timeline.add({"one \"x\"", "analysis", 100.5, 101.0, 7});
  timeline.add({"two", "stall", 101, 102, 8});
  timeline.add({"three", "stall", 102, 103, 9});
  const auto trace = YAML::Load(format_trace({{"simulation", 3, timeline.serialise()}}, 100));
  const auto events = trace["traceEvents"];
  REQUIRE(events.size() == 5);
  CHECK(events[1]["args"]["name"].as<std::string>() == "simulation rank 3");
  CHECK(events[2]["name"].as<std::string>() == "one \"x\"");
  CHECK(events[2]["ts"].as<double>() == doctest::Approx(5e5));
  CHECK(events[2]["dur"].as<double>() == doctest::Approx(5e5));
  CHECK(events[2]["args"]["step"].as<int>() == 7);
  CHECK(events[4]["name"].as<std::string>().find("1 later") == 0);
}
