// SPDX-License-Identifier: BSD-3-Clause
// Histogram bins and the bin that a value falls in. Bins are half open, [lower, upper), but the
// last contains its upper edge. Which bin it is is decided by comparing with the edges themselves;
// arithmetic only guesses where to look, so counts do not depend on rounding.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
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

 private:
  Scale scale_;
  std::vector<double> edges_;
  double per_unit_ = 0;
};

/// Counts of the bins, then of the values below and above them and of those not finite.
class Tally {
 public:
  explicit Tally(const Bins& bins) : bins_(&bins), counts_(bins.count() + 3) {}

  void add(std::span<const double> values) {
    const int64_t n = bins_->count();
    const double lo = bins_->edges().front(), hi = bins_->edges().back();
    for (const double v : values) {
      int64_t at = n + 2;
      if (v >= lo && v <= hi) at = bins_->find(v);
      else if (std::isfinite(v)) at = v < lo ? n : n + 1;
      ++counts_[at];
    }
  }

  [[nodiscard]] std::span<int64_t> all() { return counts_; }
  [[nodiscard]] std::vector<int64_t> in_bins() const {
    return {counts_.begin(), counts_.end() - 3};
  }
  [[nodiscard]] int64_t below() const { return counts_[bins_->count()]; }
  [[nodiscard]] int64_t above() const { return counts_[bins_->count() + 1]; }
  [[nodiscard]] int64_t not_finite() const { return counts_[bins_->count() + 2]; }

 private:
  const Bins* bins_;
  std::vector<int64_t> counts_;
};

/// N_i / (N_in_range · width_i), which integrates to 1 over the bins; zeros if they are empty.
inline std::vector<double> density_of(const std::vector<int64_t>& counts,
                                      const std::vector<double>& edges) {
  int64_t total = 0;
  for (const auto c : counts) total += c;
  std::vector<double> out(counts.size());
  for (size_t i = 0; i < counts.size() && total > 0; ++i)
    out[i] =
        static_cast<double>(counts[i]) / (static_cast<double>(total) * (edges[i + 1] - edges[i]));
  return out;
}

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
