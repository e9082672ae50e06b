// SPDX-License-Identifier: BSD-3-Clause
#include "model/schedule.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using namespace pillion;
using namespace pillion::model;

namespace {

Schedule schedule(const std::string& text) {
  base::Value value;
  value.kind = base::Value::Kind::Scalar;
  value.text = text;
  return read_schedule(value);
}

/// Which of these times a schedule is due at, offered one after the other.
std::vector<int> due_at(const Schedule& s, const std::vector<double>& times, Reached reached = {}) {
  std::vector<int> due;
  for (size_t i = 0; i < times.size(); ++i) {
    if (is_due(s, reached, static_cast<int64_t>(i), times[i])) due.push_back(static_cast<int>(i));
    reached = advance(s, reached, times[i]);
  }
  return due;
}

}  // namespace

TEST_CASE("schedules are read, and what is none is refused") {
  CHECK(schedule("5 steps").steps == 5);
  CHECK(schedule("1 step").steps == 1);
  CHECK(schedule("7").steps == 7);
  CHECK(schedule("0.5 time").interval == 0.5);
  for (const char* wrong : {"", "0 steps", "-1 steps", "1.5 steps", "0 time", "nan time",
                            "5 apples", "often", "inf time"})
    CHECK_THROWS_AS(schedule(wrong), Error);
}

TEST_CASE("steps are due when the number divides them") {
  const auto s = schedule("5 steps");
  for (int64_t step = -11; step < 12; ++step) CHECK(is_due(s, {}, step, 0) == (step % 5 == 0));
  CHECK(horizon(s, {}, 0).step == 5);
  CHECK(horizon(s, {}, 4).step == 5);
  CHECK(horizon(s, {}, -1).step == 0);
  CHECK(horizon(s, {}, -6).step == -5);
}

TEST_CASE("time is due when it reaches or passes another multiple") {
  const auto s = schedule("1 time");
  CHECK(due_at(s, {0, 0.4, 0.8, 1.2, 1.6, 2.0, 5.5, 5.9}) == std::vector<int>{0, 3, 5, 6});
  // A run that does not start on a multiple waits for the next.
  CHECK(due_at(s, {0.3, 0.9, 1.0}) == std::vector<int>{2});
  // One that resumes does not repeat what was due.
  CHECK(due_at(s, {1.0, 1.5, 2.0}, Reached(1)) == std::vector<int>{2});
}

TEST_CASE("sums of small steps are due as often as exact multiples") {
  const auto s = schedule("0.1 time");
  double time = 0;
  Reached reached;
  int due = 0;
  for (int64_t step = 0; step <= 100000; ++step, time += 0.001) {
    const auto next = horizon(s, reached, step - 1);
    const bool now = is_due(s, reached, step, time);
    if (now) CHECK(time >= next.time);
    due += now ? 1 : 0;
    reached = advance(s, reached, time);
  }
  CHECK(due == 1001);
}

namespace {

/// How often a schedule is due at these times, which idle() must not hide.
int times_due(const Schedule& s, const std::vector<double>& times) {
  Reached reached;
  int due = 0;
  for (size_t n = 0; n < times.size(); ++n) {
    const auto step = static_cast<int64_t>(n);
    const auto next = horizon(s, reached, step - 1);
    const bool now = is_due(s, reached, step, times[n]);
    if (now) CHECK(times[n] >= next.time);
    due += now ? 1 : 0;
    reached = advance(s, reached, times[n]);
  }
  return due;
}

}  // namespace

TEST_CASE("multiples in single precision are multiples") {
  const auto s = schedule("0.1 time");
  std::vector<double> products, doubles;
  for (int k = 0; k <= 3000; ++k) {
    products.push_back(static_cast<double>(static_cast<float>(k) * 0.1F));
    doubles.push_back(k * 0.1);
  }
  CHECK(times_due(s, products) == 3001);
  CHECK(times_due(s, doubles) == 3001);
}

TEST_CASE("a time in double precision is due no earlier than it was") {
  const auto s = schedule("0.1 time");
  // The multiple is 1e6 times the interval away, where floats are 0.008 apart.
  const Reached reached = multiple_reached(s, 99999.91);
  CHECK_FALSE(is_due(s, reached, 0, 99999.9 + 0.1 * (1 - 1e-5)));
  CHECK(is_due(s, reached, 0, 100000.0 + 1e-9));
  // Where floats are as far apart as multiples, they do not meet one much too early.
  CHECK_FALSE(is_due(schedule("1 time"), Reached(16777216), 0, 16777216.0));
  const double large = std::numeric_limits<double>::max();
  CHECK_NOTHROW(is_due(schedule("1e300 time"), Reached(0), 0, large));
}
