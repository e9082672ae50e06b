// SPDX-License-Identifier: BSD-3-Clause
#include "replay/options.hpp"

#include <doctest/doctest.h>

#include "errors.hpp"

using namespace replay;

namespace {

std::string error_in(const std::vector<std::string>& words) {
  return error_of([&] { (void)read_options(words); });
}

}  // namespace

TEST_CASE("a whole command line is read") {
  const auto o = read_options(
      {"--set",   "n=64",       "a.npy",    "--name",        "gas=rho",         "--axes",
       "xyz",     "b",          "--domain", "stars=1,2.5,3", "--time-per-step", "0.5",
       "--about", "x.yaml",     "--output", "here",          "--set",           "e=a=b",
       "--steps", "7,-2..30,9", "c.yml"});
  CHECK(o.files == std::vector<std::string>{"a.npy", "b"});
  CHECK(o.configuration == "c.yml");
  CHECK(o.parameters == std::map<std::string, std::string>{{"n", "64"}, {"e", "a=b"}});
  CHECK(o.names.at("gas") == "rho");
  CHECK(o.indices == Indices::Xyz);
  CHECK(o.domains.at("stars").hi[1] == 2.5);
  CHECK(o.domains.at("stars").periodic[2] == 1);
  CHECK(o.time_per_step == 0.5);
  CHECK(o.about == "x.yaml");
  CHECK(o.output == "here");
  CHECK(o.steps == std::vector<std::pair<int64_t, int64_t>>{{7, 7}, {-2, 30}, {9, 9}});
  CHECK(read_options({"a", "-h"}).help);
  CHECK(read_options({"a.npy", "b.yaml"}).indices == Indices::Zyx);
}

TEST_CASE("what makes no sense is refused") {
  CHECK(contains(error_in({}), "which files, and which configuration?"));
  CHECK(contains(error_in({"c.yaml"}), "which files are to be replayed?"));
  CHECK(contains(error_in({"c.yaml", "a.npy"}),
                 "the last word is the configuration, a .yaml file; found 'a.npy'"));
  CHECK(contains(error_in({"--sit", "a", "c.yaml"}),
                 "there is no option '--sit'; there are -n --about --axes"));
  CHECK(contains(error_in({"a", "c.yaml", "-n", "3"}), "-n RANKS is the first option"));
  CHECK(contains(error_in({"a", "c.yaml", "--set"}), "--set needs a value"));
  for (const char* odd : {"n", "=4", "n="})
    CHECK(contains(error_in({"--set", odd, "a", "c.yaml"}), "--set needs NAME=VALUE"));
  CHECK(contains(error_in({"--axes", "yxz", "a", "c.yaml"}), "--axes is zyx or xyz, found 'yxz'"));
  CHECK(contains(error_in({"--time-per-step", "1s", "a", "c.yaml"}), "needs a number, found '1s'"));
  for (const char* odd : {"", "a", "1,,2", "1..", "..2", "1..2..3", "1-2"})
    CHECK(contains(error_in({"--steps", odd, "a", "c.yaml"}), "--steps needs numbers and ranges"));
  for (const char* odd : {"1,2", "1,2,3,4", "1,2,", "1,-2,3", "1,nan,3", "a,b,c"})
    CHECK(error_in({"--domain", std::string("m=") + odd, "a", "c.yaml"}) != "no error");
}
