// SPDX-License-Identifier: BSD-3-Clause
// Histogram bins and the bin that a value falls in. Bins are half open, [lower, upper), but the
// last contains its upper edge. Which bin it is is decided by comparing with the edges themselves;
// arithmetic only guesses where to look, so counts do not depend on rounding.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace pillion::stages {

enum class Scale { linear, log };

class Bins {
 public:
  /// `count` bins of equal width from lo to hi, or of equal ratio; then lo must be positive.
  Bins(double lo, double hi, int64_t count, Scale scale) : scale_(scale), edges_(count + 1) {
    const auto n = static_cast<double>(count);
    const double step = scale == Scale::linear ? (hi - lo) / n : std::log(hi / lo) / n;
    for (int64_t i = 0; i <= count; ++i) {
      const auto x = static_cast<double>(i) * step;
      edges_[i] = scale == Scale::linear ? x + lo : lo * std::exp(x);
    }
    edges_.front() = lo;
    edges_.back() = hi;
    per_unit_ = 1 / step;
  }

  [[nodiscard]] int64_t count() const { return static_cast<int64_t>(edges_.size()) - 1; }
  [[nodiscard]] const std::vector<double>& edges() const { return edges_; }
  [[nodiscard]] Scale scale() const { return scale_; }
  [[nodiscard]] bool distinct() const {
    return std::adjacent_find(edges_.begin(), edges_.end(), std::greater_equal<>()) == edges_.end();
  }

  /// Bin of a value with front ≤ value ≤ back.
  [[nodiscard]] int64_t find(double value) const {
    const double from =
        scale_ == Scale::linear ? value - edges_.front() : std::log(value / edges_.front());
    const double guess = from * per_unit_;
    int64_t bin =
        guess >= 0 && guess < static_cast<double>(count()) ? static_cast<int64_t>(guess) : 0;
    while (value < edges_[bin]) --bin;
    while (bin < count() - 1 && value >= edges_[bin + 1]) ++bin;
    return bin;
  }
  /// One more than the bin, 0 for a value below all, count() + 1 for one above all, and -1 for one
  /// that is not finite.
  [[nodiscard]] int64_t slot(double value) const {
    if (value >= edges_.front() && value <= edges_.back()) return find(value) + 1;
    if (!std::isfinite(value)) return -1;
    return value < edges_.front() ? 0 : count() + 1;
  }

 private:
  Scale scale_;
  std::vector<double> edges_;
  double per_unit_ = 0;
};

/// The range that suits values between least and greatest. One of next to no width is widened, to
/// what numpy.histogram takes if the values are not large; without values (least > greatest) any
/// will do.
inline std::pair<double, double> automatic_range(double least, double greatest, Scale scale) {
  if (least > greatest) return scale == Scale::log ? std::pair{1.0, 10.0} : std::pair{0.0, 1.0};
  const double size = std::max(std::abs(least), std::abs(greatest));
  if (greatest - least > 1e-12 * size) return {least, greatest};
  if (scale == Scale::log) return {least / 2, greatest * 2};
  const double half = std::max(0.5, 1e-9 * size);
  return {least - half, greatest + half};
}

}  // namespace pillion::stages
