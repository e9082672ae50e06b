// SPDX-License-Identifier: BSD-3-Clause
#include "run/supervisor.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "../node/child.hpp"
#include "base/clock.hpp"
#include "transport/node.hpp"

using namespace pillion;
using namespace pillion::run;

TEST_CASE("only sidecars that were there and died are started again, as often as allowed") {
  const SidecarJobState dead{.seen = true};
  CHECK(should_restart(dead, 1));
  CHECK_FALSE(should_restart(dead, 0));
  CHECK_FALSE(should_restart({}, 5));
  CHECK_FALSE(should_restart({.seen = true, .alive = true}, 5));
  CHECK_FALSE(should_restart({.seen = true, .left = true}, 5));
  CHECK_FALSE(should_restart({.seen = true, .restarts = 2}, 2));
  CHECK_FALSE(should_restart({.seen = true, .waited = 1, .restarts = 1}, 2));
  CHECK(should_restart({.seen = true, .waited = 60, .restarts = 1}, 2));
}

TEST_CASE("the command names the run, and is the user's if there is one") {
  CHECK(launch_command("", "/a b/attach", "f00") == "'/a b/attach' f00");
  CHECK(launch_command("srun attach {run} --name {run}", "/x", "f00") ==
        "srun attach f00 --name f00");
  CHECK(launch_command("attach", "/x", "f00") == "attach");
}

namespace {

/// Sits at the home slot until it is killed.
std::unique_ptr<node::Child> subscribe(node::Segment& segment) {
  auto child = std::make_unique<node::Child>([&] {
    const auto slot = segment.slot(0, node::primary);
    node::ChannelReader reader(segment.channel(0), *slot, node::primary);
    while (!reader.claim()) usleep(1000);
    for (;;) pause();
    return 0;
  });
  while (node::number_of(segment.slots_of(0)[node::primary]->holder) != child->number())
    usleep(500);
  return child;
}

int64_t lines_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  return std::count(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>(), '\n');
}

/// Waits for so many lines.
bool grows_to(const std::filesystem::path& file, int64_t lines) {
  const double begin = base::monotonic_seconds();
  while (lines_in(file) < lines && base::monotonic_seconds() - begin < 20) usleep(10000);
  return lines_in(file) == lines;
}

}  // namespace

TEST_CASE("a launcher starts the command once for each sidecar job that dies") {
  const auto file =
      std::filesystem::temp_directory_path() / ("pillion-launcher-" + std::to_string(getpid()));
  std::filesystem::remove(file);
  auto segment = node::Segment::make({"launcher", 1, 0, 1, 1}, {{0, 4096}}, {});
  segment.take_channel(0);
  segment.open_channel(0);
  transport::NodeSender sender(segment, 0, true, nullptr);
  Supervisor supervisor(sender, 2, "echo started >> '" + file.string() + "'", ".");
  for (int n = 0; n < 100; ++n) supervisor.tend();
  CHECK(supervisor.restarts() == 0);
  for (int sidecar_job = 1; sidecar_job <= 3; ++sidecar_job) {
    const auto sidecar = subscribe(segment);
    for (int n = 0; n < 100; ++n) supervisor.tend();
    CHECK(supervisor.restarts() == std::min(sidecar_job - 1, 2));
    sidecar->kill(SIGKILL);
    sidecar->await_death();
    for (int n = 0; n < 100; ++n) supervisor.tend();
    CHECK(supervisor.restarts() == std::min(sidecar_job, 2));
    CHECK(grows_to(file, std::min(sidecar_job, 2)));
  }
  std::filesystem::remove(file);
  Supervisor nothing;
  nothing.tend();
  CHECK(nothing.restarts() == 0);
}
