// SPDX-License-Identifier: BSD-3-Clause
// Many series sampled at the same times: what is needed for their means, autocovariances at lags 0
// to M and batch means, in about 3 M numbers for each. All values are taken above the first sample
// of their series, so that a large mean costs no digits. Samples wait until there are `together` of
// them, and then pass over the sums at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "products.hpp"

namespace pillion::stages::autocorrelation {

class LaggedSeries {
 public:
  static constexpr size_t together = 16;

  explicit LaggedSeries(size_t lags) : lags_(lags), pairs_(lags), scratch_(lags + together) {}

  /// Makes room for `count` series without samples.
  void resize(size_t count) {
    count_ = count;
    first_.assign(count, 0);
    waiting_.assign(count * together, 0);
    tiles_.assign(tile_count() * rows(), Row{});
    seldom_.assign(tile_count() * seldom_rows(), Row{});
  }
  [[nodiscard]] size_t count() const { return count_; }
  [[nodiscard]] size_t lags() const { return lags_; }
  [[nodiscard]] int64_t samples() const { return pairs_.samples() + waiting_count(); }
  [[nodiscard]] const Batches& batches() const { return batches_; }

  /// The next sample of `count` series from number `from` on.
  template <class T>
  void take(size_t from, size_t count, const T* values, int64_t stride) {
    double* first = first_.data() + from;
    double* to = waiting_.data() + waiting_rows_ * count_ + from;
    if (samples() == 0)
      for (size_t i = 0; i < count; ++i)
        first[i] = static_cast<double>(values[static_cast<int64_t>(i) * stride]);
    for (size_t i = 0; i < count; ++i)
      to[i] = static_cast<double>(values[static_cast<int64_t>(i) * stride]) - first[i];
  }
  /// All series have been given their sample.
  void advance() {
    if (++waiting_rows_ == together) flush();
  }
  /// Samples are missing before the next one.
  void cut();
  /// Brings what waits to the sums.
  void flush();

  /// For the series of one tile, as rows: the mean, the variance of the mean by batches (NaN while
  /// there are too few), the autocovariances at lags 0 to M. Nothing may wait.
  [[nodiscard]] size_t tile_count() const { return (count_ + lanes - 1) / lanes; }
  [[nodiscard]] size_t estimate_rows() const { return lags_ + 3; }
  void estimate(size_t tile, std::span<Row> out) const;

  /// What one series is made of, for moving it elsewhere.
  [[nodiscard]] size_t record_size() const { return 1 + rows() + seldom_rows() + together; }
  void pack(size_t series, double* record) const;
  void unpack(size_t series, const double* record);
  /// What is common to all.
  [[nodiscard]] std::vector<int64_t> counters() const;
  void restore(const std::vector<int64_t>& counters);

 private:
  // Rows of a tile that every pass needs: the sum of samples, the open batch, sums of products by
  // lag, and the latest M samples in a ring.
  [[nodiscard]] size_t rows() const { return 3 + 2 * lags_; }
  [[nodiscard]] size_t ring() const { return products + 1 + lags_; }
  static constexpr size_t open_batch = 1, products = 2;
  [[nodiscard]] Row* tile(size_t t) { return tiles_.data() + t * rows(); }
  [[nodiscard]] const Row* tile(size_t t) const { return tiles_.data() + t * rows(); }
  // Others: full batches, and sums at the ends of pieces from lag 1 on.
  [[nodiscard]] size_t seldom_rows() const { return Batches::most + lags_; }
  [[nodiscard]] Row* batch_sums(size_t t) { return seldom_.data() + t * seldom_rows(); }
  [[nodiscard]] const Row* batch_sums(size_t t) const { return seldom_.data() + t * seldom_rows(); }
  [[nodiscard]] Row* ends(size_t t) { return batch_sums(t) + Batches::most; }
  [[nodiscard]] const Row* ends(size_t t) const { return batch_sums(t) + Batches::most; }
  [[nodiscard]] int64_t waiting_count() const { return static_cast<int64_t>(waiting_rows_); }

  void gather(size_t t);
  void add_beginnings(Row* ends) const;
  void keep_latest(Row* ring_rows) const;

