// SPDX-License-Identifier: BSD-3-Clause
#include "run/run_folder.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <set>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/process.hpp"
#include "products/whole_file.hpp"
#include "run/liveness.hpp"
#include "run/run_marker.hpp"

using namespace pillion;
using namespace pillion::run;
namespace fs = std::filesystem;
using model::IfExists;
using Names = std::set<std::string>;

namespace {

/// A folder of its own, which holds output folders.
struct Place {
  fs::path path = fs::temp_directory_path() / ("pillion-runs-" + std::to_string(::getpid()));
  Place() { fs::remove_all(path), fs::create_directories(path); }
  ~Place() { fs::remove_all(path); }
  [[nodiscard]] fs::path output() const { return path / "results"; }
  void put(const fs::path& file, const std::string& text = "x") const {
    products::write_whole(path / file, text, false);
  }
  [[nodiscard]] Names in(const fs::path& folder) const {
    Names out;
    if (fs::exists(path / folder))
      for (const auto& entry : fs::directory_iterator(path / folder))
        out.insert(entry.path().filename().string());
    return out;
  }
  /// What a run of analysis `energy` leaves, which says `text` in its products.
  void run(uint64_t id, const std::string& text, IfExists if_exists = IfExists::KeepAside) const {
    auto folder = RunFolder::take(claim(id, if_exists));
    put("results/energy/e.csv", text);
    put("results/report.json", "{\n  \"pillion\": \"report 1\", " + text);
    folder.release(true);
  }
  [[nodiscard]] FolderClaim claim(uint64_t id, IfExists if_exists = IfExists::KeepAside) const {
    FolderClaim claim;
    claim.folder = output();
    claim.run = id;
    claim.if_exists = if_exists;
    claim.analyses = {"energy"};
    return claim;
  }
  [[nodiscard]] std::string text(const fs::path& file) const {
    return products::read_file(path / file);
  }
};

const Names own = {".pillion-run", "energy", "report.json"};

}  // namespace

TEST_CASE("a marker is read as it was written, as far as it goes") {
  const RunMarker mark{"00ff", {"01", "02"}, "host x",       "then", "later",
                       12345,  77,           {"a b", "c:d"}, "b7"};
  const auto text = format_mark(mark);
  const auto read = parse_mark(text);
  REQUIRE(read);
  CHECK(format_mark(*read) == text);
  CHECK(read->folders == mark.folders);
  CHECK_FALSE(parse_mark("something else\n"));
  CHECK_FALSE(parse_mark(""));
  // A line that is cut off is not there; a folder that no analysis can have is not believed.
  CHECK(parse_mark(text + "folder: cut")->folders == mark.folders);
  CHECK(parse_mark(text + "folder: ../other\nfolder: .ssh\nfolder: e\n")->folders.size() == 3);
}

TEST_CASE("earlier results are moved aside, with numbers that grow; other files stay") {
  const Place place;
  place.put("results/log.txt", "mpirun's");
  place.put("results/checkpoint/state", "the program's");
  place.put("results/timeline/own", "the user's own");
  place.run(1, "one");
  CHECK(place.in(".") == Names{"results"});  // files of others alone are no earlier run
  place.run(2, "two");
  place.run(3, "three");
  CHECK(place.in(".") == Names{"results", "results.001", "results.002"});
  CHECK(place.in("results.001") == own);
  CHECK(place.in("results.002") == own);
  CHECK(place.text("results.001/energy/e.csv") == "one");
  CHECK(place.text("results.002/energy/e.csv") == "two");
  CHECK(place.text("results/energy/e.csv") == "three");
  CHECK(look_at_folder(place.path / "results.001").mark->id == id_of(1));
  CHECK(look_at_folder(place.output()).mark->id == id_of(3));
  CHECK(place.text("results/log.txt") == "mpirun's");
  CHECK(place.text("results/checkpoint/state") == "the program's");
  CHECK(place.text("results/timeline/own") == "the user's own");
  fs::remove_all(place.path / "results.001");
  place.run(4, "four");
  CHECK(place.text("results.003/energy/e.csv") == "three");  // no number is used again
}

TEST_CASE("what was done is said") {
  const Place place;
  place.run(1, "one");
  const auto taken = RunFolder::take(place.claim(2));
  REQUIRE(taken.remarks().size() == 1);
  CHECK(taken.remarks()[0].find("results' were moved to") != std::string::npos);
  CHECK(taken.remarks()[0].find("results.001'") != std::string::npos);
  CHECK(taken.warnings().empty());
}

