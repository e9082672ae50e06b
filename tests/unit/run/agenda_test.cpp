// SPDX-License-Identifier: BSD-3-Clause
#include "run/agenda.hpp"

#include <doctest/doctest.h>

using namespace pillion;
using namespace pillion::run;

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
    idle ? agenda.offer_idle(step, time) : agenda.offer(step, time);
  }
}

namespace {

/// A program that offers steps to an agenda, as a session does.
struct Program {
  Agenda& agenda;
  std::vector<int64_t> numbers = {};  ///< of the steps that were not known
  /// Numbers of steps, by analysis.
  std::vector<std::vector<int64_t>> due = std::vector<std::vector<int64_t>>(2);
  int64_t segments = 0;

  void offer(int64_t step, double time) {
    const auto numbered = agenda.number(step, time);
    const bool idle = agenda.idle(step, time);
    if (numbered.known) {
      CHECK_FALSE(idle);
      return;
    }
    numbers.push_back(numbered.step);
    segments += numbered.begins_segment ? 1 : 0;
    if (idle) return agenda.offer_idle(step, time);
    for (const size_t a : agenda.scheduled(numbered.step, time)) due[a].push_back(numbered.step);
    agenda.offer(step, time);
    CHECK(agenda.last_step() == numbered.step);
  }
  void offer(int64_t first, int64_t last, double time) {
    for (int64_t step = first; step <= last; ++step)
      offer(step, time + 0.1 * static_cast<double>(step - first));
  }
};

using Steps = std::vector<int64_t>;

Steps count(int64_t first, int64_t last, int64_t by = 1) {
  Steps out;
  for (int64_t step = first; step <= last; step += by) out.push_back(step);
  return out;
}

Steps joined(Steps one, const Steps& two) {
  one.insert(one.end(), two.begin(), two.end());
  return one;
}

}  // namespace

TEST_CASE("a step that is offered twice is known") {
  const auto specs = analyses();
  Agenda agenda(specs);
  Program program{agenda};
  program.offer(10, 0.1 + 0.2);
  program.offer(10, 0.3);
  program.offer(11, 0.4);
  CHECK(program.numbers == Steps{10, 11});
}

TEST_CASE("a counter and a time that go back begin a segment, whose schedules begin anew") {
  const auto specs = analyses();
  Agenda agenda(specs);
  Program program{agenda};
  program.offer(0, 23, 0);
  program.offer(0, 12, 0);
  CHECK(program.numbers == joined(count(0, 23), count(25, 37)));
  CHECK(program.due[0] == Steps{0, 5, 10, 15, 20, 25, 30, 35});
  // The first steps at or behind times 0, 0.5, 1, …
  CHECK(program.due[1] == Steps{0, 5, 10, 15, 20, 25, 30, 35});
  program.offer(3, 6, 0.7);
  CHECK(program.numbers == joined(joined(count(0, 23), count(25, 37)), count(38, 41)));
  CHECK(program.due[1].back() == 41);  // the first multiple after time 0.7
  CHECK(program.segments == 2);
}

TEST_CASE("where the time goes on, the state is not offered twice under another number") {
  const auto specs = analyses();
  Agenda agenda(specs), whole(specs);
  Program program{agenda}, uninterrupted{whole};
  uninterrupted.offer(0, 32, 0);
  program.offer(0, 20, 0);
  program.offer(0, 12, 2.0);
  CHECK(program.numbers == uninterrupted.numbers);
  CHECK(program.due == uninterrupted.due);
  CHECK(program.segments == 1);
}

TEST_CASE("a counter that stands still while time goes on counts as steps") {
  const auto specs = analyses();
  Agenda agenda(specs);
  Program program{agenda};
  for (int n = 0; n <= 12; ++n) program.offer(7, 0.1 * n);
  CHECK(program.numbers == count(7, 19));
  CHECK(program.due[0] == Steps{10, 15});
  CHECK(program.due[1] == Steps{7, 12, 17});
}

TEST_CASE("a program without times may begin its steps anew") {
  const auto specs = analyses();
  Agenda agenda(specs);
  Program program{agenda};
  for (int run = 0; run < 2; ++run)
    for (int64_t step = 0; step <= 7; ++step) program.offer(step, 0);
  CHECK(program.numbers == joined(count(0, 7), count(10, 17)));
  CHECK(program.due[0] == Steps{0, 5, 10, 15});
}

TEST_CASE("time may go back while steps go on") {
  const auto specs = analyses();
  Agenda agenda(specs);
  Program program{agenda};
  program.offer(1, 21, 0);
  program.offer(22, 32, 0);
  CHECK(program.numbers == count(1, 32));
  CHECK(program.due[1] == Steps{1, 6, 11, 16, 21, 22, 27, 32});
  CHECK(program.segments == 0);
}

