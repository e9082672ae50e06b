// SPDX-License-Identifier: BSD-3-Clause
// Spots of machines that tests make up.
#pragma once

#include <string>
#include <vector>

#include "topology/shape.hpp"

inline std::vector<pillion::topology::Location> spots_of(const std::string& node, int nodes = 1) {
  const auto shape = pillion::topology::node_of_text(node);
  std::vector<pillion::topology::Location> locations;
  for (int n = 0; n < nodes; ++n)
    for (const auto& core : shape.cores) {
      locations.push_back(core.location);
      locations.back().node = n;
    }
  return locations;
}

/// Ranks of which nothing but the node is known.
inline std::vector<pillion::topology::Location> spots_on(const std::vector<int>& nodes) {
  std::vector<pillion::topology::Location> locations(nodes.size());
  for (size_t r = 0; r < nodes.size(); ++r) locations[r].node = nodes[r];
  return locations;
}
