// SPDX-License-Identifier: BSD-3-Clause
#include "policy/placement_policy.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

using pillion::policy::PlacementPolicy;
using pillion::policy::Sample;

namespace {

/// Seconds that things take from one publication to the next.
struct Costs {
  double steps = 1;    ///< of the simulation
  double here = 0;     ///< the analysis there
  double there = 0;    ///< in the sidecars
  double copy = 0.01;  ///< handing over
  double others = 0;   ///< sidecars, on other analyses
};

/// A run with `room` for as many publications as the sidecars may be behind; then the simulation
/// waits. Kept apart from the decision: it plays what would happen, second by second.
class World {
 public:
  explicit World(double toll = 0.1, int room = 4) : toll_(toll), room_(room) {}

  /// Plays one publication where the analysis is.
  void publish(const Costs& c) {
    const double began = now_;
    now_ += c.steps;
    Sample sample;
    if (there_) {
      double waited = 0;
      while (count_if_unfinished() >= room_) {
        const double next = next_finish();
        waited += next - now_;
        now_ = next;
      }
      now_ += c.copy;
      free_ = std::max(free_, now_) + c.there + c.others;
      ends_.push_back({free_, c.there, c.there + c.others});
      sample.own = waited + c.copy;
    } else {
      now_ += c.here;
      sample.own = c.here;
      free_ = std::max(free_, now_) + c.others;
      others_busy_ += c.others;
    }
    sample.interval = now_ - began + pending_toll_;
    pending_toll_ = 0;
    hear(sample);
    samples_.push_back(sample);
  }
  /// What is heard of the last one, at the next one.
  [[nodiscard]] Sample last() const { return samples_.back(); }
  void move() {
    if (there_) now_ = std::max(now_, free_);
    now_ += toll_;
    pending_toll_ = toll_;
    there_ = !there_;
    ++moves_;
  }
  [[nodiscard]] double end() const { return std::max(now_, free_); }
  [[nodiscard]] bool is_there() const { return there_; }
  [[nodiscard]] int moves() const { return moves_; }
  [[nodiscard]] double toll() const { return toll_; }

 private:
  struct End {
    double at, worked, busy;
  };
  [[nodiscard]] int count_if_unfinished() const {
    return static_cast<int>(
        std::count_if(ends_.begin(), ends_.end(), [&](const End& e) { return e.at > now_; }));
  }
  [[nodiscard]] double next_finish() const {
    double first = INFINITY;
    for (const auto& e : ends_)
      if (e.at > now_) first = std::min(first, e.at);
    return first;
  }
  void hear(Sample& sample) const {
    sample.busy = others_busy_;
    for (const auto& e : ends_)
      if (e.at <= now_) ++sample.finished, sample.worked += e.worked, sample.busy += e.busy;
  }
  double toll_;
  int room_;
  bool there_ = false;
  double now_ = 0, free_ = 0, others_busy_ = 0, pending_toll_ = 0;
  int moves_ = 0;
  std::vector<End> ends_;
  std::vector<Sample> samples_;
};

using Weather = std::function<Costs(int publication)>;

World play(int publications, const Weather& weather, double toll = 0.1) {
  World world(toll);
  PlacementPolicy relocation;
  for (int p = 0; p < publications; ++p) {
    if (p > 0 && !relocation.note(world.last()).empty()) {
      world.move();
      relocation.moved(toll);
    }
    CHECK(relocation.is_there() == world.is_there());
    world.publish(weather(p));
  }
  return world;
}

double fixed(int publications, const Weather& weather, bool there) {
  World world(0);
  if (there) world.move();
  for (int p = 0; p < publications; ++p) world.publish(weather(p));
  return world.end();
}

double best_fixed(int publications, const Weather& weather) {
  return std::min(fixed(publications, weather, false), fixed(publications, weather, true));
}

}  // namespace

TEST_CASE("what is cheap stays in the simulation, and nothing is tried") {
  const auto world = play(100, [](int) { return Costs{.here = 0.03, .there = 0.03}; });
  CHECK(world.moves() == 0);
}

TEST_CASE("what sidecars do beside the steps goes there and stays") {
  const Weather weather = [](int) { return Costs{.here = 0.5, .there = 0.6}; };
  const auto world = play(100, weather);
  CHECK(world.is_there());
  CHECK(world.moves() == 1);
  CHECK(world.end() < 1.05 * best_fixed(100, weather));
}

