// SPDX-License-Identifier: BSD-3-Clause
// Particles that have new numbers are told from particles that move, however these move.
#include "common/continuity.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace pillion::stages;

namespace {

struct Gas {
  std::mt19937 random{7};
  std::normal_distribution<double> normal;
  std::vector<double> position[3], velocity[3];
  std::vector<int64_t> ids;
  double length;

  explicit Gas(size_t count, double edge = 10) : length(edge) {
    std::uniform_real_distribution<double> uniform(0, edge);
    for (size_t i = 0; i < count; ++i) {
      ids.push_back(static_cast<int64_t>(i) + 1);
      for (auto& x : position) x.push_back(uniform(random));
      for (auto& v : velocity) v.push_back(normal(random));
    }
  }
  /// Velocities forget by the factor `memory`, positions go on by `step` times the velocity.
  void move(double step, double memory) {
    for (size_t d = 0; d < 3; ++d)
      for (size_t i = 0; i < ids.size(); ++i) {
        velocity[d][i] = memory * velocity[d][i] + std::sqrt(1 - memory * memory) * normal(random);
        position[d][i] += step * velocity[d][i];
      }
  }
  void shuffle() { std::shuffle(ids.begin(), ids.end(), random); }
  /// Takes every n-th particle away and gives the others the numbers from 1 on.
  void remove(size_t n) {
    size_t to = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (i % n == 0) continue;
      for (auto* of : {&position, &velocity})
        for (auto& x : *of) x[to] = x[i];
      ++to;
    }
    ids.resize(to);
    for (auto* of : {&position, &velocity})
      for (auto& x : *of) x.resize(to);
    for (size_t i = 0; i < to; ++i) ids[i] = static_cast<int64_t>(i) + 1;
  }
  [[nodiscard]] Snapshot snapshot(TrackOf what) const {
    std::vector<size_t> order(ids.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ids[a] < ids[b]; });
    auto keys = std::make_shared<std::vector<int64_t>>();
    auto vectors = std::make_shared<Vectors>();
    for (const size_t i : order) {
      keys->push_back(ids[i]);
      for (size_t d = 0; d < 3; ++d)
        (*vectors)[d].push_back(what == TrackOf::positions ? position[d][i] : velocity[d][i]);
    }
    return {{keys, vectors}};
  }
};

/// Publications of a gas, judged one after the other.
struct Watched {
  Gas gas;
  TrackOf what;
  Continuity continuity{what};
  Snapshot before = gas.snapshot(what);

  /// Whether ids seem to be those of the same particles.
  bool look(double interval = 1) {
    const auto now = gas.snapshot(what);
    const auto motion = motion_of(now, before, continuity.limit(interval));
    const bool same = continuity.are_the_same(motion, interval);
    if (same) continuity.add(motion, interval);
    before = now;
    return same;
  }
};

}  // namespace

TEST_CASE("particles that move are the same, slowly or fast, in few or many publications") {
  for (const auto what : {TrackOf::positions, TrackOf::velocities})
    for (const size_t count : {1, 29, 200, 5000})
      for (const double memory : {0.0, 0.5, 0.95, 1.0})
        for (const double step : {1e-4, 0.1, 20.0}) {
          Watched watched{Gas(count), what};
          int same = 0;
          for (int n = 0; n < 12; ++n) {
            const int factor = n % 3 == 0 ? 2 : 1;  // of intervals
            for (int i = 0; i < factor; ++i) watched.gas.move(step, memory);
            same += watched.look(factor) ? 1 : 0;
          }
          CHECK(same == 12);
        }
}

TEST_CASE("new numbers are found at once, by positions and by velocities") {
  for (const auto what : {TrackOf::positions, TrackOf::velocities})
    for (const bool removed : {false, true}) {
      Watched watched{Gas(300), what};
      for (int n = 0; n < 4; ++n) {
        watched.gas.move(0.1, 0.95);
        REQUIRE(watched.look());
      }
      watched.gas.move(0.1, 0.95);
      if (removed) watched.gas.remove(5);
      else watched.gas.shuffle();
      CHECK_FALSE(watched.look());
      watched.gas.move(0.1, 0.95);
      CHECK(watched.look());
    }
}

TEST_CASE("one id that is used again is found by where its particle is") {
  Watched watched{Gas(500), TrackOf::positions};
  for (int n = 0; n < 3; ++n) {
    watched.gas.move(0.02, 0.95);
    REQUIRE(watched.look());
  }
  const double spacing = std::cbrt(1000.0 / 500);
  const auto before = watched.before;
  watched.gas.move(0.02, 0.95);
  CHECK(changed_beyond(watched.continuity.reach(1, spacing), watched.gas.snapshot(watched.what),
                       before)
            .empty());
  watched.gas.position[1][41] += 5;
  const auto now = watched.gas.snapshot(watched.what);
  const auto motion = motion_of(now, before, watched.continuity.limit(1));
  CHECK(watched.continuity.are_the_same(motion, 1));
  const double reach = watched.continuity.reach(1, spacing);
  CHECK(motion.largest > reach);
  CHECK(changed_beyond(reach, now, before) == std::vector<int64_t>{42});
  const auto left = without(before[0], std::vector<int64_t>{42});
  CHECK(left.keys->size() == 499);
  CHECK(std::count(left.keys->begin(), left.keys->end(), 42) == 0);
  CHECK((*left.vectors)[2][40] == (*before[0].vectors)[2][40]);
  CHECK((*left.vectors)[2][41] == (*before[0].vectors)[2][42]);
}

TEST_CASE("what was seen outlives a restart") {
  Watched watched{Gas(300), TrackOf::positions};
  for (int n = 0; n < 3; ++n) {
    watched.gas.move(0.1, 0.95);
    (void)watched.look();
  }
  Continuity other(TrackOf::positions);
  other.restore(watched.continuity.saved());
  CHECK(other.saved() == watched.continuity.saved());
  watched.gas.shuffle();
  const auto now = watched.gas.snapshot(watched.what);
  CHECK_FALSE(other.are_the_same(motion_of(now, watched.before, other.limit(1)), 1));
}