  size_t lags_;
  size_t count_ = 0;
  std::vector<double> first_;    ///< sample of each series
  std::vector<double> waiting_;  ///< rows of all series
  size_t waiting_rows_ = 0;
  std::vector<Row> tiles_, seldom_;
  size_t oldest_ = 0;  ///< in rings
  Pairs pairs_;
  Batches batches_;
  std::vector<Row> scratch_;  ///< of one tile: the ring from its oldest on, then what waits
};

inline void LaggedSeries::gather(size_t t) {
  const Row* ring_rows = tile(t) + ring();
  std::copy(ring_rows + oldest_, ring_rows + lags_, scratch_.begin());
  std::copy_n(ring_rows, oldest_, scratch_.begin() + static_cast<ptrdiff_t>(lags_ - oldest_));
  const size_t from = t * lanes, width = std::min(lanes, count_ - from);
  for (size_t i = 0; i < waiting_rows_; ++i) {
    const double* values = waiting_.data() + i * count_ + from;
    Row& row = scratch_[lags_ + i];
    for (size_t l = 0; l < width; ++l) row.x[l] = values[l];
    for (size_t l = width; l < lanes; ++l) row.x[l] = 0;
  }
}

// Sample number p of a piece is not a later one's partner in a pair k > p apart.
inline void LaggedSeries::add_beginnings(Row* ends_rows) const {
  for (size_t i = 0; i < waiting_rows_; ++i) {
    const auto place = static_cast<size_t>(pairs_.piece()) + i;
    for (size_t k = place + 1; k <= lags_; ++k) ends_rows[k - 1] += scratch_[lags_ + i];
  }
}

inline void LaggedSeries::keep_latest(Row* ring_rows) const {
  const size_t skipped = waiting_rows_ > lags_ ? waiting_rows_ - lags_ : 0;
  for (size_t i = skipped; i < waiting_rows_; ++i)
    ring_rows[(oldest_ + i) % lags_] = scratch_[lags_ + i];
}

inline void LaggedSeries::flush() {
  if (waiting_rows_ == 0) return;
  Batches after = batches_;
  const bool is_beginning = pairs_.piece() < static_cast<int64_t>(lags_);
  for (size_t t = 0; t < tile_count(); ++t) {
    gather(t);
    Row* to = tile(t);
    const Row* fresh = scratch_.data() + lags_;
    add_products(to + products, fresh, waiting_rows_, lags_);
    after = batches_;
    for (size_t i = 0; i < waiting_rows_; ++i) after.add(&to[open_batch], batch_sums(t), &fresh[i]);
    Row sum = *to;
    for (size_t i = 0; i < waiting_rows_; ++i) sum += fresh[i];
    *to = sum;
    if (is_beginning) add_beginnings(ends(t));
    keep_latest(to + ring());
  }
  if (count_ == 0)
    for (size_t i = 0; i < waiting_rows_; ++i) after.add(nullptr, nullptr, nullptr);
  batches_ = after;
  oldest_ = (oldest_ + waiting_rows_) % lags_;
  pairs_.add(waiting_count());
  waiting_rows_ = 0;
}

// The latest k samples of a piece have no partner k later. Before a piece's first the ring is
// empty, which is as good as zero.
inline void LaggedSeries::cut() {
  flush();
  for (size_t t = 0; t < tile_count(); ++t) {
    gather(t);
    Row sum{};
    for (size_t k = 1; k <= lags_; ++k) {
      sum += scratch_[lags_ - k];
      ends(t)[k - 1] += sum;
    }
    std::fill_n(tile(t) + ring(), lags_, Row{});
  }
  pairs_.cut();
}

// (x_j - m)(x_(j-k) - m) summed over the N_k pairs that there are, and divided by N_k n / (n - k):
// by n if none are missing.
inline void LaggedSeries::estimate(size_t t, std::span<Row> out) const {
  const Row* sums = tile(t);
  const auto n = static_cast<double>(pairs_.samples());
  Row mean = sums[0];
  for (double& m : mean.x) m /= n;
  Row latest{};
  for (size_t k = 0; k <= lags_; ++k) {
    if (k > 0) latest += sums[ring() + (oldest_ + lags_ - k) % lags_];
    const auto pairs = static_cast<double>(pairs_.at(k));
    const double all = n - static_cast<double>(k);
    const double divisor = pairs == all ? n : pairs * n / all;
    for (size_t l = 0; l < lanes; ++l) {
      const double end = k > 0 ? ends(t)[k - 1].x[l] + latest.x[l] : 0;
      const double m = mean.x[l], sum = sums[0].x[l];
      out[2 + k].x[l] = (sums[products + k].x[l] - m * (2 * sum - end) + pairs * m * m) / divisor;
    }
  }
  if (batches_.is_enough()) batches_.error(batch_sums(t), out[1]);
  else std::fill_n(out[1].x, lanes, std::numeric_limits<double>::quiet_NaN());
  const size_t from = t * lanes;
  for (size_t l = 0; l < lanes; ++l)
    out[0].x[l] = mean.x[l] + (from + l < count_ ? first_[from + l] : 0);
}

inline void LaggedSeries::pack(size_t series, double* record) const {
  *record++ = first_[series];
  const size_t t = series / lanes, l = series % lanes;
  for (size_t r = 0; r < rows(); ++r) *record++ = tile(t)[r].x[l];
  for (size_t r = 0; r < seldom_rows(); ++r) *record++ = batch_sums(t)[r].x[l];
  for (size_t i = 0; i < together; ++i)
    *record++ = i < waiting_rows_ ? waiting_[i * count_ + series] : 0;
}

inline void LaggedSeries::unpack(size_t series, const double* record) {
  first_[series] = *record++;
  const size_t t = series / lanes, l = series % lanes;
  for (size_t r = 0; r < rows(); ++r) tile(t)[r].x[l] = *record++;
  for (size_t r = 0; r < seldom_rows(); ++r) batch_sums(t)[r].x[l] = *record++;
  for (size_t i = 0; i < together; ++i) waiting_[i * count_ + series] = *record++;
}

inline std::vector<int64_t> LaggedSeries::counters() const {
  auto out = pairs_.integers();
  out.insert(out.end(), {waiting_count(), static_cast<int64_t>(oldest_), batches_.size,
                         batches_.full, batches_.open});
  return out;
}

inline void LaggedSeries::restore(const std::vector<int64_t>& counters) {
  const auto own = counters.end() - 5;
  pairs_.restore({counters.begin(), own});
  waiting_rows_ = static_cast<size_t>(own[0]);
  oldest_ = static_cast<size_t>(own[1]);
  batches_.size = own[2];
  batches_.full = own[3];
  batches_.open = own[4];
}

}  // namespace pillion::stages::autocorrelation
