// SPDX-License-Identifier: BSD-3-Clause
// What the dimensions of a stored array are to the field that it holds: which axis of the mesh,
// particles, or components, from the one that varies slowest in the file to the fastest.
#pragma once

#include <pillion/session.hpp>
#include <vector>

#include "replay/stored.hpp"

namespace replay {

/// How grids in files are indexed: [z, y, x] or [x, y, z], components last.
enum class Indices { Zyx, Xyz };

struct Dimension {
  static constexpr int components = 3;
  int axis = 0;  ///< 0 to 2 of a uniform mesh, 0 for particles, or components
  int64_t extent = 0;
  bool operator==(const Dimension&) const = default;
};

using Arrangement = std::vector<Dimension>;

/// Throws pillion::Error, which says what to do, if the array cannot be that field: its shape is
/// another, or its numbers would lose something.
Arrangement arrange(const Stored& stored, const pillion::Field& field, Indices indices);

}  // namespace replay
