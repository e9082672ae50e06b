// SPDX-License-Identifier: BSD-3-Clause
// Reading a part of an array whose values lie in a file as they are in memory.
#pragma once

#include "replay/distribute.hpp"
#include "replay/stored.hpp"

namespace replay {

/// Reads a part of the array of these extents that begins at the offset, as values of a field's
/// type, one after the other in the order of the file. Throws pillion::Error.
void read_array(const Stored& stored, const std::vector<int64_t>& extents, const Part& part,
                pillion_type type, std::byte* to);

}  // namespace replay
