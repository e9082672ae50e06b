// SPDX-License-Identifier: BSD-3-Clause
#include "run/checkpoint.hpp"

#include <doctest/doctest.h>

using namespace pillion;
using namespace pillion::run;

TEST_CASE("a manifest reads back as it was") {
  Manifest manifest{.step = 12345678901,
                    .time = 0.1 + 0.2,
                    .offset = 50,
                    .runs = {"00e1", "00e2"},
                    .analyses = {}};
  manifest.analyses["a b: c"] = {model::Reached(7), true, 3};
  manifest.analyses["plain"] = {{}, false, 0};
  const auto read = parse_manifest(format_manifest(manifest), "m");
  CHECK(read.runs == manifest.runs);
  CHECK(read.step == manifest.step);
  CHECK(read.time == manifest.time);
  CHECK(read.offset == 50);
  REQUIRE(read.analyses.size() == 2);
  CHECK(read.analyses.at("a b: c").reached == model::Reached(7));
  CHECK(read.analyses.at("a b: c").fired);
  CHECK(read.analyses.at("a b: c").skipped == 3);
  CHECK_FALSE(read.analyses.at("plain").reached.has_value());
  CHECK(parse_manifest(format_manifest({}), "m").analyses.empty());
}

TEST_CASE("what is no manifest is refused") {
  CHECK_THROWS_AS(parse_manifest("pillion: checkpoint 2\nstep: 1\ntime: 0\nanalyses: {}", "m"),
                  Error);
  CHECK_THROWS_AS(parse_manifest("step: 1", "m"), Error);
  CHECK_THROWS_AS(parse_manifest("", "m"), Error);
}
