// SPDX-License-Identifier: BSD-3-Clause
// Optical depth along one line of sight, periodic in velocity. The gas of a cell is spread evenly
// over the cell and broadened to a Gaussian, so that each pixel gets a difference of two error
// functions; those of neighbouring pixels share one, and each is evaluated once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "erf_table.hpp"

namespace pillion::stages {

class Absorption {
 public:
  explicit Absorption(int64_t cells)
      : cells_(cells), steps_(static_cast<size_t>(2 * 2 * ErfTable::end) * cells + 4) {}

  /// Adds to `tau` what one cell absorbs: `strength` is the optical depth times pixels of all of
  /// it. `width` (the Doppler parameter) and `velocity` are in cells. A velocity above 0 moves the
  /// gas to higher pixels.
  void add(int64_t cell, double strength, double width, double velocity, std::span<double> tau) {
    // Seen from so far the images of a line make a constant, to 17 digits.
    if (width >= 2 * static_cast<double>(cells_)) return add_evenly(strength, tau);
    const double shift = std::fmod(velocity, static_cast<double>(cells_));
    // Of a line thinner than this, no pixel but its own sees anything.
    const double b = std::max(width, 1e-9), reach = ErfTable::end * b;
    const auto first = static_cast<int64_t>(std::ceil(shift - reach - 0.5));
    const auto last = static_cast<int64_t>(std::floor(shift + reach + 0.5));
    const int64_t count = last - first + 1;
    const double per_width = 1 / b;
    // Beyond `reach` erf is 1, so what the pixels get adds up to the whole.
    steps_[0] = -1;
    for (int64_t p = 1; p < count; ++p)
      steps_[p] = erf_((static_cast<double>(first + p) - 0.5 - shift) * per_width);
    steps_[count] = 1;
    spread(cell + first, count, strength / 2, tau);
  }

 private:
  void add_evenly(double strength, std::span<double> tau) const {
    for (double& t : tau) t += strength / static_cast<double>(cells_);
  }
  /// Adds differences of steps_ from pixel `first` on, round and round.
  void spread(int64_t first, int64_t count, double half, std::span<double> tau) const {
    int64_t pixel = first % cells_;
    if (pixel < 0) pixel += cells_;
    const double* step = steps_.data();
    while (count > 0) {
      const int64_t run = std::min(count, cells_ - pixel);
      double* to = tau.data() + pixel;
      for (int64_t p = 0; p < run; ++p) to[p] += half * std::max(0.0, step[p + 1] - step[p]);
      step += run;
      count -= run;
      pixel = 0;
    }
  }

  int64_t cells_;
  std::vector<double> steps_;
  ErfTable erf_;
};

}  // namespace pillion::stages
