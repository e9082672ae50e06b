// SPDX-License-Identifier: BSD-3-Clause
#include "products/timeline.hpp"

#include <doctest/doctest.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <fstream>

using namespace pillion::products;

// JSON is YAML, so another library can read the trace.
TEST_CASE("a trace holds every event until the timeline is full, and says what it left out") {
  Timeline timeline(2);
  timeline.add({"one \"x\"", "analysis", 100.5, 101.0, 7});
  timeline.add({"two", "stall", 101, 102, 8});
  timeline.add({"three", "stall", 102, 103, 9});
  const auto trace =
      YAML::Load(format_trace({{"simulation", 3, timeline.serialise()}}, 100, "f00"));
  CHECK(trace["otherData"]["run"].as<std::string>() == "f00");
  const auto events = trace["traceEvents"];
  REQUIRE(events.size() == 5);
  CHECK(events[1]["args"]["name"].as<std::string>() == "simulation rank 3");
  CHECK(events[2]["name"].as<std::string>() == "one \"x\"");
  CHECK(events[2]["ts"].as<double>() == doctest::Approx(5e5));
  CHECK(events[2]["dur"].as<double>() == doctest::Approx(5e5));
  CHECK(events[2]["args"]["step"].as<int>() == 7);
  CHECK(events[4]["name"].as<std::string>().find("1 later") == 0);
}

TEST_CASE("details leave half of a timeline to what they are details of") {
  Timeline timeline(4);
  for (int i = 0; i < 3; ++i) timeline.add_detail({"stage", "stage", 1, 2, i});
  for (int i = 0; i < 2; ++i) timeline.add({"all", "analysis", 1, 2, i});
  const auto trace = YAML::Load(format_trace({{"sidecar", 0, timeline.serialise()}}, 0, "f00"));
  const auto events = trace["traceEvents"];
  REQUIRE(events.size() == 2 + 4 + 1);
  CHECK(events[3]["cat"].as<std::string>() == "stage");
  CHECK(events[5]["cat"].as<std::string>() == "analysis");
}

TEST_CASE("a timeline that is followed is a file of lines, whole after every event") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("pillion-timeline-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const auto lines = [&] {
    std::ifstream file(folder / "sidecar-3.jsonl");
    std::vector<YAML::Node> out;
    for (std::string line; std::getline(file, line);) out.push_back(YAML::Load(line));
    return out;
  };
  Timeline timeline(1);
  timeline.add({"before", "analysis", 99, 100, 6});
  timeline.follow(folder, "sidecar", 3);
  CHECK(lines().empty());
  timeline.add({"one", "analysis", 100.5, 101.0, 7});
  REQUIRE(lines().size() == 1);
  timeline.add_detail({"two", "stage", 101.0, 101.25, 8});
  const auto found = lines();
  REQUIRE(found.size() == 2);
  CHECK(found[0]["ts"].as<double>() == doctest::Approx(100.5e6));
  CHECK(found[0]["pid"].as<int>() == 2);
  CHECK(found[0]["tid"].as<int>() == 3);
  CHECK(found[1]["name"].as<std::string>() == "two");
  CHECK(found[1]["dur"].as<double>() == doctest::Approx(0.25e6));
  CHECK(found[1]["args"]["step"].as<int>() == 8);
  CHECK_THROWS(timeline.follow(folder / "nowhere", "sidecar", 3));
  std::filesystem::remove_all(folder);
}
