// SPDX-License-Identifier: BSD-3-Clause
// Random numbers that are a function of a seed and an index, and thus the same on any number of
// ranks: Philox 4x32 with ten rounds (Salmon et al., Parallel random numbers: as easy as 1, 2, 3,
// SC 2011).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace cosmology {

using Words = std::array<uint32_t, 4>;

constexpr Words philox(Words counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t even = uint64_t{0xD2511F53} * counter[0];
    const uint64_t odd = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(odd >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(odd),
               static_cast<uint32_t>(even >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(even)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// A known answer of the authors' own library, Random123.
static_assert(philox({0, 0, 0, 0}, {0, 0}) ==
              Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});

/// A normally distributed number of mean 0 and variance 1, by Box and Muller's method.
inline double normal(uint64_t seed, uint64_t index) {
  const Words words =
      philox({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), 0, 0},
             {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const auto fraction = [](uint32_t high, uint32_t low) {  // in (0, 1)
    return (static_cast<double>((uint64_t{high} << 20) | (low >> 12)) + 0.5) * 0x1p-52;
  };
  return std::sqrt(-2 * std::log(fraction(words[0], words[1]))) *
         std::cos(2 * std::numbers::pi * fraction(words[2], words[3]));
}

}  // namespace cosmology
