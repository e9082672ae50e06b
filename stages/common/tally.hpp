// SPDX-License-Identifier: BSD-3-Clause
// Counting values: bins of a range, and sums and counts for each of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace pillion::stages {

// Histogram bins and the bin that a value falls in. Bins are half open, [lower, upper), but the
// last contains its upper edge. Which bin it is is decided by comparing with the edges themselves;
// arithmetic only guesses where to look, so counts do not depend on rounding.

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
    // The upper edge is guessed to be behind the last bin, and belongs to it.
    const auto last = static_cast<double>(count() - 1);
    int64_t bin = guess >= 0 ? static_cast<int64_t>(std::min(guess, last)) : 0;
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

// Counting values in bins along one axis or two. What lies outside is counted too: along each axis
// the bins stand between two slots for what is below and above all of them. Beside the counts there
// may be sums of weights, of volumes, and of the values themselves, times their volumes if there
// are some.

class Tally {
 public:
  /// Keeps no sums unless asked to: with `weighted` a sum of weights, with `means` one of values
  /// per axis, with `with_volumes` one of volumes.
  explicit Tally(std::vector<Bins> axes, bool weighted = false, bool means = false,
                 bool with_volumes = false)
      : axes_(std::move(axes)) {
    int64_t slots = 1;
    for (const auto& bins : axes_) slots *= bins.count() + 2;
    counts_.resize(static_cast<size_t>(slots) + 2);
    if (weighted) weights_.resize(static_cast<size_t>(slots));
    if (with_volumes) volumes_.resize(static_cast<size_t>(slots));
    if (means) sums_.resize(static_cast<size_t>(slots) * axes_.size());
  }

  /// One span per axis, of the same cells or particles, one of their weights, and one of volumes;
  /// if that is empty, each has `volume`.
  void add(std::span<const std::span<double>> values, std::span<const double> weights = {},
           std::span<const double> volumes = {}, double volume = 1) {
    if (axes_.size() == 1 && weights_.empty() && sums_.empty() && volumes_.empty())
      return add(values[0]);
    for (size_t i = 0; i < values[0].size(); ++i) {
      const int64_t slot = slot_of(values, i);
      if (slot < 0) {
        ++counts_[slots()];
        continue;
      }
      ++counts_[slot];
      if (!weights_.empty()) add_weight(slot, weights[i]);
      const double size = volumes.empty() ? volume : volumes[i];
      if (!volumes_.empty()) volumes_[slot] += size;
      if (!sums_.empty())
        for (size_t a = 0; a < axes_.size(); ++a)
          sums_[slot * axes_.size() + a] += values[a][i] * size;
    }
  }
  /// Takes the counts of values back, and their weights; volumes stay.
  void take_back(std::span<const std::span<double>> values, std::span<const double> weights) {
    for (size_t i = 0; i < values[0].size(); ++i) {
      const int64_t slot = slot_of(values, i);
      --counts_[slot < 0 ? slots() : static_cast<size_t>(slot)];
      if (slot < 0 || weights_.empty()) continue;
      if (std::isfinite(weights[i])) weights_[slot] -= weights[i];
      else --counts_[slots() + 1];
    }
  }
  /// Values that have volumes, but are not counted: they lie between counted ones.
  void weigh(std::span<const std::span<double>> values, std::span<const double> volumes) {
    if (volumes_.empty()) return;
    for (size_t i = 0; i < values[0].size(); ++i) {
      const int64_t slot = slot_of(values, i);
      if (slot < 0) continue;
      volumes_[slot] += volumes[i];
      if (!sums_.empty())
        for (size_t a = 0; a < axes_.size(); ++a)
          sums_[slot * axes_.size() + a] += values[a][i] * volumes[i];
    }
  }
  /// For counts along one axis, and nothing beside them.
  void add(std::span<const double> values) {
    for (const double v : values) {
      const int64_t slot = axes_[0].slot(v);
      ++counts_[slot < 0 ? slots() : static_cast<size_t>(slot)];
    }
  }
  /// Adds up what all peers have counted.
  template <class Step>
  void combine(const Step& step) {
    step.sum(std::span(counts_));
    if (!weights_.empty()) step.sum(std::span(weights_));
    if (!volumes_.empty()) step.sum(std::span(volumes_));
    if (!sums_.empty()) step.sum(std::span(sums_));
  }

  [[nodiscard]] const std::vector<Bins>& axes() const { return axes_; }
  /// Slots of all axes together; those of the last axis are next to each other.
  [[nodiscard]] size_t slots() const { return counts_.size() - 2; }
  [[nodiscard]] std::span<const int64_t> counts() const { return {counts_.data(), slots()}; }
  [[nodiscard]] std::span<const double> weights() const { return weights_; }
  [[nodiscard]] std::span<const double> volumes() const { return volumes_; }
  /// Values that are not finite, along any axis.
  [[nodiscard]] int64_t not_finite() const { return counts_[slots()]; }
  /// Weights that are not finite, which are left out of the sums.
  [[nodiscard]] int64_t weights_not_finite() const { return counts_[slots() + 1]; }
  /// Values below, or above, all bins of an axis.
  [[nodiscard]] int64_t below(size_t axis = 0) const { return marginal(axis).front(); }
  [[nodiscard]] int64_t above(size_t axis = 0) const { return marginal(axis).back(); }

