// SPDX-License-Identifier: BSD-3-Clause
#include "replay/about.hpp"

#include <doctest/doctest.h>

#include "errors.hpp"

using namespace replay;

namespace {

About parse(const std::string& text) { return parse_about(text, "f"); }

std::string error_in(const std::string& text) {
  return error_of([&] { (void)parse(text); });
}

}  // namespace

TEST_CASE("parameters, domains and steps are read") {
  const auto about = parse(
      "parameters: {cells: 64, mass: 1.25e-3, name: of stars}\n"
      "domains:\n"
      "  gas: {length: [1, 2, 3], periodic: true}\n"
      "  ions: {origin: [-1, 0, 1], length: [2, 2, 2], tilt: [0.5, 0, 0], periodic: [yes, no, "
      "no]}\n"
      "steps:\n"
      "  0: {time: 0.5}\n"
      "  20: {time: 1.5, domains: {gas: {length: [4, 4, 4]}}}\n"
      "  40: {}\n");
  CHECK(about.parameters == std::map<std::string, std::string>{
                                {"cells", "64"}, {"mass", "1.25e-3"}, {"name", "of stars"}});
  const auto& gas = about.domains.at("gas");
  CHECK(gas.lo[1] == 0);
  CHECK(gas.hi[1] == 2);
  CHECK(gas.periodic[2] == 1);
  const auto& ions = about.domains.at("ions");
  CHECK(ions.lo[0] == -1);
  CHECK(ions.hi[0] == 1);
  CHECK(ions.hi[2] == 3);
  CHECK(ions.tilt[0] == 0.5);
  CHECK(ions.periodic[0] == 1);
  CHECK(ions.periodic[1] == 0);
  CHECK(about.steps.at(0).time == 0.5);
  CHECK(about.steps.at(20).domains.at("gas").hi[0] == 4);
  CHECK(about.steps.at(20).domains.at("gas").periodic[0] == 0);
  CHECK(!about.steps.at(40).time);
}

TEST_CASE("a file that has only been begun is read") {
  CHECK(parse("parameters: {cells: 4}\nsteps:\n").steps.empty());
}

TEST_CASE("what makes no sense is pointed at") {
  CHECK(error_in("parameter: {}\n") ==
        "f:1: unknown key 'parameter' in this file; known: domains parameters steps");
  CHECK(contains(error_in("a: [\n"), "not valid YAML"));
  CHECK(contains(error_in("[1]\n"), "f:1: this file must be a map"));
  CHECK(contains(error_in("steps: {now: {time: 1}}\n"),
                 "expected the number of a step, found 'now'"));
  CHECK(contains(error_in("steps: {1: {time: soon}}\n"), "expected a time, found 'soon'"));
  CHECK(contains(error_in("steps: {1: {tme: 1}}\n"), "unknown key 'tme' in step 1"));
  CHECK(
      contains(error_in("steps:\n  1: {time: 1}\n  1: {time: 2}\n"), "f:3: step 1 is there twice"));
  CHECK(contains(error_in("domains: {gas: {origin: [0, 0, 0]}}\n"), "three positive numbers"));
  CHECK(contains(error_in("domains: {gas: {length: [1, 1]}}\n"), "a list of three numbers"));
  CHECK(contains(error_in("domains: {gas: {length: [1, 1, 1], periodic: [true]}}\n"),
                 "one entry per axis"));
}

TEST_CASE(
    "a step that is there twice and the same is no mistake: a run may write a snapshot again") {
  CHECK(parse("steps:\n  1: {time: 1}\n  1: {time: 1}\n").steps.size() == 1);
}

TEST_CASE("files add up, unless they contradict") {
  auto about = parse("parameters: {a: 1}\nsteps: {0: {time: 0}}\n");
  add(about,
      parse(
          "parameters: {a: 1, b: 2}\ndomains: {gas: {length: [1, 1, 1]}}\nsteps: {1: {time: 3}}\n"),
      "g");
  CHECK(about.parameters.size() == 2);
  CHECK(about.domains.size() == 1);
  CHECK(about.steps.at(1).time == 3);
  for (const char* other :
       {"parameters: {a: 2}\n", "domains: {gas: {length: [1, 1, 2]}}\n", "steps: {1: {time: 4}}\n"})
    CHECK(contains(error_of([&] {
                     auto copy = about;
                     add(copy, parse(other), "g");
                   }),
                   "'g' contradicts another file"));
}
