// SPDX-License-Identifier: BSD-3-Clause
// Comparing spots.
#include "topology/location.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <tuple>

namespace pillion::topology {

namespace {

bool same(int32_t a, int32_t b) { return a != unknown && a == b; }

}  // namespace

int64_t distance(const Location& from, const Location& to) {
  if (from.node != to.node) return levels_between_nodes;
  if (from.on_mesh() && to.on_mesh())
    return std::abs(from.column - to.column) + std::abs(from.row - to.row);
  if (same(from.core, to.core)) return 0;
  if (same(from.cache, to.cache)) return 1;
  if (same(from.numa, to.numa)) return 2;
  return same(from.package, to.package) ? 3 : 4;
}

std::vector<int> in_order(const std::vector<Location>& locations) {
  std::vector<int> order(locations.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int index) {
    const Location& s = locations[static_cast<size_t>(index)];
    return std::tuple(s.node, s.package, s.numa, s.cache, s.core, index);
  };
  std::sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
  return order;
}

Intake intake_of(const Location& location) {
  return {.node = location.node, .part = location.on_mesh() ? location.column : location.numa};
}

}  // namespace pillion::topology
