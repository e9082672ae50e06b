// SPDX-License-Identifier: BSD-3-Clause
// The values of one component of one element of a block, as doubles that lie one after the other.
#pragma once

#include <cstdint>
#include <pillion/stage.hpp>
#include <span>

namespace pillion::stages::truncation {

/// Refers to the block where it has them so, to `room` otherwise.
inline std::span<const double> element_values(const stage::Array& array, int64_t element,
                                              int64_t first, std::span<double> room) {
  const int64_t between = array.strides[3];
  const int64_t at = element * array.strides[0] + first * between;
  if (array.type == PILLION_FLOAT64 && between == 1)
    return {static_cast<const double*>(array.data) + at, room.size()};
  array.visit([&](const auto* data) {
    for (size_t p = 0; p < room.size(); ++p)
      room[p] = static_cast<double>(data[at + static_cast<int64_t>(p) * between]);
  });
  return room;
}

}  // namespace pillion::stages::truncation
