// SPDX-License-Identifier: BSD-3-Clause
#include "run/whereabouts.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "products/whole_file.hpp"

using namespace pillion;
using namespace pillion::run;
namespace fs = std::filesystem;

namespace {

struct Folders {
  fs::path path = fs::temp_directory_path() / ("pillion-whereabouts-" + std::to_string(getpid()));
  Folders() { fs::remove_all(path), fs::create_directories(path); }
  ~Folders() { fs::remove_all(path); }
  void run(const char* folder, const char* name, const char* id, const char* state,
           const char* job) const {
    const auto text = fmt::format(
        "{{\"run\": \"{}\", \"id\": \"{}\", \"host\": \"n0\", \"state\": \"{}\", "
        "\"batch_job\": {}}}",
        name, id, state, job);
    products::write_whole(path / folder / "progress.json", text, false);
  }
};

std::vector<std::string> ids(const std::vector<Whereabouts>& runs) {
  std::vector<std::string> out;
  for (const auto& run : runs) out.push_back(run.id);
  return out;
}

}  // namespace

TEST_CASE("runs that say that they are active are found by name, id and folder") {
  const Folders folders;
  folders.run("a", "big", "0a", "running", "null");
  folders.run("b", "big", "0b", "running", R"({"system": "slurm", "id": "74", "nodes": "n[0-1]"})");
  folders.run("c", "old", "0c", "ended", "null");
  products::write_whole(folders.path / "d" / "progress.json", "{ no JSON", false);
  products::write_whole(folders.path / "file", "", false);
  const auto found = [&](const char* run) { return ids(whereabouts(folders.path, run)).size(); };
  CHECK(found("") == 2);
  CHECK(found("big") == 2);
  CHECK(ids(whereabouts(folders.path, "0b")) == std::vector<std::string>{"0b"});
  CHECK(ids(whereabouts(folders.path, "a")) == std::vector<std::string>{"0a"});
  CHECK(ids(whereabouts(folders.path / "a", "big")) == std::vector<std::string>{"0a"});
  CHECK(found("old") == 0);
  CHECK(found("nothing") == 0);
  CHECK(whereabouts(folders.path / "nowhere", "big").empty());
}

TEST_CASE("people read where a run is, and how to attach there") {
  const auto text = [](const BatchJob& job) {
    return directions({"./results/", "big", "0a", "n0", job});
  };
  const std::string begin = "run 'big' (id 0a), which writes to 'results/', is on node n0";
  const std::string end = "; attach on its nodes: `pillion runs` prints the command";
  CHECK(text({}) == begin + end);
  CHECK(text({"slurm", "74", "n[0-1]"}) == begin + ", in Slurm job 74 on n[0-1]" + end);
  CHECK(text({"pbs", "9.server", ""}) == begin + ", in batch job 9.server" + end);
  CHECK(no_sign_of_life({"results", "big", "0a", "n0", {}})
            .find("was on node n0, and has shown no sign of life") != std::string::npos);
}
