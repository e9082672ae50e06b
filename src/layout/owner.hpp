// SPDX-License-Identifier: BSD-3-Clause
// Which rank owns a key. The same for data on the move and for state on disk.
#pragma once

#include <cstdint>

#include "base/scatter.hpp"

namespace pillion::layout {

/// Owner of a key among `ranks` ranks. Keys are scattered, so that keys with a stride are balanced
/// too. Of the scattered key the lower half alone decides, for subsamples are chosen by its highest
/// bits; as a fraction of all it needs no division.
inline int owner_of(int64_t key, int ranks) {
  const uint64_t lower = base::scatter(key) & 0xffffffffu;
  return static_cast<int>((lower * static_cast<uint64_t>(ranks)) >> 32);
}

}  // namespace pillion::layout
