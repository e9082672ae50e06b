// SPDX-License-Identifier: BSD-3-Clause
#include "run/saved_state.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "products/whole_file.hpp"
#include "stagehost/state_file.hpp"

using namespace pillion;
using namespace pillion::run;
namespace fs = std::filesystem;

namespace {

/// A folder of its own, removed at the end.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("pillion-saved-state-" + std::to_string(::getpid()));
  Folder() { fs::remove_all(path), fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

/// Writes the states of stages at time `n`, without the manifest.
void write_folder(const SuccessorState& saved, int n) {
  fs::remove_all(saved.next_folder());
  products::write_whole(saved.next_folder() / "state", std::to_string(n), false);
}

/// Numbers that all differ.
template <class Numbers>
Numbers numbered() {
  Numbers out;
  int next = 0;
  const auto set = [&](auto& number) {
    number = static_cast<std::decay_t<decltype(number)>>(++next);
  };
  std::apply([&](auto... member) { (set(out.*member), ...); }, Numbers::members());
  return out;
}

SavedState state_at(int n) {
  SavedState state;
  auto& one = state.analyses["one"] = {.over = n, .earlier = 3};
  one.costs.sidecar_seconds = n + 0.1;
  one.costs.publications = n;
  auto& two = state.analyses["two"] = {.over = 7, .earlier = 4};
  two.costs.lost = 2 * n;
  return state;
}

/// The state that is found, in one number; its parts must fit each other.
int state_found(const fs::path& output, uint64_t run) {
  SuccessorState saved(output, run);
  const auto state = saved.read();
  if (!state) return -1;
  const int n = std::stoi(products::read_file(saved.folder() / "state"));
  REQUIRE(state->analyses.size() == 2);
  const auto& one = state->analyses.at("one");
  CHECK(one.costs.publications == n);
  CHECK(one.costs.sidecar_seconds == n + 0.1);
  CHECK(one.over == n);
  CHECK(one.earlier == 3);
  CHECK(state->analyses.at("two").costs.lost == 2 * n);
  return n;
}

}  // namespace

TEST_CASE("what was completed last is there, wherever the next one got to") {
  const Folder folder;
  SuccessorState saved_state(folder.path, 5);
  CHECK_FALSE(saved_state.read());
  for (int n = 0; n < 5; ++n) {
    write_folder(saved_state, n);
    CHECK(state_found(folder.path, 5) == n - 1);
    saved_state.complete(state_at(n));
    CHECK(state_found(folder.path, 5) == n);
  }
  CHECK(state_found(folder.path, 6) == -1);
  saved_state.remove();
  CHECK(state_found(folder.path, 5) == -1);
  CHECK(fs::is_empty(folder.path));
}

TEST_CASE("each node removes its own files of a state, and what is left is removed by one rank") {
  const Folder folder;
  SuccessorState saved(folder.path, 5);
  const auto write = [&] {
    for (const char* stage : {"stage-0-halos", "stage-1-rdf"})
      for (int node = 0; node < 3; ++node)
        products::write_whole(stagehost::state_file(saved.next_folder() / "one" / stage, node), "x",
                              false);
  };
  const auto files = [&] {
    std::vector<int> numbers;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path))
      if (entry.is_regular_file()) numbers.push_back(std::stoi(entry.path().stem().string()));
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  };
  write();
  saved.remove_files_in_next(1);
  CHECK(files() == std::vector<int>{0, 0, 2, 2});
  saved.clear_next();
  CHECK(files().empty());
  write();
  saved.complete_elsewhere();  // the files are in folder() now, and next_folder() is the other one
  write();
  saved.remove_files_in_next(0);
  CHECK(files() == std::vector<int>{0, 0, 1, 1, 1, 1, 2, 2, 2, 2});
  saved.remove_files(1);
  CHECK(files() == std::vector<int>{0, 0, 2, 2, 2, 2});
  saved.remove();
  CHECK(fs::is_empty(folder.path));
}

TEST_CASE("a successor goes on with the other folder, and so do its ranks that write nothing") {
  const Folder folder;
  SuccessorState first(folder.path, 5);
  write_folder(first, 1);
  first.complete(state_at(1));
  SuccessorState second(folder.path, 5), other_rank(folder.path, 5);
  REQUIRE(second.read());
  REQUIRE(other_rank.read());
  for (int n = 2; n < 5; ++n) {
    CHECK(second.next_folder() == other_rank.next_folder());
    write_folder(second, n);
    CHECK(state_found(folder.path, 5) == n - 1);
    second.complete(state_at(n));
    other_rank.complete_elsewhere();
  }
  CHECK(state_found(folder.path, 5) == 4);
}

TEST_CASE("what another version wrote, or was cut short, is an error") {
  const Folder folder;
  SuccessorState saved_state(folder.path, 5);
  write_folder(saved_state, 1);
  saved_state.complete(state_at(1));
  const fs::path file = saved_state.folder() / manifest_name;
  auto text = products::read_file(file);
  products::write_whole(file, text.substr(0, text.size() / 2), false);
  CHECK_THROWS_AS(SuccessorState(folder.path, 5).read(), Error);
  text[text.find("saved state 3") + 12] = '9';
  products::write_whole(file, text, false);
  CHECK_THROWS_AS(SuccessorState(folder.path, 5).read(), Error);
}