TEST_CASE("a program's catalogue is the run's; a file of the same name is its owner's") {
  const Place place;
  place.run(1, "one");
  RunFolder::write_catalogue(place.output(), "meshes: {}\n");
  const auto kept = place.text("results/catalogue.yaml");
  CHECK(kept.starts_with(catalogue_head));
  CHECK(kept.ends_with("meshes: {}\n"));
  place.run(2, "two");
  CHECK(place.text("results.001/catalogue.yaml") == kept);
  place.put("results/catalogue.yaml", "the user's own");
  RunFolder::write_catalogue(place.output(), "meshes: {}\n");
  place.run(3, "three");
  CHECK(place.text("results/catalogue.yaml") == "the user's own");
}

TEST_CASE("a run that left nothing but its progress leaves nothing aside") {
  const Place place;
  auto killed = RunFolder::take(place.claim(1));
  place.put("results/progress.json", "{\n  \"pillion\": \"progress 1\", ");
  place.put("results/.sidecars-0000000000000001/a", "x");
  killed.release(false);
  const auto taken = RunFolder::take(place.claim(2));
  CHECK(place.in(".") == Names{"results"});
  CHECK(place.in("results") == Names{".pillion-run"});
  CHECK(taken.remarks().empty());
}

TEST_CASE("overwriting removes the earlier results and nothing else") {
  const Place place;
  place.run(1, "one");
  place.put("results/log.txt");
  place.put("results/src/main.c");
  place.run(2, "two", IfExists::Overwrite);
  CHECK(place.in(".") == Names{"results"});
  CHECK(place.in("results") == Names{".pillion-run", "energy", "report.json", "log.txt", "src"});
  CHECK(place.text("results/energy/e.csv") == "two");
}

TEST_CASE("if it is said so, a folder with results is refused as it is") {
  const Place place;
  place.run(1, "one", IfExists::Refuse);
  CHECK_THROWS_WITH_AS(RunFolder::take(place.claim(2, IfExists::Refuse)),
                       doctest::Contains("0000000000000001"), Error);
  CHECK(place.in("results") == own);
  CHECK(look_at_folder(place.output()).mark->id == id_of(1));
}

TEST_CASE("a folder is one live run's, whatever is said, and its sidecars' after it") {
  const Place place;
  auto first = RunFolder::take(place.claim(1));
  CHECK(look_at_folder(place.output()).is_live);
  for (const auto if_exists : {IfExists::KeepAside, IfExists::Overwrite, IfExists::Refuse})
    CHECK_THROWS_WITH_AS(RunFolder::take(place.claim(2, if_exists)),
                         doctest::Contains("run 0000000000000001 (process "), Error);
  auto sidecars = RunFolder::join(place.output(), 1, {});
  auto attached_job = RunFolder::join(place.output(), 1, {"visit"});
  first.release(true);
  sidecars.release(false);
  CHECK_THROWS_AS(RunFolder::take(place.claim(2)), Error);
  place.put("results/visit/v.csv", "an attached job's");
  attached_job.release(false);
  CHECK_FALSE(look_at_folder(place.output()).is_live);
  CHECK_THROWS_AS(RunFolder::join(place.output(), 7, {}), Error);
  const auto second = RunFolder::take(place.claim(2));
  CHECK(place.text("results.001/visit/v.csv") == "an attached job's");
}

namespace {

/// Passes time by sleeping; at each sleep, `deed` is done.
class PassingClock final : public base::Clock {
 public:
  explicit PassingClock(std::function<void(double)> deed) : deed_(std::move(deed)) {
    base::set_clock(this);
  }
  ~PassingClock() override { base::set_clock(nullptr); }
  double monotonic_seconds() override { return now_; }
  double calendar_seconds() override { return 1e9 + now_; }
  void sleep(double seconds) override { deed_(now_ += seconds); }
  void yield() override {}
  void sleep_while(const std::atomic<uint32_t>&, uint32_t, double seconds) override {
    now_ += seconds;
  }
  void wake(std::atomic<uint32_t>&) override {}

