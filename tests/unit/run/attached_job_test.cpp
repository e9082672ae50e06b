// SPDX-License-Identifier: BSD-3-Clause
#include "run/attached_job.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>

using namespace pillion;
using namespace pillion::run;

namespace {

model::Configuration configuration_of(const std::string& text) {
  RunSpec spec;
  spec.file = "run.yaml";
  spec.text = text;
  return spec.configuration(0);
}

const std::string configuration_text =
    "output: x\nmeshes: {g: {kind: uniform, cells: [4]}}\n"
    "fields: {d: {mesh: g, type: float64}}\n"
    "analyses: {mean: {every: 1 steps, stages: [statistics: {fields: d}]}}\n";

}  // namespace

TEST_CASE("an attached job is read as it was written") {
  AttachedJob attached_job;
  attached_job.name = "extra";
  attached_job.text = "analyses: {}";
  attached_job.file = "extra.yaml";
  attached_job.parameters = {{"bins", "5"}};
  attached_job.needs = {{{"d", "e"}, "deposit"}, {}};
  const AttachedJob out = base::from_bytes<AttachedJob>(base::to_bytes(attached_job));
  CHECK(out.name == attached_job.name);
  CHECK(out.text == attached_job.text);
  CHECK(out.file == attached_job.file);
  CHECK(out.parameters == attached_job.parameters);
  CHECK(out.needs == attached_job.needs);
}

TEST_CASE(
    "an attached job's analyses are read against the run's catalogue, with its own parameters") {
  AttachedJob attached_job;
  attached_job.file = "extra.yaml";
  attached_job.text =
      "analyses: {spread: {every: 1 steps, stages: [histogram: {field: d, bins: $bins, range: "
      "auto}]}}\n";
  attached_job.parameters = {{"bins", "5"}};
  const auto analyses = attached_job.analyses(configuration_of(configuration_text).catalogue, {});
  REQUIRE(analyses.size() == 1);
  CHECK(analyses[0].name == "spread");
}

TEST_CASE("an analysis that the run has already is refused") {
  AttachedJob attached_job;
  attached_job.file = "extra.yaml";
  attached_job.text = "analyses: {mean: {every: 1 steps, stages: [statistics: {fields: d}]}}\n";
  try {
    static_cast<void>(
        attached_job.analyses(configuration_of(configuration_text).catalogue, {"mean"}));
    FAIL("it was taken");
  } catch (const Error& e) {
    CHECK(std::string(e.what()).find("mean") != std::string::npos);
    CHECK(std::string(e.what()).find("extra.yaml") != std::string::npos);
  }
}

TEST_CASE("what would crash or starve the simulation is refused as an error of the attached job") {
  const auto catalogue = configuration_of(configuration_text).catalogue;
  const auto error_of = [&](const std::string& text) -> std::string {
    AttachedJob attached_job;
    attached_job.file = "extra.yaml";
    attached_job.text = text;
    try {
      static_cast<void>(
          base::from_bytes<AttachedJob>(base::to_bytes(attached_job)).analyses(catalogue, {}));
    } catch (const Error& e) {
      return e.what();
    }
    return "it was taken";
  };
  std::string condition = "1";
  while (condition.size() < 60'000) condition.insert(0, "not ");
  CHECK(error_of("analyses: &a {x: *a}").starts_with("extra.yaml:1: an alias refers"));
  CHECK(error_of("analyses: " + std::string(60'000, '[')).starts_with("extra.yaml:1: lists and"));
  CHECK(error_of("analyses: {x: {when: " + condition + ", stages: []}}").find("at character 403") !=
        std::string::npos);
  CHECK(error_of("analyses: {x: \xB0}").find("is not UTF-8") != std::string::npos);
}

TEST_CASE("a board with anything else on it is refused as an error") {
  AttachedJob attached_job;
  attached_job.needs = {{.fields = {"d"}, .whole_for = {}}};
  const base::Bytes good = base::to_bytes(attached_job);
  // Each of the numbers says how much follows; one that says too much must not be believed.
  for (size_t at = 0; at + sizeof(int64_t) <= good.size(); at += sizeof(int64_t))
    for (const int64_t number : {INT64_MIN, int64_t{-1}, int64_t{1} << 40, INT64_MAX}) {
      base::Bytes bad = good;
      std::memcpy(bad.data() + at, &number, sizeof number);
      if (at == 3 * sizeof(int64_t) && number < 0) continue;  // fewer than no parameters are none
      CHECK_THROWS_AS(static_cast<void>(base::from_bytes<AttachedJob>(bad)), Error);
    }
}