TEST_CASE("schedules that are too long to align still give increasing steps") {
  std::deque<model::AnalysisSpec> specs(3);
  int64_t steps = 999'983;
  for (auto& spec : specs) spec.every = {.steps = steps--, .interval = 0};
  Agenda agenda(specs);
  agenda.offer(5, 1);
  const auto numbered = agenda.number(0, 0);
  CHECK(numbered.begins_segment);
  CHECK(numbered.step > 5);
  CHECK(numbered.step < 2'000'000);
}

TEST_CASE("a program that counts its steps anew after a restart continues the run") {
  const auto specs = analyses();
  Agenda whole(specs), resumed(specs);
  Program uninterrupted{whole}, program{resumed};
  uninterrupted.offer(0, 23, 0);
  for (size_t a = 0; a < specs.size(); ++a) resumed.schedule_state(a) = whole.schedule_state(a);
  uninterrupted.numbers.clear();
  uninterrupted.due = {{}, {}};
  uninterrupted.offer(24, 50, 2.4);
  resumed.resume(23, 2.3);
  CHECK_FALSE(resumed.idle(0, 2.3));
  program.offer(0, 2.3 + 1e-13);  // as a restart file has it
  program.offer(1, 27, 2.4);
  CHECK(program.numbers == uninterrupted.numbers);
  CHECK(program.due == uninterrupted.due);
  CHECK(program.segments == 1);
  CHECK(resumed.offset() == 23);
}

TEST_CASE("a program that computes steps before the checkpoint again is not heard until after it") {
  const auto specs = analyses();
  Agenda agenda(specs);
  agenda.resume(23, 2.3);
  Program program{agenda};
  program.offer(11, 30, 1.1);
  CHECK(program.numbers == count(24, 30));
  CHECK(program.segments == 0);
}

TEST_CASE("a run that resumes keeps what was added to the program's steps") {
  const auto specs = analyses();
  Agenda agenda(specs);
  agenda.resume(123, 2.3, 100);
  Program program{agenda};
  program.offer(20, 30, 2.0);
  CHECK(program.numbers == count(124, 130));
  CHECK(program.segments == 0);
}

TEST_CASE("a run that resumes knows the steps before, and goes on as if it had not ended") {
  const auto specs = analyses();
  Agenda whole(specs), resumed(specs);
  for (int64_t step = 0; step <= 20; ++step) whole.offer(step, static_cast<double>(step) * 0.03);
  for (size_t a = 0; a < specs.size(); ++a) resumed.schedule_state(a) = whole.schedule_state(a);
  resumed.resume(20, 0.6);
  CHECK(resumed.number(20, 0.6).known);
  CHECK(resumed.number(3, 0.09).known);
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
      to.idle(step, time) ? to.offer_idle(step, time) : to.offer(step, time);
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

TEST_CASE("an analysis that no step of the program was for is named, with what was offered") {
  const auto specs = analyses();
  Agenda agenda(specs);
  CHECK(agenda.never_due(0, 0).empty());  // nothing was offered
  for (int64_t n = 0; n < 4; ++n) agenda.offer(1 + 10 * n, 0.1 + 0.1 * static_cast<double>(n));
  CHECK(agenda.never_due(0, 4) ==
        "analysis '' was never due: 'every: 5 steps' met none of the 4 steps that the program "
        "offered, from 1 to 31; it is due at steps that 5 divides");
  CHECK(agenda.never_due(1, 4) ==
        "analysis '' was never due: 'every: 0.5 time' met none of the 4 times that the program "
        "offered, from 0.1 to 0.4");
  CHECK_FALSE(agenda.time_stands());
  agenda.offer(35, 0.6);
  CHECK(agenda.never_due(0, 5).empty());
  CHECK(agenda.never_due(1, 5).empty());
}

TEST_CASE("what was due before a restart is not what was due after it") {
  const auto specs = analyses();
  Agenda agenda(specs);
  agenda.resume(5, 0.5);
  CHECK(agenda.never_due(0, 0).empty());
  agenda.offer(6, 0.51);
  CHECK_FALSE(agenda.never_due(0, 1).empty());
  agenda.offer(10, 0.55);
  CHECK(agenda.never_due(0, 2).empty());
}

TEST_CASE("a time that stands is noticed") {
  const auto specs = analyses();
  Agenda agenda(specs);
  CHECK_FALSE(agenda.time_stands());
  for (int64_t step = 0; step < 3; ++step) agenda.offer(step, 2);
  CHECK(agenda.time_stands());
  agenda.offer(3, 3);
  CHECK_FALSE(agenda.time_stands());
}
