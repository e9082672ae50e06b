// SPDX-License-Identifier: BSD-3-Clause
// Which samples follow one another, by steps and by time, and what is missing between them.
#include "autocorrelation/spacing.hpp"

#include <doctest/doctest.h>

using pillion::stages::autocorrelation::Spacing;
using Verdict = Spacing::Verdict;

TEST_CASE("on a schedule of steps the first two samples say how far apart samples are") {
  Spacing spacing;
  CHECK(spacing.see(10, 1.0, 0) == Verdict::next);
  CHECK(spacing.see(15, 1.5, 0) == Verdict::next);
  CHECK(spacing.see(20, 2.1, 0) == Verdict::next);
  CHECK(spacing.missing() == 0);
  CHECK(spacing.steps() == 5);
  CHECK(spacing.time() == doctest::Approx(0.55));
  CHECK(spacing.see(35, 3.5, 0) == Verdict::gap);
  CHECK(spacing.missing() == 2);
  CHECK(spacing.see(40, 4.0, 0) == Verdict::next);
  CHECK(spacing.steps() == 5);                     // gaps do not count
  CHECK(spacing.see(42, 4.2, 0) == Verdict::gap);  // out of step
  CHECK(spacing.missing() == 3);
}

TEST_CASE("a first distance that was a gap is noticed, and all starts again") {
  Spacing spacing;
  CHECK(spacing.see(0, 0, 0) == Verdict::next);
  CHECK(spacing.see(6, 6, 0) == Verdict::next);
  CHECK(spacing.see(8, 8, 0) == Verdict::restart);
  CHECK(spacing.see(10, 10, 0) == Verdict::next);
  CHECK(spacing.see(12, 12, 0) == Verdict::next);
  CHECK(spacing.steps() == 2);
  CHECK(spacing.missing() == 0);
}

TEST_CASE("on a schedule of time steps may lie anyhow") {
  Spacing spacing;
  CHECK(spacing.see(3, 0.1, 0.5) == Verdict::next);
  CHECK(spacing.see(10, 0.58, 0.5) == Verdict::next);
  CHECK(spacing.see(12, 1.1, 0.5) == Verdict::next);
  CHECK(spacing.see(20, 2.6, 0.5) == Verdict::gap);
  CHECK(spacing.missing() == 2);
}

TEST_CASE("on a schedule of time steps may be longer than its interval") {
  Spacing spacing;
  for (int i = 0; i < 5; ++i) CHECK(spacing.see(i, 0.2 * i, 0.1) == Verdict::next);
  CHECK(spacing.missing() == 0);
  CHECK(spacing.see(7, 1.4, 0.1) == Verdict::gap);
  CHECK(spacing.missing() == 2);
  CHECK(spacing.time() == doctest::Approx(0.2));
}

TEST_CASE("what is saved is taken up") {
  Spacing spacing, other;
  for (const int64_t step : {0, 4, 8, 16})
    (void)spacing.see(step, 0.5 * static_cast<double>(step), 0);
  other.restore(spacing.integers(), spacing.reals());
  for (const int64_t step : {20, 28}) {
    const double time = 0.5 * static_cast<double>(step);
    CHECK(other.see(step, time, 0) == spacing.see(step, time, 0));
  }
  CHECK(other.missing() == spacing.missing());
  CHECK(other.steps() == spacing.steps());
  CHECK(other.time() == spacing.time());
}
