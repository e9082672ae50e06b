// SPDX-License-Identifier: BSD-3-Clause
// Spots of machines that tests make up.
#pragma once

#include <string>
#include <vector>

#include "placement/shape.hpp"

inline std::vector<pillion::placement::Spot> spots_of(const std::string& node, int nodes = 1) {
  const auto shape = pillion::placement::node_of_text(node);
  std::vector<pillion::placement::Spot> spots;
  for (int n = 0; n < nodes; ++n)
    for (const auto& core : shape.cores) {
      spots.push_back(core.spot);
      spots.back().node = n;
    }
  return spots;
}

/// Ranks of which nothing but the node is known.
inline std::vector<pillion::placement::Spot> spots_on(const std::vector<int>& nodes) {
  std::vector<pillion::placement::Spot> spots(nodes.size());
  for (size_t r = 0; r < nodes.size(); ++r) spots[r].node = nodes[r];
  return spots;
}
