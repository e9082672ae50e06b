// SPDX-License-Identifier: BSD-3-Clause
// Which rank owns a key. The same for data on the move and for state on disk.
#pragma once

#include <cstdint>

#include "base/scatter.hpp"

namespace pillion::layout {

/// Owner of a key among `ranks` ranks. Keys are scattered, so that keys with a stride are balanced
/// too.
inline int owner_of(int64_t key, int ranks) {
  return static_cast<int>(base::scatter(key) % static_cast<uint64_t>(ranks));
}

}  // namespace pillion::layout
