// SPDX-License-Identifier: BSD-3-Clause
#include "run/attachment.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "comm/communicator.hpp"

using namespace pillion;
using namespace pillion::run;

TEST_CASE("helpers share channels out evenly, each to one") {
  for (int channels = 0; channels <= 20; ++channels)
    for (int helpers = 1; helpers <= 20; ++helpers) {
      int next = 0;
      for (int me = 0; me < helpers; ++me) {
        const auto [first, last] = channel_range(me, helpers, channels);
        REQUIRE(first == next);
        REQUIRE(last - first >= channels / helpers);
        REQUIRE(last - first <= (channels + helpers - 1) / helpers);
        next = last;
      }
      REQUIRE(next == channels);
    }
}

namespace {

std::vector<node::Found> three_runs() {
  return {{{1, 5, 7}, {"water", 0x1f, 0, 2, 6}},
          {{1, 6, 8}, {"water", 0x1f, 1, 2, 6}},
          {{2, 5, 9}, {"water", 0x2f, 0, 1, 1}},
          {{3, 5, 9}, {"000000000000001f", 0x3f, 0, 1, 1}}};
}

}  // namespace

TEST_CASE("a run is known by its name or its id") {
  const auto found = three_runs();
  CHECK(matching(found, "water").size() == 3);
  CHECK(matching(found, "000000000000002f").size() == 1);
  CHECK(matching(found, "wat").empty());
  CHECK(matching(found, "").empty());
}

TEST_CASE("runs are listed once, however many nodes of them are here") {
  CHECK(describe_runs({}).empty());
  CHECK(describe_runs(three_runs()) ==
        "water (id 000000000000001f): 6 simulation ranks on 2 nodes\n"
        "water (id 000000000000002f): 1 simulation ranks on 1 nodes\n"
        "000000000000001f (id 000000000000003f): 1 simulation ranks on 1 nodes\n");
}

TEST_CASE("a run in a container is listed, and cannot be attached to") {
  auto found = three_runs();
  found[2].in_container = true;
  CHECK(matching(found, "water").size() == 2);
  CHECK(matching(found, "000000000000002f").empty());
  CHECK(
      describe_runs(found).find("water (id 000000000000002f): 1 simulation ranks on 1 nodes, in a "
                                "container; attach from inside it\n") != std::string::npos);
}

namespace {

std::string complaint(const std::string& name) {
  try {
    attach_to(comm::Communicator(MPI_COMM_SELF), name, 0);
  } catch (const Error& e) {
    return e.what();
  }
  return "none";
}

/// A run that goes on in this process.
node::Segment go_on(const std::string& name, uint64_t run, int32_t nodes, int32_t ranks) {
  auto segment = node::Segment::make({name, run, 0, nodes, ranks}, {{0, 100}, {1, 100}}, {});
  segment.open_channel(0);
  segment.open_channel(1);
  return segment;
}

}  // namespace

TEST_CASE("attaching finds the run that is meant, and says what else there is") {
  const std::string name = "unit-test-" + std::to_string(getpid());
  const uint64_t run = node::this_process();
  CHECK(complaint(name).find("no run called '" + name + "'") != std::string::npos);
  const auto segment = go_on(name, run, 1, 2);
  const auto attachment = attach_to(comm::Communicator(MPI_COMM_SELF), name, 0);
  CHECK(attachment.segments.size() == 1);
  CHECK(attachment.sources.size() == 2);
  CHECK(attachment.is_first);
  CHECK(complaint("no" + name).find(name) != std::string::npos);
  const auto twin = go_on(name, run + 1, 1, 2);
  CHECK(complaint(name).find("several runs are called '" + name + "'") != std::string::npos);
  const auto id = fmt::format("{:016x}", run + 1);
  CHECK(attach_to(comm::Communicator(MPI_COMM_SELF), id, 0).segments.at(0)->identity().run ==
        run + 1);
  const auto far = go_on(name + "-far", run + 2, 2, 4);
  CHECK(complaint(name + "-far").find("4 simulation ranks on 2 nodes") != std::string::npos);
}

namespace {

/// Time that passes only while a thread sleeps.
class SleepingClock final : public base::Clock {
 public:
  SleepingClock() { base::set_clock(this); }
  ~SleepingClock() override { base::set_clock(nullptr); }
  double monotonic_seconds() override { return now_; }
  double calendar_seconds() override { return now_; }
  void sleep(double seconds) override {
    now_ += seconds;
    ++sleeps_;
  }
  void yield() override {}
  void sleep_while(const std::atomic<uint32_t>&, uint32_t, double seconds) override {
    now_ += seconds;
  }
  void wake(std::atomic<uint32_t>&) override {}
  [[nodiscard]] int sleeps() const { return sleeps_; }

 private:
  double now_ = 0;
  int sleeps_ = 0;
};

}  // namespace

TEST_CASE("a job that waits for its run looks for it less and less often") {
  const comm::Communicator world(MPI_COMM_WORLD);
  SleepingClock clock;
  constexpr double patience = 10;  // seconds
  CHECK_THROWS_WITH(attach_to(world, "no run has this name", patience),
                    doctest::Contains("no run"));
  CHECK(clock.monotonic_seconds() == doctest::Approx(patience));
  CHECK(clock.sleeps() < 20);  // each is followed by a look at all open files of the node
}

TEST_CASE("a job that is asked to leave stops looking") {
  SleepingClock clock;
  int looks = 0;
  CHECK_THROWS_WITH(attach_to(comm::Communicator(MPI_COMM_WORLD), "no run has this name", 1e6,
                              [&] { return ++looks == 3; }),
                    doctest::Contains("asked to leave"));
  CHECK(looks == 3);
}
