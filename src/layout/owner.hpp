// SPDX-License-Identifier: BSD-3-Clause
// Which rank owns a key. The same for data on the move and for state on disk.
#pragma once

#include <cstdint>

namespace pillion::layout {

/// Owner of a key among `ranks` ranks. Keys are scattered (finaliser of SplitMix64, Steele, Lea and
/// Flood 2014), so that keys with a stride, such as every third atom, are balanced too.
inline int owner_of(int64_t key, int ranks) {
  auto z = static_cast<uint64_t>(key) + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return static_cast<int>(z % static_cast<uint64_t>(ranks));
}

}  // namespace pillion::layout
