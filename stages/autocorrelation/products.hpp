// SPDX-License-Identifier: BSD-3-Clause
// Products of values at pairs of times, added up for each lag: the rows they come from, and batches
// of publications that are correlated together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pillion::stages::autocorrelation {

// Values of as many series as fill a line of the cache, side by side. Whatever is done to one is
// done to all, so that compilers use vectors, and sums are the same with vectors of any length.

constexpr size_t lanes = 8;

struct alignas(64) Row {
  double x[lanes] = {};

  Row& operator+=(const Row& other) {
    for (size_t l = 0; l < lanes; ++l) x[l] += other.x[l];
    return *this;
  }
};

// How many samples there are, and how many pairs of samples a lag apart: samples that are missing
// cut the series in pieces, and pairs across a cut do not count.

class Pairs {
 public:
  explicit Pairs(size_t lags) : closed_(lags + 1) {}

  [[nodiscard]] int64_t samples() const { return samples_; }
  /// Samples since the last cut.
  [[nodiscard]] int64_t piece() const { return piece_; }
  [[nodiscard]] int64_t at(size_t lag) const {
    return closed_[lag] + std::max<int64_t>(0, piece_ - static_cast<int64_t>(lag));
  }

  void add(int64_t samples) {
    samples_ += samples;
    piece_ += samples;
  }
  void cut() {
    for (size_t k = 0; k < closed_.size(); ++k) closed_[k] = at(k);
    piece_ = 0;
  }

  [[nodiscard]] std::vector<int64_t> integers() const {
    std::vector<int64_t> out{samples_, piece_};
    out.insert(out.end(), closed_.begin(), closed_.end());
    return out;
  }
  void restore(const std::vector<int64_t>& integers) {
    samples_ = integers.at(0);
    piece_ = integers.at(1);
    closed_.assign(integers.begin() + 2, integers.end());
  }

 private:
  int64_t samples_ = 0, piece_ = 0;
  std::vector<int64_t> closed_;  ///< pairs by lag in the pieces before
};

// The inner loop of all: products of new samples with those before them, added to sums by lag. A
// sum is loaded once for all new samples. The loop is compiled for several instruction sets, and
// the best that the processor has is taken; multiplication and addition are never fused, so all
// give the same bits.

namespace detail {

/// `many` lags at once, whose sums stay in registers.
template <size_t many>
[[gnu::always_inline]] inline void add_products_of(Row* sums, const Row* first, size_t count,
                                                   size_t lag) {
  Row sum[many];
  for (size_t m = 0; m < many; ++m) sum[m] = sums[lag + m];
  for (size_t i = 0; i < count; ++i) {
    const Row& now = first[i];
    for (size_t m = 0; m < many; ++m) {
      const Row& then = *(first + i - lag - m);
      for (size_t l = 0; l < lanes; ++l) sum[m].x[l] += now.x[l] * then.x[l];
    }
  }
  for (size_t m = 0; m < many; ++m) sums[lag + m] = sum[m];
}

template <size_t many>
[[gnu::always_inline]] inline void add_all_products(Row* sums, const Row* first, size_t count,
                                                    size_t lags) {
  size_t lag = 0;
  for (; lag + many <= lags + 1; lag += many) add_products_of<many>(sums, first, count, lag);
  for (; lag <= lags; ++lag) add_products_of<1>(sums, first, count, lag);
}

inline void add_products_plain(Row* sums, const Row* first, size_t count, size_t lags) {
  add_all_products<2>(sums, first, count, lags);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] inline void add_products_avx2(Row* sums, const Row* first, size_t count,
                                                      size_t lags) {
  add_all_products<4>(sums, first, count, lags);
}
[[gnu::target("avx512f,prefer-vector-width=512")]] inline void add_products_avx512(Row* sums,
                                                                                   const Row* first,
                                                                                   size_t count,
                                                                                   size_t lags) {
  add_all_products<8>(sums, first, count, lags);
}
#endif

}  // namespace detail

/// Adds first[i] * first[i - k], over i from 0 to count - 1, to sums[k] for k from 0 to `lags`.
inline void add_products(Row* sums, const Row* first, size_t count, size_t lags) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0)
    return detail::add_products_avx512(sums, first, count, lags);
  if (__builtin_cpu_supports("avx2") != 0)
    return detail::add_products_avx2(sums, first, count, lags);
#endif
  detail::add_products_plain(sums, first, count, lags);
}

// Means of batches of consecutive samples, whose scatter tells the error of the mean without a
// model. There are never fewer than `least` full ones once there were as many, nor twice as many:
// then neighbours are joined and batches are twice as long from there on.

/// How far batches are; their sums are with the series.
struct Batches {
  static constexpr int64_t least = 20;
  static constexpr size_t most = 2 * least;

  int64_t size = 1;  ///< samples of a full one
  int64_t full = 0;
  int64_t open = 0;  ///< samples in the one that is being filled

  /// Takes the next sample. Its sums are those of the batch that is being filled, and of full ones.
  /// All are null if there are no series.
  void add(Row* filling, Row* sums, const Row* sample) {
    if (filling != nullptr) *filling += *sample;
    if (++open < size) return;
    if (filling != nullptr) {
      sums[full] = *filling;
      *filling = {};
    }
    open = 0;
    if (++full == most) join(sums);
  }

  /// Variance of the mean of all samples, from the full batches; none with fewer than `least`.
  [[nodiscard]] bool is_enough() const { return full >= least; }
  void error(const Row* sums, Row& variance) const {
    Row mean{};
    for (int64_t b = 0; b < full; ++b) mean += sums[b];
    for (double& m : mean.x) m /= static_cast<double>(full);
    variance = {};
    for (int64_t b = 0; b < full; ++b)
      for (size_t l = 0; l < lanes; ++l) {
        const double above = sums[b].x[l] - mean.x[l];
        variance.x[l] += above * above;
      }
    const auto n = static_cast<double>(full), s = static_cast<double>(size);
    for (double& v : variance.x) v /= n * (n - 1) * s * s;
  }

 private:
  void join(Row* sums) {
    for (int64_t b = 0; sums != nullptr && b < least; ++b) {
      sums[b] = sums[2 * b];
      sums[b] += sums[2 * b + 1];
    }
    full = least;
    size *= 2;
  }
};

}  // namespace pillion::stages::autocorrelation
