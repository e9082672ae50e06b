// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "topology/hand_over.hpp"

using namespace pillion::topology;

namespace {

using Cost = std::vector<std::vector<int64_t>>;

/// The least cost of sending each good on its own to some target, by trying every way; among those
/// that leave the fewest beyond the targets' least.
int64_t least_cost(const std::vector<int64_t>& goods, const std::vector<Target>& targets,
                   const Cost& cost) {
  std::vector<size_t> one;
  for (size_t i = 0; i < goods.size(); ++i) one.insert(one.end(), static_cast<size_t>(goods[i]), i);
  std::vector<int64_t> load(targets.size());
  std::pair<int64_t, int64_t> best{std::numeric_limits<int64_t>::max(), 0};
  const std::function<void(size_t, int64_t)> send = [&](size_t k, int64_t sum) {
    if (k == one.size()) {
      int64_t beyond = 0;
      for (size_t j = 0; j < targets.size(); ++j)
        beyond += std::max<int64_t>(0, load[j] - targets[j].least);
      best = std::min(best, {beyond, sum});
      return;
    }
    for (size_t j = 0; j < targets.size(); ++j)
      if (load[j] < targets[j].most) {
        ++load[j];
        send(k + 1, sum + cost[one[k]][j]);
        --load[j];
      }
  };
  send(0, 0);
  return best.second;
}

}  // namespace

TEST_CASE("plans bring all goods to targets and cost as little as the best of all") {
  std::mt19937 random(3);
  const auto below = [&](unsigned n) { return static_cast<int64_t>(random() % n); };
  for (int repeat = 0; repeat < 300; ++repeat) {
    std::vector<int64_t> goods(1 + random() % 3);
    for (auto& g : goods) g = below(3);
    const int64_t all = std::accumulate(goods.begin(), goods.end(), int64_t{0});
    std::vector<Target> targets(1 + random() % 3);
    int64_t room = 0;
    for (auto& target : targets) {
      target.least = below(3);
      target.most = target.least + below(3);
      room += target.most;
    }
    if (room < all) continue;
    Cost cost(goods.size(), std::vector<int64_t>(targets.size()));
    for (auto& row : cost)
      for (auto& c : row) c = below(6);
    const auto plan = cheapest_plan(goods, targets, cost);
    int64_t sum = 0;
    for (size_t i = 0; i < goods.size(); ++i) {
      CHECK(std::accumulate(plan[i].begin(), plan[i].end(), int64_t{0}) == goods[i]);
      for (size_t j = 0; j < targets.size(); ++j) sum += plan[i][j] * cost[i][j];
    }
    for (size_t j = 0; j < targets.size(); ++j) {
      int64_t load = 0;
      for (const auto& row : plan) load += row[j];
      CHECK(load <= targets[j].most);
    }
    CHECK(sum == least_cost(goods, targets, cost));
  }
}
