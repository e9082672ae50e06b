// SPDX-License-Identifier: BSD-3-Clause
// Copies between two arrangements in memory, where one is along rows and the other along columns.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pillion::base {

/// One loop of a copy: how many times, and the strides on both sides.
struct Loop {
  int64_t count, to, from;
};

/// Copies all elements of two loops, whose strides are in bytes: `here` is in one piece at the
/// target, `there` at the source. Returns false, having done nothing, if it does not know elements
/// of that size; it knows 4 and 8 bytes, and groups of three and pairs of them.
bool copy_tiles(std::byte* to, const std::byte* from, const Loop& here, const Loop& there,
                size_t bytes);

}  // namespace pillion::base
