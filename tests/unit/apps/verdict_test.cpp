// SPDX-License-Identifier: BSD-3-Clause
#include "replay/verdict.hpp"

#include <doctest/doctest.h>

using namespace replay;

TEST_CASE("a report tells what failed and what is missing") {
  const auto faults = faults_in(
      "{\"analyses\": ["
      "{\"name\": \"good\", \"skipped\": 0, \"dropped\": 0, \"disabled\": null},"
      "{\"name\": \"bad\", \"skipped\": 0, \"disabled\": \"no \\\"room\\\"\"},"
      "{\"name\": \"thin\", \"skipped\": 2, \"lost\": 1, \"disabled\": null}]}");
  CHECK(faults == std::vector<std::string>{"analysis 'bad' failed: no \"room\"",
                                           "analysis 'thin' lacks steps: 2 skipped",
                                           "analysis 'thin' lacks steps: 1 lost"});
  CHECK(faults_in("{\"analyses\": []}").empty());
  CHECK(faults_in("").empty());
}
