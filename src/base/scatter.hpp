// SPDX-License-Identifier: BSD-3-Clause
// Keys made to look random: which rank owns a particle and whether it belongs to a subsample are
// read off the result, so that neither depends on a pattern in the keys, such as every third atom.
#pragma once

#include <cstdint>

namespace pillion::base {

/// A bijection whose every bit depends on every bit of the key (finaliser of SplitMix64, Steele,
/// Lea and Flood 2014).
constexpr uint64_t scatter(int64_t key) {
  auto z = static_cast<uint64_t>(key) + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace pillion::base
