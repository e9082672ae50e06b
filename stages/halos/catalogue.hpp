// SPDX-License-Identifier: BSD-3-Clause
// Halos from the shares that ranks have of them, in an order that does not depend on who had what;
// where they are and what they weigh; and how many there are of which mass.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "query.hpp"

namespace pillion::stages {

/// Adds up shares of the same halo. Halos come out with the highest maximum first; those of fewer
/// than `least` cells are left out. `width` is the number of summands.
inline Shares combined(const std::vector<Shares>& of_ranks, size_t width, int64_t least) {
  struct Key {
    Vertex top;
    uint32_t rank, number;
  };
  std::vector<Key> keys;
  for (uint32_t r = 0; r < of_ranks.size(); ++r)
    for (uint32_t h = 0; h < of_ranks[r].halos.size(); ++h)
      keys.push_back({of_ranks[r].halos[h].top, r, h});
  // Sums are taken in the order of ranks.
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return b.top < a.top || (a.top.id == b.top.id && a.rank < b.rank);
  });
  Shares out;
  for (size_t i = 0; i < keys.size();) {
    Share halo = {keys[i].top, 0, {}};
    std::vector<double> sums(width);
    for (; i < keys.size() && keys[i].top.id == halo.top.id; ++i) {
      const Shares& from = of_ranks[keys[i].rank];
      const Share& share = from.halos[keys[i].number];
      halo.wraps |= share.wraps;
      halo.sums.cells += share.sums.cells;
      halo.sums.sum += share.sums.sum;
      for (size_t d = 0; d < 3; ++d) halo.sums.places[d] += share.sums.places[d];
      for (size_t s = 0; s < width; ++s) sums[s] += from.sums[keys[i].number * width + s];
    }
    if (halo.sums.cells < least) continue;
    out.halos.push_back(halo);
    out.sums.insert(out.sums.end(), sums.begin(), sums.end());
  }
  return out;
}

/// The mean place of a halo's cells along an axis, in cells from the centre of the mesh's first,
/// brought back into the mesh if the axis is periodic; NaN if the halo wraps round along it.
inline double centroid(const Share& halo, const Grid& grid, size_t axis) {
  if ((halo.wraps >> axis & 1) != 0) return std::numeric_limits<double>::quiet_NaN();
  const int64_t cells = halo.sums.cells, whole = grid.cells[axis];
  // The first cell begins half a cell before its centre, and so does the mesh.
  int64_t twice = 2 * halo.sums.places[axis] + cells;
  if (grid.periodic[axis]) {
    const int64_t range = 2 * cells * whole;
    twice = (twice % range + range) % range;
  }
  return static_cast<double>(twice) / static_cast<double>(2 * cells) - 0.5;
}

/// How many masses fall in bins of equal ratio; of a bin [lower, upper), the last one closed.
struct MassFunction {
  std::vector<double> edges;
  std::vector<int64_t> counts;
  int64_t below = 0, above = 0;

  MassFunction(double lowest, double highest, int64_t bins) : counts(static_cast<size_t>(bins)) {
    const double ratio = highest / lowest;
    for (int64_t b = 0; b <= bins; ++b)
      edges.push_back(lowest * std::pow(ratio, static_cast<double>(b) / static_cast<double>(bins)));
    edges.back() = highest;
  }
  void add(double mass) {
    if (!(mass >= edges.front())) ++below;
    else if (mass > edges.back()) ++above;
    else {
      const auto next = std::upper_bound(edges.begin() + 1, edges.end() - 1, mass);
      ++counts[static_cast<size_t>(next - edges.begin()) - 1];
    }
  }
  /// Halos per volume and decade of mass.
  [[nodiscard]] std::vector<double> density(double volume) const {
    std::vector<double> out;
    for (size_t b = 0; b < counts.size(); ++b)
      out.push_back(static_cast<double>(counts[b]) /
                    (volume * std::log10(edges[b + 1] / edges[b])));
    return out;
  }
};

/// A range that holds all masses above 0, with a width even if they are equal or none.
inline std::pair<double, double> range_of(const std::vector<double>& masses) {
  double lowest = std::numeric_limits<double>::infinity(), highest = 0;
  for (const double mass : masses)
    if (mass > 0 && std::isfinite(mass)) {
      lowest = std::min(lowest, mass);
      highest = std::max(highest, mass);
    }
  if (highest == 0) return {1, 10};
  if (highest <= lowest * (1 + 1e-9)) return {lowest / 2, lowest * 2};
  return {lowest, highest};
}

}  // namespace pillion::stages
