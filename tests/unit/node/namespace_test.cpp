// SPDX-License-Identifier: BSD-3-Clause
// Processes that see each other differently, or not at all: in PID namespaces of their own, as in
// containers, behind /proc with hidepid, and without file descriptors.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <string>

#include "base/error.hpp"
#include "child.hpp"
#include "node/segment.hpp"

using namespace pillion;
using namespace pillion::node;

namespace {

constexpr int not_permitted = 77;

bool has_own_mounts() {
  return unshare(CLONE_NEWNS) == 0 &&
         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

/// Runs `work` as the first process of a PID namespace, with a /proc of it if that `shows` it.
template <class Work>
int run_inside(bool shows, Work&& work) {
  if (unshare(CLONE_NEWPID) != 0) return not_permitted;
  Child inside([&] {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (shows && !(has_own_mounts() && mount("proc", "/proc", "proc", 0, nullptr) == 0))
      return not_permitted;
    return work();
  });
  return inside.wait();
}

/// What a process does in a test, or 77 where the machine permits no such process.
bool succeeds(Child& child) {
  const int status = child.wait();
  if (status == not_permitted) MESSAGE("skipped: no PID namespaces are permitted here");
  return status == 0 || status == not_permitted;
}

std::string message_of(const auto& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// What a process in a container has, and says to others.
struct Inside {
  FileAddress address;
  volatile bool ready;
};

}  // namespace

TEST_CASE("a file that is not the one that was meant is refused, whatever its number") {
  const auto mine = SharedFile::make(memory_folder, 100),
             other = SharedFile::make(memory_folder, 100);
  CHECK_NOTHROW(SharedFile::open(mine.address()));
  auto address = mine.address();
  CHECK(address.nonce != other.address().nonce);
  address.descriptor = other.descriptor();
  const auto why = message_of([&] { SharedFile::open(address); });
  CHECK_MESSAGE(has(why, "is not what it has as open file"), why);
  CHECK_MESSAGE(has(why, "containers"), why);
  address = mine.address();
  address.nonce = 0;
  CHECK_THROWS_AS(SharedFile::open(address), Error);
  const int empty = open("/dev/shm", O_TMPFILE | O_RDWR, 0600);
  CHECK_THROWS_AS(SharedFile::open({this_process(), empty, 0}), Error);
  close(empty);
}

TEST_CASE("a process in a PID namespace of its own with the host's /proc does not know itself") {
  Child container([] {
    return run_inside(false, [] {
      if (this_process_if_known() != 0) return 1;
      const auto why = message_of([] { this_process(); });
      return has(why, "number 1 in its PID namespace") && has(why, "container") ? 0 : 2;
    });
  });
  CHECK(succeeds(container));
}

TEST_CASE("processes of different PID namespaces are not taken for each other") {
  Shared<Inside> inside;
  const Token me = this_process();
  Child container([&] {
    return run_inside(true, [&] {
      if (this_process() == 0 || number_of(this_process()) != 1 || !is_in_container()) return 1;
      if (message_of([&] { expect_same_namespace(me); }).empty()) return 2;
      const auto file = SharedFile::make(memory_folder, 100);
      inside->address = file.address();
      inside->ready = true;
      for (;;) pause();
      return 0;
    });
  });
  int status = 0;
  while (!inside->ready && waitpid(container.number(), &status, WNOHANG) == 0) usleep(1000);
  if (!inside->ready) {
    CHECK(WEXITSTATUS(status) == not_permitted);
    MESSAGE("skipped: no PID namespaces are permitted here");
    return;
  }
  const auto why = message_of([&] { SharedFile::open(inside->address); });
  CHECK_MESSAGE(has(why, "process 1 is not shown to be a neighbour on node "), why);
  CHECK_MESSAGE(has(why, "containers"), why);
}

TEST_CASE("a run in a container is found, and named as such") {
  Shared<Inside> inside;
  const uint64_t run = this_process() << 8 | 77;
  Child container([&] {
    return run_inside(true, [&] {
      auto segment = Segment::make({"contained", run, 0, 1, 1}, {{0, 100}}, {});
      segment.open_channel(0);
      inside->ready = true;
      for (;;) pause();
      return 0;
    });
  });
  int status = 0;
  while (!inside->ready && waitpid(container.number(), &status, WNOHANG) == 0) usleep(1000);
  if (!inside->ready) {
    CHECK(WEXITSTATUS(status) == not_permitted);
    MESSAGE("skipped: no PID namespaces are permitted here");
    return;
  }
  int found = 0;
  for (const auto& one : find_runs())
    if (one.identity.run == run) {
      ++found;
      CHECK(one.in_container);
      CHECK_THROWS_AS(Segment::open(one.address, Segment::Role::Sidecar), Error);
    }
  CHECK(found == 1);
}

TEST_CASE("a process that /proc does not show is not taken for dead") {
  const Token parent = this_process();
  Child other([&] {
    if (!has_own_mounts() || mount("proc", "/proc", "proc", 0, "hidepid=2") != 0 ||
        setgid(65534) != 0 || setuid(65534) != 0)
      return not_permitted;
    if (access(("/proc/" + std::to_string(number_of(parent))).c_str(), F_OK) == 0) return 1;
    Watch watch;
    if (!is_alive(parent) || !watch.lives(parent)) return 2;
    constexpr Token nobody = (Token{5} << 22) + (Token{1} << 22) - 1;
    if (is_alive(nobody)) return 3;
    // Nor is it a neighbour whose memory may be opened.
    return message_of([&] { expect_same_namespace(parent); }).empty() ? 4 : 0;
  });
  CHECK(succeeds(other));
}

TEST_CASE("a process without file descriptors says that it does not know itself") {
  Child poor([] {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    if (this_process_if_known() != 0) return 1;
    const auto why = message_of([] { this_process(); });
    return has(why, "Too many open files") && has(why, "ulimit -n") ? 0 : 2;
  });
  CHECK(poor.wait() == 0);
}

TEST_CASE("a process that has learned who it is knows it for good, and its fork is another") {
  const Token me = this_process();
  Child poor([&] {
    const Token mine = this_process();
    const rlimit none{0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    return mine != me && this_process() == mine && number_of(mine) == getpid() ? 0 : 1;
  });
  CHECK(poor.wait() == 0);
}
