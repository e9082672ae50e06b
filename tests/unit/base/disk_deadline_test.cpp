// SPDX-License-Identifier: BSD-3-Clause
#include "base/disk_deadline.hpp"

#include <doctest/doctest.h>

#include <future>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/clock.hpp"

using namespace pillion::base;

TEST_CASE("without a deadline a deed for the disk is a call") {
  bool done = false;
  CHECK(on_disk([&] { done = true; }));
  CHECK(done);
  CHECK_THROWS_AS(on_disk([] { throw std::runtime_error("full"); }), std::runtime_error);
}

TEST_CASE("in time, deeds are done in order and their errors arrive") {
  const DiskDeadline deadline(std::numeric_limits<double>::infinity());
  std::vector<int> done;
  for (int n = 0; n < 5; ++n) CHECK(on_disk([&, n] { done.push_back(n); }));
  CHECK(done == std::vector{0, 1, 2, 3, 4});
  CHECK_THROWS_WITH(on_disk([] { throw std::runtime_error("full"); }), "full");
  CHECK_FALSE(deadline.has_passed());
  CHECK(deadline.rest()(0));
}

TEST_CASE("a disk that hangs is waited for until the deadline, and its deeds are done later") {
  std::promise<void> answers;
  const auto done = std::make_shared<std::vector<int>>();
  std::function<bool(double)> rest;
  const double begin = monotonic_seconds();
  {
    const DiskDeadline deadline(begin + 0.05);
    CHECK_FALSE(on_disk([answer = answers.get_future().share(), done] {
      answer.wait();
      done->push_back(1);
    }));
    CHECK(deadline.has_passed());
    CHECK_FALSE(on_disk([done] { done->push_back(2); }));
    rest = deadline.rest();
  }
  CHECK(monotonic_seconds() - begin >= 0.05);
  CHECK_FALSE(rest(0.01));
  answers.set_value();
  CHECK(rest(60));
  CHECK(*done == std::vector{1, 2});
  bool called = false;
  CHECK(on_disk([&] { called = true; }));
  CHECK(called);
}
