// SPDX-License-Identifier: BSD-3-Clause
// Seats of machines that tests make up.
#pragma once

#include <string>
#include <vector>

#include "placement/shape.hpp"

inline std::vector<pillion::placement::Seat> seats_of(const std::string& node, int nodes = 1) {
  const auto shape = pillion::placement::node_of_text(node);
  std::vector<pillion::placement::Seat> seats;
  for (int n = 0; n < nodes; ++n)
    for (const auto& core : shape.cores) {
      seats.push_back(core.seat);
      seats.back().node = n;
    }
  return seats;
}

/// Ranks of which nothing but the node is known.
inline std::vector<pillion::placement::Seat> seats_on(const std::vector<int>& nodes) {
  std::vector<pillion::placement::Seat> seats(nodes.size());
  for (size_t r = 0; r < nodes.size(); ++r) seats[r].node = nodes[r];
  return seats;
}
