// SPDX-License-Identifier: BSD-3-Clause
// What a relative bound is relative to: the range of a field, or its root mean square over the
// volume, over all peers. Elements with values that are not finite do not count.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "geometry.hpp"

namespace pillion::stages::truncation {

enum class Relative { none, range, rms };

/// Of one field, from what one peer has of it.
class Scale {
 public:
  Scale(const LobattoBasis& basis, size_t components)
      : least_(components, std::numeric_limits<double>::infinity()), most_(components, -least_[0]) {
    const size_t n = basis.size();
    const auto& w = basis.weights;
    for (size_t p = 0; p < n * n * n; ++p)
      shares_of_cube_.push_back(w[p % n] * w[p / n % n] * w[p / (n * n)] / 8);
  }

  void add(size_t component, std::span<const double> values, const Geometry& geometry) {
    const auto shares =
        geometry.shares.empty() ? std::span<const double>(shares_of_cube_) : geometry.shares;
    double sum = 0, least = values[0], most = values[0];
    for (size_t p = 0; p < values.size(); ++p) {
      sum += shares[p] * values[p] * values[p];
      least = std::min(least, values[p]);
      most = std::max(most, values[p]);
    }
    if (!geometry.is_valid || !std::isfinite(sum)) return;
    squares_ += geometry.volume * sum;
    if (component == 0) volume_ += geometry.volume;
    least_[component] = std::min(least_[component], least);
    most_[component] = std::max(most_[component], most);
  }

  /// Numbers of which peers need the largest.
  [[nodiscard]] std::vector<double> extremes() const {
    std::vector<double> out = most_;
    for (const double least : least_) out.push_back(-least);
    return out;
  }
  /// Numbers of which peers need the sum.
  [[nodiscard]] std::vector<double> sums() const { return {squares_, volume_}; }

  /// The largest range of any component, of what `extremes` has become.
  static double range(std::span<const double> extremes) {
    const size_t components = extremes.size() / 2;
    double out = 0;
    for (size_t c = 0; c < components; ++c)
      out = std::max(out, extremes[c] + extremes[components + c]);
    return out;
  }
  /// Of the magnitude of the vector that the components are, of what `sums` has become.
  static double rms(std::span<const double> sums) {
    return sums[1] > 0 ? std::sqrt(sums[0] / sums[1]) : 0;
  }

 private:
  std::vector<double> least_, most_;
  double squares_ = 0, volume_ = 0;
  std::vector<double> shares_of_cube_;
};

}  // namespace pillion::stages::truncation
