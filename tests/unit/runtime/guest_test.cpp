// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/guest.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>

using namespace pillion;
using namespace pillion::runtime;

namespace {

model::Configuration configuration_of(const std::string& text) {
  Word word;
  word.file = "run.yaml";
  word.text = text;
  return word.configuration(0);
}

const std::string run =
    "output: x\nmeshes: {g: {kind: uniform, cells: [4]}}\n"
    "fields: {d: {mesh: g, type: float64}}\n"
    "analyses: {mean: {every: 1 steps, stages: [statistics: {fields: d}]}}\n";

}  // namespace

TEST_CASE("a guest is read as it was written") {
  Guest guest;
  guest.name = "extra";
  guest.text = "analyses: {}";
  guest.file = "extra.yaml";
  guest.parameters = {{"bins", "5"}};
  guest.needs = {{{"d", "e"}, "deposit"}, {}};
  const Guest out = read_guest(bytes_of(guest));
  CHECK(out.name == guest.name);
  CHECK(out.text == guest.text);
  CHECK(out.file == guest.file);
  CHECK(out.parameters == guest.parameters);
  CHECK(out.needs == guest.needs);
}

TEST_CASE("a guest's analyses are read against the run's catalogue, with its own parameters") {
  Guest guest;
  guest.file = "extra.yaml";
  guest.text =
      "analyses: {spread: {every: 1 steps, stages: [histogram: {field: d, bins: $bins, range: "
      "auto}]}}\n";
  guest.parameters = {{"bins", "5"}};
  const auto analyses = guest.analyses(configuration_of(run).catalogue, {});
  REQUIRE(analyses.size() == 1);
  CHECK(analyses[0].name == "spread");
}

TEST_CASE("an analysis that the run has already is refused") {
  Guest guest;
  guest.file = "extra.yaml";
  guest.text = "analyses: {mean: {every: 1 steps, stages: [statistics: {fields: d}]}}\n";
  try {
    static_cast<void>(guest.analyses(configuration_of(run).catalogue, {"mean"}));
    FAIL("it was taken");
  } catch (const Error& e) {
    CHECK(std::string(e.what()).find("mean") != std::string::npos);
    CHECK(std::string(e.what()).find("extra.yaml") != std::string::npos);
  }
}

TEST_CASE("what would crash or starve the simulation is refused as an error of the guest") {
  const auto catalogue = configuration_of(run).catalogue;
  const auto error_of = [&](const std::string& text) -> std::string {
    Guest guest;
    guest.file = "extra.yaml";
    guest.text = text;
    try {
      static_cast<void>(read_guest(bytes_of(guest)).analyses(catalogue, {}));
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
  Guest guest;
  guest.needs = {{.fields = {"d"}, .whole_for = {}}};
  const base::Bytes good = bytes_of(guest);
  // Each of the numbers says how much follows; one that says too much must not be believed.
  for (size_t at = 0; at + sizeof(int64_t) <= good.size(); at += sizeof(int64_t))
    for (const int64_t number : {INT64_MIN, int64_t{-1}, int64_t{1} << 40, INT64_MAX}) {
      base::Bytes bad = good;
      std::memcpy(bad.data() + at, &number, sizeof number);
      if (at == 3 * sizeof(int64_t) && number < 0) continue;  // fewer than no parameters are none
      CHECK_THROWS_AS(static_cast<void>(read_guest(bad)), Error);
    }
}
