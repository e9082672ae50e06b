// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/guest.hpp"

#include <doctest/doctest.h>

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
  guest.needs = {{"d", "e"}, {}};
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
