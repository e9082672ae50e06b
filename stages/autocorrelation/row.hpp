// SPDX-License-Identifier: BSD-3-Clause
// Values of as many series as fill a line of the cache, side by side. Whatever is done to one is
// done to all, so that compilers use vectors, and sums are the same with vectors of any length.
#pragma once

#include <cstddef>

namespace pillion::stages {

constexpr size_t lanes = 8;

struct alignas(64) Row {
  double x[lanes] = {};

  Row& operator+=(const Row& other) {
    for (size_t l = 0; l < lanes; ++l) x[l] += other.x[l];
    return *this;
  }
};

}  // namespace pillion::stages