 private:
  std::function<void(double)> deed_;
  double now_ = 0;
};

/// What a process writes that has no end yet.
std::string progress_text(double written, const std::string& state = "running") {
  return fmt::format(
      "{{\"pillion\": \"progress 1\", \"state\": \"{}\", \"heartbeat_seconds\": 2.0, "
      "\"written\": {}}}",
      state, written);
}

/// A run on another machine whose file is written every two seconds until it `dies`.
struct Elsewhere {
  const Place& place;
  double dies;
  PassingClock clock{[this](double now) {
    place.put("results/progress.json",
              progress_text(5000 + 2 * std::floor(std::min(now, dies) / 2)));
  }};
  Elsewhere(const Place& where, RunMarker mark, double until) : place(where), dies(until) {
    place.put("results/.pillion-run", format_mark(mark));
    place.put("results/energy/e.csv", "its");
    place.put("results/progress.json", progress_text(5000));
  }
};

RunMarker marker_of(const std::string& host, const std::string& boot, node::Token process) {
  return {.id = id_of(1),
          .continues = {},
          .host = host,
          .started = "then",
          .ended = {},
          .process = process,
          .pid_namespace = node::pid_namespace(),
          .folders = {"energy"},
          .boot = boot};
}

}  // namespace

TEST_CASE("a run on another machine is active if its file changes, though no lock is seen") {
  // Its process has a number that no process has here, or that of this one.
  for (const node::Token process : {node::this_process(), node::Token{1} << 60U | 4000000U})
    for (const auto& [host, boot] : {std::pair{std::string("n0"), node::boot_id()},
                                     {base::host_name(), std::string("another")}}) {
      const Place place;
      const Elsewhere run(place, marker_of(host, boot, process), 1e9);
      CHECK(look_at_folder(place.output()).is_live);
      CHECK_THROWS_WITH_AS(RunFolder::take(place.claim(2)),
                           doctest::Contains("writes to the output"), Error);
      CHECK(place.text("results/energy/e.csv") == "its");
    }
}

TEST_CASE("a run that died on another machine holds no folder, and is waited for some seconds") {
  const Place place;
  const Elsewhere run(place, marker_of("n0", "another", node::this_process()), 0);
  const double begin = base::monotonic_seconds();
  CHECK_FALSE(look_at_folder(place.output()).is_live);
  CHECK(base::monotonic_seconds() - begin == doctest::Approx(5));
  const auto folder = RunFolder::take(place.claim(2));
  CHECK(base::monotonic_seconds() - begin == doctest::Approx(10));
  CHECK(place.text("results.001/energy/e.csv") == "its");
}

TEST_CASE("a run that has ended elsewhere, or never wrote progress, is not waited for") {
  for (const char* state : {"ended", "failed", "left", ""}) {
    const Place place;
    const Elsewhere run(place, marker_of("n0", "another", node::this_process()), 0);
    if (*state == '\0') fs::remove(place.output() / "progress.json");
    else place.put("results/progress.json", progress_text(1, state));
    CHECK_FALSE(look_at_folder(place.output()).is_live);
    CHECK(base::monotonic_seconds() == 0);
  }
  const Place place;
  auto mark = marker_of("n0", "another", node::this_process());
  mark.ended = "later";
  const Elsewhere run(place, mark, 1e9);
  CHECK_FALSE(look_at_folder(place.output()).is_live);
}

TEST_CASE("a heartbeat that no one could wait for, or none at all, is no sign of life") {
  for (const char* beat : {"1e300", "-4", "often", "null"}) {
    const Place place;
    place.put("results/progress.json",
              fmt::format("{{\"state\": \"running\", \"heartbeat_seconds\": {}}}", beat));
    const PassingClock clock([](double) {});
    CHECK_FALSE(has_heartbeat(place.output()));
    CHECK(base::monotonic_seconds() <= 31);
  }
}