TEST_CASE("what sidecars are too slow for comes back") {
  const Weather weather = [](int) { return Costs{.here = 0.5, .there = 4}; };
  const auto world = play(200, weather);
  CHECK_FALSE(world.is_there());
  CHECK(world.moves() == 2);
  CHECK(world.end() < 1.1 * best_fixed(200, weather));
}

TEST_CASE("an analysis that grows ten times dearer moves to where it is better") {
  for (const double there : {0.04, 0.05, 0.08, 0.1, 0.3})
    for (const double here : {0.01, 0.02, 0.04, 0.08}) {
      const Weather weather = [&](int p) {
        const double factor = p < 100 ? 1 : 10;
        return Costs{.here = factor * here, .there = factor * there};
      };
      const auto world = play(200, weather);
      INFO(here, " here and ", there, " there, ", world.moves(), " moves");
      CHECK(world.end() < 1.1 * best_fixed(200, weather));
      CHECK(world.moves() <= 3);
      const double alone = 1 + 10 * here, beside = std::max(1.01, 10 * there);
      if (std::abs(alone - beside) > 0.1 * alone) CHECK(world.is_there() == (beside < alone));
    }
}

TEST_CASE("and back when it is cheap again") {
  const Weather weather = [](int p) {
    const double factor = p / 100 % 2 == 0 ? 1 : 10;
    return Costs{.here = factor * 0.1, .there = factor * 0.3};
  };
  // Cheap it is better beside the steps; dear, sidecars take longer than both together.
  const auto world = play(400, weather);
  CHECK(world.moves() >= 3);
  CHECK(world.moves() <= 6);
  CHECK(world.end() < best_fixed(400, weather));
}

TEST_CASE("other analyses in the sidecars count") {
  const Weather weather = [](int) { return Costs{.here = 0.3, .there = 0.3, .others = 1.2}; };
  const auto world = play(100, weather);
  CHECK_FALSE(world.is_there());
  CHECK(world.end() < 1.1 * best_fixed(100, weather));
}

TEST_CASE("what is dear now and then counts, if it comes again and again") {
  const Weather weather = [](int p) {
    const bool writes = p % 10 == 0;
    return Costs{.here = writes ? 3 : 0.01, .there = writes ? 3 : 0.01};
  };
  const auto world = play(800, weather);
  CHECK(world.is_there());
  CHECK(world.moves() == 1);
  CHECK(world.end() < 1.1 * best_fixed(800, weather));
  const auto once = play(800, [](int p) {
    return Costs{.here = p == 100 ? 30 : 0.01, .there = p == 100 ? 30 : 0.01};
  });
  CHECK(once.moves() == 0);
}

namespace {

/// Every number is up to a fifth more than it should be, and now and then four times as much.
std::vector<Costs> noisy(uint32_t seed, int publications, const Costs& costs) {
  std::mt19937 random(seed);
  const auto disturbed = [&](double x) {
    const double more = static_cast<double>(random() % 1000) / 1000;
    return x * (1 + 0.2 * more + (random() % 20 == 0 ? 3 : 0));
  };
  std::vector<Costs> out;
  for (int p = 0; p < publications; ++p)
    out.push_back({.steps = disturbed(costs.steps),
                   .here = disturbed(costs.here),
                   .there = disturbed(costs.there)});
  return out;
}

}  // namespace

TEST_CASE("noise moves nothing again and again") {
  for (uint32_t seed = 1; seed <= 20; ++seed)
    for (const double there : {0.7, 1.4, 2.8}) {
      const auto all = noisy(seed, 300, {.here = 0.5, .there = there});
      const Weather weather = [&](int p) { return all[static_cast<size_t>(p)]; };
      const auto world = play(300, weather);
      INFO("seed ", seed, ", ", there, " there, ", world.moves(), " moves");
      CHECK(world.moves() <= 12);
      CHECK(world.end() < 1.1 * best_fixed(300, weather));
    }
}

TEST_CASE("moves that cost much are few, and never cost much more than they save") {
  const Weather weather = [](int p) {
    const double factor = p / 10 % 2 == 0 ? 1 : 10;
    return Costs{.here = factor * 0.1, .there = factor * 0.2};
  };
  const double toll = 50;
  const auto world = play(200, weather, toll);
  CHECK(world.moves() <= 3);
  CHECK(world.end() < best_fixed(200, weather) + 4 * toll);
}
