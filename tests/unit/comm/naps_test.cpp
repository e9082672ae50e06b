// SPDX-License-Identifier: BSD-3-Clause
// Ranks that sleep while they wait for each other, by arithmetic alone: every rank takes the steps
// of a reduction when it is awake.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "comm/request.hpp"

namespace {

/// A rank that waits from `begin` on, and looks at the times at which it is awake.
class Sleeper {
 public:
  explicit Sleeper(double begin) : begin_(begin), now_(begin) {}
  /// When it first looks at `time` or later.
  double look(double time) {
    constexpr double awake = 1e-4, test = 1e-6;  // seconds
    while (now_ < time) {
      const double waited = now_ - begin_;
      now_ += waited < awake ? test : pillion::comm::nap_after(waited) + test;
      ++looks_;
    }
    return now_;
  }
  [[nodiscard]] int looks() const { return looks_; }

 private:
  double begin_, now_;
  int looks_ = 0;
};

/// When each rank has the result of a reduction by recursive doubling that it came to at `begin`.
std::vector<double> meet(const std::vector<double>& begin) {
  std::vector<Sleeper> ranks(begin.begin(), begin.end());
  std::vector<double> done = begin;
  for (size_t distance = 1; distance < ranks.size(); distance *= 2) {
    const auto before = done;
    for (size_t r = 0; r < ranks.size(); ++r)
      done[r] = ranks[r].look(std::max(before[r], before[r ^ distance]));
  }
  return done;
}

}  // namespace

TEST_CASE("ranks that meet again and again come closer together, after one was late once") {
  for (const size_t ranks : {2, 4, 64, 1024}) {
    std::vector<double> begin(ranks, 0.0);
    begin[1] = 50e-3;
    double took = 0;  // seconds by which the last rank leaves after the last has come
    for (int meeting = 0; meeting < 40; ++meeting) {
      const auto end = meet(begin);
      took =
          *std::max_element(end.begin(), end.end()) - *std::max_element(begin.begin(), begin.end());
      begin = end;
      if (meeting % 2 == 0) begin[0] += 2e-3;  // it works
    }
    CAPTURE(ranks);
    CHECK(took < 2e-3);
  }
}

TEST_CASE(
    "a rank that waits long is late by a part of that, and is awake fewer than 50 times a second") {
  Sleeper sleeper(0);
  CHECK(sleeper.look(5) - 5 < 30e-3);
  const int before = sleeper.looks();
  CHECK(sleeper.look(15) - 15 < 30e-3);
  CHECK(sleeper.looks() - before < 10 * 50);
  for (const double waited : {1e-3, 10e-3, 100e-3}) {
    CAPTURE(waited);
    CHECK(Sleeper(0).look(waited) < waited * 9 / 8);
  }
}
