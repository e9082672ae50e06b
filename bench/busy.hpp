// SPDX-License-Identifier: BSD-3-Clause
// Work of a known size that leaves the memory bus alone: a chain of multiply-adds, where each
// needs the one before. It stands for a simulation's compute loop, and for an analysis.
#pragma once

#include <cstdint>

namespace bench {

inline double busy(const double* values, int64_t count, int64_t operations) {
  double x = 0;
  for (int64_t i = 0, at = 0; i < operations; ++i, at = at + 1 == count ? 0 : at + 1)
    x = 0.5 * x + values[at];
  return x;
}

}  // namespace bench
