// SPDX-License-Identifier: BSD-3-Clause
#include "products/timeline.hpp"

#include <doctest/doctest.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <fstream>

using namespace pillion::products;

namespace {

// JSON is YAML, so another library can read the trace.
YAML::Node read_trace(const std::vector<std::string>& parts) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("pillion-trace-" + std::to_string(::getpid()) + ".json");
  TraceFile file(path, "f00");
  for (const auto& part : parts) file.add(part);
  CHECK_FALSE(std::filesystem::exists(path));
  file.finish();
  const auto trace = YAML::LoadFile(path.string());
  std::filesystem::remove(path);
  return trace;
}

}  // namespace

TEST_CASE("a trace holds the first events as they are, and the sums of later ones") {
  Timeline timeline(2);
  timeline.add({"one \"x\"", "analysis", 100.5, 101.0, 7});
  timeline.add({"two", "stall", 101, 102, 8});
  timeline.add({"three", "stall", 102, 102.01, 9});
  timeline.add({"three", "stall", 102.02, 102.03, 10});
  const auto trace = read_trace({timeline.format("simulation", 3, 100)});
  CHECK(trace["otherData"]["run"].as<std::string>() == "f00");
  const auto events = trace["traceEvents"];
  REQUIRE(events.size() == 5);
  CHECK(events[1]["args"]["name"].as<std::string>() == "simulation rank 3");
  CHECK(events[2]["name"].as<std::string>() == "one \"x\"");
  CHECK(events[2]["ts"].as<double>() == doctest::Approx(5e5));
  CHECK(events[2]["dur"].as<double>() == doctest::Approx(5e5));
  CHECK(events[2]["args"]["step"].as<int>() == 7);
  CHECK(events[4]["name"].as<std::string>() == "three");
  CHECK(events[4]["ts"].as<double>() == doctest::Approx(2e6));
  CHECK(events[4]["dur"].as<double>() == doctest::Approx(3e4));
  CHECK(events[4]["args"]["events"].as<int>() == 2);
  CHECK(events[4]["args"]["seconds"].as<double>() == doctest::Approx(0.02));
  CHECK(events[4]["args"]["step"].as<int>() == 9);
}

TEST_CASE("a trace has the parts of any number of ranks") {
  Timeline timeline(2);
  CHECK(read_trace({})["traceEvents"].size() == 0);
  const auto part = timeline.format("sidecar", 0, 0);
  CHECK(read_trace({part, part, part})["traceEvents"].size() == 6);
}

TEST_CASE("a long run's timeline is bounded, and its sums keep all the time") {
  constexpr size_t capacity = 64;
  Timeline timeline(capacity);
  double spent = 0;
  constexpr int publications = 20000;
  for (int i = 0; i < publications; ++i) {
    const double begin = 1000 + 0.7 * i;
    timeline.add({"copy", "publish", begin, begin + 0.1, i});
    // Some events span windows.
    timeline.add({"fft", "analysis", begin + 0.1, begin + 0.1 + 0.05 * (i % 7), i});
    spent += 0.1 + 0.05 * (i % 7);
  }
  const auto text = timeline.format("sidecar", 0, 1000);
  const auto events = read_trace({text})["traceEvents"];
  CHECK(events.size() <= 2 + 2 * capacity);
  CHECK(events.size() > 2 + capacity + capacity / 4);
  double kept = 0, end = 0;
  int64_t counted = 0;
  for (const auto& event : events) {
    if (event["ph"].as<std::string>() != "X") continue;
    const double length = event["dur"].as<double>() * 1e-6;
    const auto seconds = event["args"]["seconds"];
    kept += seconds ? seconds.as<double>() : length;
    counted += seconds ? event["args"]["events"].as<int64_t>() : 1;
    // No rank is busy for more than all of a window.
    if (seconds) CHECK(seconds.as<double>() <= length * (1 + 1e-6));
    end = std::max(end, event["ts"].as<double>() * 1e-6 + length);
  }
  CHECK(counted == 2 * publications);
  CHECK(kept == doctest::Approx(spent));
  CHECK(end == doctest::Approx(0.7 * (publications - 1) + 0.1 + 0.05 * ((publications - 1) % 7)));
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
  timeline.add({"two", "stage", 101.0, 101.25, 8});
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

TEST_CASE("a link that lies where a timeline is followed is not") {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("pillion-timeline-link-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto precious = folder / "precious.txt";
  std::ofstream(precious) << "precious";
  std::filesystem::create_symlink(precious, folder / "simulation-0.jsonl");
  {
    Timeline timeline(4);
    timeline.follow(folder, "simulation", 0);
    timeline.add({"one", "analysis", 1, 2, 7});
  }
  std::string kept;
  std::getline(std::ifstream(precious), kept);
  CHECK(kept == "precious");
  CHECK_FALSE(std::filesystem::is_symlink(folder / "simulation-0.jsonl"));
  std::filesystem::remove_all(folder);
}
