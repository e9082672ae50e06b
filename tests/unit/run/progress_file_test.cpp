// SPDX-License-Identifier: BSD-3-Clause
// The thread that writes progress. ThreadSanitizer looks at this, too.
#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "../limits.hpp"
#include "products/whole_file.hpp"
#include "run/progress.hpp"

using namespace pillion;
using namespace pillion::run;
namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("pillion-progress-" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] std::string text() const {
    return fs::exists(path_ / "progress.json") ? products::read_file(path_ / "progress.json") : "";
  }
  [[nodiscard]] bool says(const std::string& part) const {
    return text().find(part) != std::string::npos;
  }
  /// Whether it says so within a few seconds.
  [[nodiscard]] bool will_say(const std::string& part) const {
    for (int i = 0; i < 1000; ++i, std::this_thread::sleep_for(milliseconds(5)))
      if (says(part)) return true;
    return false;
  }

 private:
  fs::path path_;
};

Snapshot first() {
  Snapshot snapshot;
  snapshot.role = "simulation";
  snapshot.run = "test";
  return snapshot;
}

}  // namespace

TEST_CASE("a mark is seen whole, whatever the rank does meanwhile") {
  StepPosition mark;
  CHECK_FALSE(mark.get());
  std::atomic<int64_t> looks{0};
  int64_t steps = 0;
  std::thread rank([&] {
    while (looks < 1000) {
      ++steps;
      mark.set(steps, static_cast<double>(2 * steps));
    }
  });
  int64_t last = 0;
  while (looks < 1000) {
    const auto place = mark.get();
    if (!place) continue;
    CHECK(place->time == static_cast<double>(2 * place->step));
    CHECK(place->step >= last);
    last = place->step;
    ++looks;
  }
  rank.join();
  CHECK(mark.get()->step == steps);
}

TEST_CASE("the file follows the run, and says how it ended") {
  const Folder folder;
  StepPosition mark;
  {
    ProgressFile file(folder.path(), first(), mark, 0.01);
    CHECK(folder.will_say("\"state\": \"running\""));
    CHECK(folder.says("\"step\": null"));
    CHECK(folder.says("\"pid\": " + std::to_string(getpid()) + ","));
    mark.set(12, 0.5);
    CHECK(folder.will_say("\"step\": 12,\n \"time\": 0.5"));
    mark.set_waiting(true);
    CHECK(folder.will_say("\"waiting\": true"));
    file.tell([](Snapshot& s) { s.publications = 3; });
    CHECK(folder.will_say("\"publications\": 3"));
    file.end(Phase::Ended);
    CHECK(folder.says("\"state\": \"ended\""));
    CHECK(folder.says("\"failure\": null"));
    CHECK(file.trouble().empty());
  }
  CHECK(folder.says("\"state\": \"ended\""));
}

namespace {

/// The number after `"key": ` in the file.
double number_in(const std::string& text, const std::string& key) {
  const size_t at = text.find("\"" + key + "\": ");
  return at == std::string::npos ? -1 : std::stod(text.substr(at + key.size() + 4));
}

}  // namespace

TEST_CASE("where nothing is new it is written at each heartbeat, and says when something was") {
  const Folder folder;
  StepPosition mark;
  mark.set(1, 1);
  ProgressFile file(folder.path(), first(), mark, 0.025);
  REQUIRE(folder.will_say("\"step\": 1"));
  CHECK(folder.says("\"heartbeat_seconds\": 0.1"));
  const double changed = number_in(folder.text(), "changed");
  const double begin = base::monotonic_seconds();
  int written = 0;
  for (double last = number_in(folder.text(), "written"); written < 4;
       std::this_thread::sleep_for(milliseconds(2))) {
    REQUIRE(base::monotonic_seconds() < begin + 60);
    const double now = number_in(folder.text(), "written");
    if (now == last) continue;
    last = now;
    ++written;
    CHECK(number_in(folder.text(), "changed") == changed);
  }
  // Four of them, a tenth of a second apart: the file is not written each time that it is looked.
  CHECK(base::monotonic_seconds() >= begin + 0.3);
  mark.set(2, 1);
  CHECK(folder.will_say("\"step\": 2"));
  CHECK(number_in(folder.text(), "changed") > changed);
}

TEST_CASE("a file that was removed, or could not be written, is there again with a heartbeat") {
  const Folder folder;
  const StepPosition mark;
  ProgressFile file(folder.path(), first(), mark, 0.01);
  REQUIRE(folder.will_say("running"));
  fs::remove(folder.path() / "progress.json");
  CHECK(folder.will_say("running"));
}

TEST_CASE("a session that is not closed has failed, and nobody waits for the period") {
  const Folder folder;
  const StepPosition mark;
  const double end = unit::hang_begins();
  { const ProgressFile file(folder.path(), first(), mark, 3600); }
  CHECK(base::monotonic_seconds() < end);
  CHECK(folder.says("\"state\": \"failed\""));
}

TEST_CASE("where no file can be written that is told once, and all else goes on") {
  const Folder folder;
  fs::create_directories(folder.path() / "progress.json" / "in the way");
  StepPosition mark;
  ProgressFile file(folder.path(), first(), mark, 0.01);
  std::string trouble;
  for (int i = 0; i < 1000 && trouble.empty(); ++i) {
    trouble = file.trouble();
    std::this_thread::sleep_for(milliseconds(5));
  }
  CHECK(trouble.find("progress.json") != std::string::npos);
  mark.set(1, 1);
  std::this_thread::sleep_for(milliseconds(100));
  CHECK(file.trouble().empty());
  fs::remove_all(folder.path() / "progress.json");
  mark.set(2, 1);
  CHECK(folder.will_say("\"step\": 2"));
}

namespace {

std::atomic<pid_t> signalled{0};

void note_thread(int) { signalled = gettid(); }

}  // namespace

TEST_CASE("the thread takes no signals, and the rank does as before") {
  const Folder folder;
  const StepPosition mark;
  std::signal(SIGUSR1, note_thread);
  ProgressFile file(folder.path(), first(), mark, 0.01);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  CHECK(sigismember(&before, SIGUSR1) == 0);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  kill(getpid(), SIGUSR1);
  std::this_thread::sleep_for(milliseconds(50));
  CHECK(signalled == 0);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK(signalled == gettid());
  std::signal(SIGUSR1, SIG_DFL);
}

TEST_CASE("two runs in one process have two files") {
  const Folder folder;
  StepPosition one, two;
  ProgressFile a(folder.path() / "a", first(), one, 0.01);
  ProgressFile b(folder.path() / "b", first(), two, 0.01);
  one.set(1, 0);
  two.set(2, 0);
  b.end(Phase::Ended);
  a.end(Phase::Ended);
  CHECK(products::read_file(folder.path() / "a" / "progress.json").find("\"step\": 1") !=
        std::string::npos);
  CHECK(products::read_file(folder.path() / "b" / "progress.json").find("\"step\": 2") !=
        std::string::npos);
}