TEST_CASE("a resumed run continues the folder of the run that it resumes, and no other") {
  const Place place;
  place.run(1, "one");
  auto claim = place.claim(2);
  claim.resumes = true;
  claim.resumed_runs = {id_of(1)};
  claim.analyses = {"energy", "more"};
  {
    const auto second = RunFolder::take(claim);
    CHECK(second.continued() == std::vector{id_of(1)});
    CHECK(place.text("results/energy/e.csv") == "one");
  }
  // Again from the same checkpoint, after the second run was killed.
  claim.run = 3;
  {
    const auto third = RunFolder::take(claim);
    CHECK(third.continued() == std::vector{id_of(1), id_of(2)});
    CHECK(place.in("results") == own);
    CHECK(third.warnings().empty());
  }
  // And again, after the third has ended: its last steps are lost, so there is a warning.
  claim.run = 4;
  {
    auto ended = RunFolder::take(claim);
    CHECK(ended.warnings().empty());
    ended.release(true);
  }
  claim.run = 5;
  {
    const auto variant = RunFolder::take(claim);
    REQUIRE(variant.warnings().size() == 1);
    CHECK(variant.warnings()[0].find("were continued by run " + id_of(4)) != std::string::npos);
  }
  claim.run = 6;
  claim.resumed_runs = {id_of(99)};
  const auto stranger = RunFolder::take(claim);
  CHECK(place.text("results.001/energy/e.csv") == "one");
  CHECK(stranger.continued() == std::vector{id_of(99)});
  CHECK(stranger.warnings().size() == 1);
}

TEST_CASE("a folder of others with the name of an analysis is never moved or removed") {
  const Place place;
  place.put("results/energy/main.c", "precious");
  const auto first = [&] { return RunFolder::take(place.claim(1)).warnings(); }();
  REQUIRE(first.size() == 1);
  CHECK(first[0].find("'energy'") != std::string::npos);
  place.put("results/energy/e.csv");
  place.put("results/report.json", "{\n  \"pillion\": \"report 1\"");
  for (const auto if_exists : {IfExists::KeepAside, IfExists::Overwrite}) {
    (void)RunFolder::take(place.claim(2, if_exists));
    CHECK(place.text("results/energy/main.c") == "precious");
  }
}

TEST_CASE("in the working folder earlier results go to a folder in it") {
  const Place place;
  place.run(1, "one");
  place.put("results/input.dat");
  const auto before = fs::current_path();
  fs::current_path(place.output());
  auto claim = place.claim(2);
  const auto remarks = RunFolder::take(claim).remarks();
  fs::current_path(before);
  CHECK(place.in(".") == Names{"results"});
  CHECK(place.in("results") == Names{".pillion-run", "earlier.001", "input.dat"});
  CHECK(place.in("results/earlier.001") == own);
  REQUIRE(remarks.size() == 1);
  CHECK(remarks[0].find("to 'earlier.001'") != std::string::npos);
}

TEST_CASE("a copy without its marker is known by its report") {
  const Place place;
  place.put("results/report.json",
            "{\n  \"pillion\": \"report 1\", \"version\": \"0\",\n  \"analyses\": [\n    "
            "{\"name\": \"energy\"}, {\"name\": \"../up\"}],\n  \"configuration\": \"$n\"\n}\n");
  place.put("results/energy/e.csv", "one");
  place.put("results/notes.txt");
  (void)RunFolder::take(place.claim(2));
  CHECK(place.text("results.001/energy/e.csv") == "one");
  CHECK(place.in("results") == Names{".pillion-run", "notes.txt"});
}

TEST_CASE("what a killed run left unfinished goes with the next one, and nothing else does") {
  const Place place;
  place.run(1, "first");
  const auto leave = [&] {
    for (const char* file :
         {"results/.report.json.partial", "results/.report.html.4711",
          "results/.progress.json.partial", "results/.moving-00000000000000aa-0-1/a",
          "results/.sidecars-00000000000000aa/a/x", "results/energy/.e.csv.partial",
          "results/energy/.e.h5.part", "results/energy/.plt00001.part/Header"})
      place.put(file);
    for (const char* file : {"results/.ck.partial/manifest.yaml", "results/.mine.partial",
                             "results/other/.x.csv.partial", "results/energy/kept.partial"})
      place.put(file);
  };
  leave();
  auto resumed = place.claim(2);
  resumed.resumes = true;
  RunFolder::take(resumed).release(false);
  const Names left = {".pillion-run", "energy",        "report.json",
                      ".ck.partial",  ".mine.partial", "other"};
  CHECK(place.in("results") == left);
  CHECK(place.in("results/energy") == Names{"e.csv", "kept.partial"});
  leave();
  RunFolder::take(place.claim(3)).release(true);
  CHECK(place.in("results") == Names{".pillion-run", ".ck.partial", ".mine.partial", "other"});
  CHECK(place.in("results.001/energy") == Names{"e.csv", "kept.partial"});
  CHECK(place.in("results/other") == Names{".x.csv.partial"});
}
