// SPDX-License-Identifier: BSD-3-Clause
// Shapes of particles on a mesh: which cells a particle covers along one axis, and with which share
// (R. W. Hockney, J. W. Eastwood: Computer Simulation Using Particles, 1988, section 5-3).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace pillion::stages::deposit {

enum class Cloud { ngp, cic, tsc };

/// Up to three cells from `first` on, with shares that sum to 1.
struct Cover {
  int64_t first;
  std::array<double, 3> shares;
};

constexpr int width_of(Cloud cloud) { return static_cast<int>(cloud) + 1; }

/// The distance from a cell's centre, in cells, beyond which a particle leaves nothing in it.
constexpr double reach_of(Cloud cloud) { return 0.5 * width_of(cloud); }

/// At `x` in cells; the first cell is [0, 1) with its centre at 0.5.
template <Cloud cloud>
Cover cover(double x) {
  if constexpr (cloud == Cloud::ngp) {
    return {static_cast<int64_t>(std::floor(x)), {1, 0, 0}};
  } else if constexpr (cloud == Cloud::cic) {
    const double first = std::floor(x - 0.5);
    const double into = x - 0.5 - first;
    return {static_cast<int64_t>(first), {1 - into, into, 0}};
  } else {
    const double middle = std::floor(x);
    const double off = x - middle - 0.5;
    return {static_cast<int64_t>(middle) - 1,
            {0.5 * (0.5 - off) * (0.5 - off), 0.75 - off * off, 0.5 * (0.5 + off) * (0.5 + off)}};
  }
}

}  // namespace pillion::stages::deposit
