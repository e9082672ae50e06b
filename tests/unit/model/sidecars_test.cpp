// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include "model/configuration.hpp"

using namespace pillion;
using namespace pillion::model;

namespace {

SidecarSpec read(const std::string& sidecars, int64_t wanted = 0) {
  const auto root = base::parse_yaml("sidecars: " + sidecars + "\n", "f", {});
  auto spec = read_sidecars(*root.find("sidecars"));
  settle_sidecars(spec, wanted, root);
  return spec;
}

std::string error_of(const std::string& sidecars, int64_t wanted = 0) {
  try {
    read(sidecars, wanted);
  } catch (const Error& e) {
    CHECK(e.code() == ErrorCode::Configuration);
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("the kinds of sidecars") {
  const auto none = read("{ranks: 0, when_full: wait}");
  CHECK_FALSE(none.any());
  CHECK_FALSE(none.through_node());
  const auto network = read("{ranks: 2}");
  CHECK(network.any());
  CHECK_FALSE(network.through_node());
  const auto node = read("{per_node: 3, job: same}");
  CHECK(node.per_node == 3);
  CHECK(node.job == Job::Same);
  CHECK(node.any());
  CHECK(node.through_node());
  const auto separate = read("{job: separate}");
  CHECK(separate.job == Job::Separate);
  CHECK(separate.per_node == 1);
  CHECK(separate.any());
  CHECK(separate.through_node());
  CHECK(read("{job: separate, per_node: 2}").per_node == 2);
  CHECK(read("{ranks: 0, per_node: 1}").ranks == 0);
}

TEST_CASE("what separate sidecars and spills may cost") {
  const auto plain = read("{job: separate}");
  CHECK(plain.restart == 0);
  CHECK(plain.launch.empty());
  CHECK(plain.spill_folder.empty());
  CHECK(plain.spill_limit == int64_t{10} << 30);
  const auto spec = read(
      "{job: separate, restart: 2, launch: 'mpirun -n 1 pillion attach {run}', when_full: spill, "
      "spill: {folder: /scratch, limit: 2 GiB}, deadline: 3 s}");
  CHECK(spec.restart == 2);
  CHECK(spec.launch == "mpirun -n 1 pillion attach {run}");
  CHECK(spec.when_full == WhenFull::Spill);
  CHECK(spec.spill_folder == "/scratch");
  CHECK(spec.spill_limit == int64_t{2} << 30);
  CHECK(spec.deadline == 3);
  CHECK(plain.copy_threads == 1);
  CHECK(read("{per_node: 1, copy_threads: 4}").copy_threads == 4);
  for (const auto* wrong : {"0", "-1", "65", "two"})
    CHECK(error_of(std::string("{per_node: 1, copy_threads: ") + wrong + "}") != "no error");
}

TEST_CASE("every policy reads as its name, except that the network cannot spill") {
  for (const auto policy : {WhenFull::Skip, WhenFull::Wait, WhenFull::Coarsen, WhenFull::Spill}) {
    const std::string full = std::string("when_full: ") + name_of(policy) + "}";
    CHECK(read("{per_node: 1, " + full).when_full == policy);
    CHECK(read("{job: separate, " + full).when_full == policy);
    if (policy != WhenFull::Spill) CHECK(read("{ranks: 1, " + full).when_full == policy);
  }
  CHECK(error_of("{ranks: 1, when_full: spill}").find("use 'per_node: K' or 'job: separate'") !=
        std::string::npos);
  CHECK(error_of("{when_full: spill}", 2).find("use 'per_node: K'") != std::string::npos);
}

TEST_CASE("what the launch says is settled with the file") {
  CHECK(read("{memory: 1 MiB}", 3).ranks == 3);
  CHECK(read("{ranks: 3}", 3).ranks == 3);
  const auto node = read("{per_node: 1}", 3);
  CHECK(node.per_node == 1);
  CHECK(node.ranks == 0);
  CHECK(error_of("{ranks: 2}", 3).find("3 ranks were started") != std::string::npos);
  CHECK(error_of("{job: separate}", 1)
            .find("1 ranks were started as sidecars, but the file says "
                  "'job: separate'") != std::string::npos);
}

TEST_CASE("mistakes are pointed at, with what to do instead") {
  const std::pair<const char*, const char*> mistakes[] = {
      {"{nodes: 2}", "reserved for a later version; use 'per_node: K'"},
      {"{ranks: 1, per_node: 2}", "'per_node: 2' and 'ranks: 1' exclude each other"},
      {"{ranks: 1, job: separate}", "'ranks: 1' and 'job: separate' exclude each other"},
      {"{per_node: 0, job: separate}", "'per_node: 0' and 'job: separate' exclude each other"},
      {"{per_node: -1}", "sidecars per node cannot be -1"},
      {"{ranks: -1}", "sidecar ranks cannot be -1"},
      {"{job: seperate}", "unknown job 'seperate'; did you mean 'separate'?"},
      {"{per_node: 1, when_full: spil}", "unknown policy 'spil'; did you mean 'spill'?"},
      {"{per_node: 1, restart: 1}", "'restart: 1' is for separate sidecars only"},
      {"{per_node: 1, launch: run me}", "'launch: run me' is for separate sidecars only"},
      {"{job: separate, restart: -1}", "restarts cannot be -1"},
      {"{per_node: 1, spill: {limit: 1 GB}}", "the policy is 'skip'"},
      {"{per_node: 1, when_full: spill, spill: {limit: 0}}", "leaves no room"},
      {"{per_node: 1, when_full: spill, spill: {folders: /x}}", "did you mean 'folder'?"},
      {"{per_nod: 1}", "did you mean 'per_node'?"},
  };
  for (const auto& [text, expected] : mistakes) {
    const auto error = error_of(text);
    CAPTURE(error);
    CHECK(error.find(expected) != std::string::npos);
    CHECK(error.starts_with("f:1: "));
  }
}

TEST_CASE("sidecars are read alone, whatever the rest of the file needs") {
  const std::string text =
      "parameters: {many: 2}\nsidecars: {ranks: $many, memory: $memory}\nanalyses: {$x: $y}\n";
  const auto spec = read_sidecars_alone(text, "f", {{"memory", "1 MiB"}}, 0, {});
  CHECK(spec.ranks == 2);
  CHECK(spec.memory == 1 << 20);
  CHECK(read_sidecars_alone(text, "f", {{"memory", "1 MiB"}}, 0, {{"sidecars.ranks", "3"}}).ranks ==
        3);
  CHECK_FALSE(read_sidecars_alone("analyses: {a: $x}\n", "f", {}, 0, {}).any());
  CHECK_THROWS_WITH_AS((void)read_sidecars_alone(text, "f", {}, 0, {}),
                       "f:2: 'sidecars:' needs the value of '$memory' when the session is opened, "
                       "because it determines the ranks that become sidecars; give it to the "
                       "options, with --set or under 'parameters:'",
                       Error);
}