  /// The counts of one axis' slots.
  [[nodiscard]] std::vector<int64_t> marginal(size_t axis) const {
    std::vector<int64_t> out(static_cast<size_t>(axes_[axis].count()) + 2);
    for (size_t s = 0; s < slots(); ++s) out[along(s, axis)] += counts_[s];
    return out;
  }
  /// Counts of the bins alone, without what lies outside.
  [[nodiscard]] std::vector<int64_t> in_bins() const {
    std::vector<int64_t> out;
    for (size_t s = 0; s < slots(); ++s)
      if (inside(s)) out.push_back(counts_[s]);
    return out;
  }
  /// Mean of an axis' values in each slot; not a number where there are none.
  [[nodiscard]] std::vector<double> means(size_t axis) const {
    std::vector<double> out(slots());
    for (size_t s = 0; s < slots(); ++s) {
      const double size = volumes_.empty() ? static_cast<double>(counts_[s]) : volumes_[s];
      out[s] = size > 0 ? sums_[s * axes_.size() + axis] / size
                        : std::numeric_limits<double>::quiet_NaN();
    }
    return out;
  }

  /// Which slot of one axis a slot of all axes lies in.
  [[nodiscard]] size_t along(size_t slot, size_t axis) const {
    for (size_t a = axes_.size() - 1; a > axis; --a) slot /= width(a);
    return slot % width(axis);
  }
  /// Whether it is a bin along every axis.
  [[nodiscard]] bool inside(size_t slot) const {
    for (size_t a = 0; a < axes_.size(); ++a) {
      const size_t at = along(slot, a);
      if (at == 0 || at == width(a) - 1) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] size_t width(size_t axis) const {
    return static_cast<size_t>(axes_[axis].count()) + 2;
  }
  [[nodiscard]] int64_t slot_of(std::span<const std::span<double>> values, size_t i) const {
    int64_t slot = 0;
    for (size_t a = 0; a < axes_.size(); ++a) {
      const int64_t at = axes_[a].slot(values[a][i]);
      if (at < 0) return -1;
      slot = slot * static_cast<int64_t>(width(a)) + at;
    }
    return slot;
  }
  void add_weight(int64_t slot, double weight) {
    if (std::isfinite(weight)) weights_[slot] += weight;
    else ++counts_[slots() + 1];
  }

  std::vector<Bins> axes_;
  std::vector<int64_t> counts_;  ///< of the slots; values not finite; weights not finite
  std::vector<double> weights_, volumes_, sums_;
};

/// What each slot has of all that is in bins, over the measure of the slot, which integrates to 1
/// over the bins: N_i / (N_in_bins m_i). Zeros if the bins are empty; not a number outside of them.
template <class T, class Measure>
std::vector<double> density_of(const Tally& tally, std::span<const T> amounts, Measure&& measure) {
  T total = 0;
  for (size_t s = 0; s < tally.slots(); ++s)
    if (tally.inside(s)) total += amounts[s];
  std::vector<double> out(tally.slots(), std::numeric_limits<double>::quiet_NaN());
  for (size_t s = 0; s < tally.slots(); ++s)
    if (tally.inside(s))
      out[s] = total == 0 ? 0
                          : static_cast<double>(amounts[s]) /
                                (static_cast<double>(total) * measure(tally, s));
  return out;
}

/// Measures of a slot for density_of: product of the widths of its bins, in the values' units …
inline double units_of(const Tally& tally, size_t slot) {
  double size = 1;
  for (size_t a = 0; a < tally.axes().size(); ++a) {
    const auto* lower = &tally.axes()[a].edges()[tally.along(slot, a) - 1];
    size *= lower[1] - lower[0];
  }
  return size;
}
/// … or in decades.
inline double decades_of(const Tally& tally, size_t slot) {
  double size = 1;
  for (size_t a = 0; a < tally.axes().size(); ++a) {
    const auto* lower = &tally.axes()[a].edges()[tally.along(slot, a) - 1];
    size *= std::log10(lower[1] / lower[0]);
  }
  return size;
}

/// Those elements that belong to bins: a table of one axis has no rows for what lies outside.
template <class T>
std::vector<T> of_bins(const Tally& tally, const std::vector<T>& all) {
  std::vector<T> out;
  for (size_t s = 0; s < all.size(); ++s)
    if (tally.inside(s)) out.push_back(all[s]);
  return out;
}

}  // namespace pillion::stages
