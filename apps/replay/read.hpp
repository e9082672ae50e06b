// SPDX-License-Identifier: BSD-3-Clause
// Reading a part of a stored array, by this rank alone.
#pragma once

#include "replay/arrangement.hpp"
#include "replay/distribute.hpp"

namespace replay {

/// Reads a part as values of a field's type, one after the other in the order of the file. Throws
/// pillion::Error. Returns the bytes that it took from the file.
int64_t read(const Stored& stored, const Arrangement& arrangement, const Part& part,
             pillion_type type, std::byte* to);

}  // namespace replay