TEST_CASE("a damaged state does not hide the other one, and is written over next") {
  const Folder folder;
  for (const int damaged : {1, 2}) {
    SuccessorState saved(folder.path, 5);
    saved.remove();
    for (const int n : {1, 2}) {
      write_folder(saved, n);
      saved.complete(state_at(n));
    }
    const auto name = damaged == 1 ? saved.next_folder() : saved.folder();
    products::write_whole(name / manifest_name, "pillion: saved sta", false);
    CHECK(state_found(folder.path, 5) == 3 - damaged);
    SuccessorState next(folder.path, 5);
    REQUIRE(next.read());
    CHECK(next.next_folder() == name);
  }
}

TEST_CASE("every change of a manifest is found") {
  const auto text = format_manifest(state_at(3));
  REQUIRE(parse_manifest(text, "m").analyses.size() == 2);
  for (size_t at = 0; at < text.size(); ++at) {
    auto other = text;
    other[at] = static_cast<char>(other[at] ^ 1);
    CAPTURE(other);
    CHECK_THROWS_WITH_AS((void)parse_manifest(other, "the-file"), doctest::Contains("the-file"),
                         Error);
    CHECK_THROWS_AS((void)parse_manifest(text.substr(0, at), "m"), Error);
  }
}

TEST_CASE("a manifest reads back as it was") {
  SavedState manifest{.step = 12345678901,
                      .time = 0.1 + 0.2,
                      .offset = 50,
                      .steps = {1, 2, 3, 4},
                      .runs = {"00e1", "00e2"},
                      .analyses = {}};
  manifest.analyses["a b: c"] = {
      .schedule = {model::Reached(7), true},
      .counts = numbered<Counts>(),
      .costs = numbered<CostCounters>(),
      .missing = 2,
      .meshes = {{"m: 1", "uniform mesh of 8 cells"}},
      .products = {{"a b: c", "image", "a b: c/x.png", "a b: c/x.000000001.png", "a, \"b\"", 1}}};
  manifest.analyses["plain"] = {};
  const auto read = parse_manifest(format_manifest(manifest), "m");
  CHECK(read.runs == manifest.runs);
  CHECK(read.step == manifest.step);
  CHECK(read.time == manifest.time);
  CHECK(read.offset == 50);
  CHECK(read.steps == StepCounts{1, 2, 3, 4});
  REQUIRE(read.analyses.size() == 2);
  const auto& one = read.analyses.at("a b: c");
  CHECK(one.schedule.reached == model::Reached(7));
  CHECK(one.schedule.fired);
  CHECK(base::to_bytes(one.counts) == base::to_bytes(numbered<Counts>()));
  CHECK(base::to_bytes(one.costs) == base::to_bytes(numbered<CostCounters>()));
  CHECK(one.meshes == manifest.analyses["a b: c"].meshes);
  CHECK(one.missing == 2);
  REQUIRE(one.products.size() == 1);
  CHECK(base::to_bytes(one.products[0]) == base::to_bytes(manifest.analyses["a b: c"].products[0]));
  CHECK_FALSE(read.analyses.at("plain").schedule.reached.has_value());
  CHECK(parse_manifest(format_manifest({}), "m").analyses.empty());
}

TEST_CASE("what is no manifest is refused") {
  CHECK_THROWS_AS(parse_manifest("pillion: saved state 3\nstep: 1\ntime: 0\nanalyses: {}", "m"),
                  Error);
  CHECK_THROWS_AS(parse_manifest("step: 1", "m"), Error);
  CHECK_THROWS_AS(parse_manifest("", "m"), Error);
}

TEST_CASE("a run takes over counts and products of the analyses that it restores") {
  SavedState state;
  state.steps = {10, 20, 30, 40};
  state.analyses["one"].counts = numbered<Counts>();
  state.analyses["one"].products = {{"one", "s", "one/x.csv", "one/x.csv", "x", 0}};
  state.analyses["gone"].counts = numbered<Counts>();
  state.analyses["unreadable"].counts = numbered<Counts>();
  model::Configuration configuration;
  for (const char* name : {"new", "one", "unreadable"})
    configuration.analyses.emplace_back().name = name;
  const auto earlier = earlier_in(state, configuration, {"one", "gone"});
  CHECK(earlier.steps == state.steps);
  CHECK(earlier.of(0) == Counts());
  CHECK(earlier.of(1) == numbered<Counts>());
  CHECK(earlier.of(2) == Counts());
  CHECK(earlier.of(3) == Counts());
  REQUIRE(earlier.products.size() == 1);
  CHECK(earlier.products[0].path == "one/x.csv");
  CHECK(base::to_bytes(base::from_bytes<Earlier>(base::to_bytes(earlier))) ==
        base::to_bytes(earlier));
}

namespace {

model::Catalogue catalogue_of(const std::string& cells) {
  model::Catalogue catalogue;
  const auto meshes =
      base::parse_yaml("m: {kind: uniform, cells: [" + cells + "], length: [1, 1]}", "meshes", {});
  catalogue.read(&meshes, nullptr);
  return catalogue;
}

}  // namespace

TEST_CASE("a checkpoint of another mesh is refused, with both sizes") {
  SavedState state;
  state.analyses["a"].meshes["m"] = "uniform mesh of 8 x 4 cells";
  CHECK_NOTHROW(check_meshes(state, catalogue_of("8, 4"), {"a"}));
  CHECK_NOTHROW(check_meshes(state, catalogue_of("16, 4"), {"b"}));
  CHECK_NOTHROW(check_meshes(state, {}, {"a"}));
  CHECK_THROWS_WITH_AS(
      check_meshes(state, catalogue_of("16, 4"), {"a"}),
      doctest::Contains("the checkpoint is of a uniform mesh of 8 x 4 cells ('m'), and this run "
                        "has a uniform mesh of 16 x 4 cells"),
      Error);
}
