// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/agenda.hpp"

#include <doctest/doctest.h>

using namespace pillion;
using namespace pillion::runtime;

namespace {

std::deque<model::AnalysisSpec> analyses() {
  std::deque<model::AnalysisSpec> out(2);
  out[0].every = {.steps = 5, .interval = 0};
  out[1].every = {.steps = 1, .interval = 0.5};
  return out;
}

}  // namespace

TEST_CASE("idle says the same as asking every schedule, and is never wrong") {
  const auto specs = analyses();
  Agenda agenda(specs);
  for (int64_t step = 0; step < 1000; ++step) {
    const double time = static_cast<double>(step) * 0.03;
    const bool idle = agenda.idle(step, time);
    const auto due = agenda.scheduled(step, time);
    if (idle) CHECK(due.empty());
    if (step > 0) CHECK(idle == due.empty());
    idle ? agenda.offer_idle(step) : agenda.offer(step, time);
  }
}

TEST_CASE("steps must increase") {
  const auto specs = analyses();
  Agenda agenda(specs);
  agenda.offer(10, 0);
  CHECK(agenda.known(10));
  CHECK_FALSE(agenda.known(9));
  CHECK_THROWS_AS(agenda.offer(9, 0), Error);
  CHECK_THROWS_AS(agenda.offer(10, 0), Error);
  agenda.offer(11, 0);
}

TEST_CASE("a run that resumes knows the steps before, and goes on as if it had not ended") {
  const auto specs = analyses();
  Agenda whole(specs), resumed(specs);
  for (int64_t step = 0; step <= 20; ++step) whole.offer(step, static_cast<double>(step) * 0.03);
  for (size_t a = 0; a < specs.size(); ++a) resumed.memory(a) = whole.memory(a);
  resumed.resume(20, 0.6);
  CHECK(resumed.known(20));
  CHECK(resumed.known(3));
  for (int64_t step = 21; step <= 60; ++step) {
    const double time = static_cast<double>(step) * 0.03;
    CHECK(resumed.scheduled(step, time) == whole.scheduled(step, time));
    CHECK(resumed.idle(step, time) == whole.idle(step, time));
    whole.offer(step, time);
    resumed.offer(step, time);
  }
}

TEST_CASE(
    "an analysis that joins is due when its schedule next says so, and others notice nothing") {
  // Brute force: a schedule in time is due at the first step at or after each multiple.
  for (int64_t joined = 0; joined < 60; ++joined) {
    CAPTURE(joined);
    auto specs = analyses();
    const auto before = analyses();
    Agenda agenda(specs), alone(before);
    const auto offer = [](Agenda& to, int64_t step, double time) {
      const auto due = to.idle(step, time) ? std::vector<size_t>{} : to.scheduled(step, time);
      to.idle(step, time) ? to.offer_idle(step) : to.offer(step, time);
      return due;
    };
    for (int64_t step = 1; step <= 200; ++step) {
      const double time = static_cast<double>(step) * 0.03;
      if (step == joined + 1) {
        for (int k = 0; k < 2; ++k) specs.emplace_back();
        specs[2].every = {.steps = 7, .interval = 0};
        specs[3].every = {.steps = 1, .interval = 0.25};
        agenda.extend(static_cast<double>(joined) * 0.03);
      }
      auto expected = offer(alone, step, time);
      if (step > joined && step % 7 == 0) expected.push_back(2);
      const auto multiples = [](int64_t s) { return s * 3 / 25; };
      if (step > std::max<int64_t>(joined, 1) && multiples(step) > multiples(step - 1))
        expected.push_back(3);
      CAPTURE(step);
      CHECK(offer(agenda, step, time) == expected);
    }
  }
}

TEST_CASE("an analysis may join before the first step") {
  auto specs = analyses();
  Agenda agenda(specs);
  specs.emplace_back();
  agenda.extend(0);
  CHECK_FALSE(agenda.idle(3, 0.7));
  CHECK(agenda.scheduled(3, 0.7) == std::vector<size_t>{2});
}
