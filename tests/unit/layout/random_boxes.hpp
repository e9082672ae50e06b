// SPDX-License-Identifier: BSD-3-Clause
// Meshes cut at random into boxes of random ranks, some of which have none, and boxes that lie in
// memory in any order.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "model/block.hpp"

namespace random_boxes {

using pillion::model::Box;
using Cell = std::array<int64_t, 3>;
using Random = std::mt19937;

inline int64_t below(Random& random, int64_t n) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
}

inline void cut(const Box& box, Random& random, int64_t most, std::vector<Box>& out) {
  const int axis = static_cast<int>(below(random, 3));
  if (box.extent(axis) < 2 || below(random, most) == 0) {
    out.push_back(box);
    return;
  }
  const auto i = static_cast<size_t>(axis);
  const int64_t at = box.lo[i] + 1 + below(random, box.extent(axis) - 1);
  Box low = box, high = box;
  low.hi[i] = high.lo[i] = at;
  cut(low, random, most, out);
  cut(high, random, most, out);
}

/// The boxes of each rank; together they cover the domain, each cell once.
inline std::vector<std::vector<Box>> divide(const Box& domain, int ranks, int64_t most,
                                            Random& random) {
  std::vector<Box> all;
  cut(domain, random, most, all);
  std::vector<std::vector<Box>> boxes(static_cast<size_t>(ranks));
  // Some ranks get nothing.
  const int64_t busy = 1 + below(random, ranks);
  for (const auto& box : all) boxes[static_cast<size_t>(below(random, busy))].push_back(box);
  return boxes;
}

inline Box domain(Random& random, int64_t longest) {
  Box box;
  for (size_t d = 0; d < 3; ++d) {
    box.lo[d] = below(random, 7) - 3;
    box.hi[d] = box.lo[d] + 1 + below(random, longest);
  }
  return box;
}

/// Strides of a box whose axes and components lie in memory in any order, with gaps; `size` becomes
/// the number of elements.
inline std::array<int64_t, 4> some_strides(const Box& box, int32_t components, Random& random,
                                           int64_t& size) {
  std::array<size_t, 4> order{3, 0, 1, 2};
  if (below(random, 3) != 0) std::shuffle(order.begin(), order.end(), random);
  std::array<int64_t, 4> strides{};
  size = 1;
  for (const size_t d : order) {
    strides[d] = size;
    size *= (d == 3 ? components : box.extent(static_cast<int>(d))) + below(random, 3) / 2;
  }
  return strides;
}

template <class Function>
void each_cell(const Box& box, Function&& function) {
  for (int64_t k = box.lo[2]; k < box.hi[2]; ++k)
    for (int64_t j = box.lo[1]; j < box.hi[1]; ++j)
      for (int64_t i = box.lo[0]; i < box.hi[0]; ++i) function(Cell{i, j, k});
}

/// The cell of a periodic domain that another is an image of.
inline Cell wrapped(Cell cell, const Box& domain) {
  for (int d = 0; d < 3; ++d) {
    const auto i = static_cast<size_t>(d);
    const int64_t n = domain.extent(d);
    cell[i] = domain.lo[i] + ((cell[i] - domain.lo[i]) % n + n) % n;
  }
  return cell;
}

}  // namespace random_boxes
