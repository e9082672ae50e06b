// SPDX-License-Identifier: BSD-3-Clause
// Streaming sums against sums over all pairs, in long double, at every number of samples.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "autocorrelation/series.hpp"

using namespace pillion::stages;
using namespace pillion::stages::autocorrelation;

namespace {

/// One series as it came, in pieces that samples are missing between.
struct Played {
  std::vector<std::vector<double>> pieces{{}};

  [[nodiscard]] std::vector<double> all() const {
    std::vector<double> out;
    for (const auto& piece : pieces) out.insert(out.end(), piece.begin(), piece.end());
    return out;
  }
  [[nodiscard]] long double mean() const {
    long double sum = 0;
    for (const double x : all()) sum += x;
    return sum / static_cast<long double>(all().size());
  }
  [[nodiscard]] long double covariance(size_t lag) const {
    const long double m = mean();
    const auto n = static_cast<long double>(all().size());
    long double sum = 0, pairs = 0;
    for (const auto& piece : pieces)
      for (size_t j = lag; j < piece.size(); ++j) {
        sum += (piece[j] - m) * (piece[j - lag] - m);
        pairs += 1;
      }
    return sum / pairs * (n - static_cast<long double>(lag)) / n;
  }
};

/// Correlated series with a large mean, one of them constant.
class Source {
 public:
  Source(size_t count, double offset) : state_(count), offset_(offset) {}
  const std::vector<double>& next() {
    values_.clear();
    for (size_t s = 0; s < state_.size(); ++s) {
      state_[s] = 0.8 * state_[s] + normal_(random_);
      values_.push_back(s == 1 ? offset_ : offset_ + 3 * state_[s]);
    }
    return values_;
  }

 private:
  std::mt19937 random_{4};
  std::normal_distribution<double> normal_;
  std::vector<double> state_, values_;
  double offset_;
};

void give(LaggedSeries& series, std::vector<Played>& played, const std::vector<double>& values) {
  series.take(0, values.size(), values.data(), 1);
  series.advance();
  for (size_t s = 0; s < values.size(); ++s) played[s].pieces.back().push_back(values[s]);
}

void check(LaggedSeries& series, const std::vector<Played>& played) {
  series.flush();
  std::vector<Row> rows(series.estimate_rows());
  for (size_t s = 0; s < played.size(); ++s) {
    series.estimate(s / lanes, rows);
    const size_t l = s % lanes;
    const auto scale = static_cast<double>(played[s].covariance(0));
    CHECK(rows[0].x[l] == doctest::Approx(static_cast<double>(played[s].mean())).epsilon(1e-15));
    if (scale == 0) CHECK(rows[2].x[l] == 0);
    for (size_t k = 0; k <= series.lags(); ++k) {
      const long double expected = played[s].covariance(k);
      if (std::isnan(expected)) continue;  // no pair is so far apart
      CHECK(std::abs(rows[2 + k].x[l] - static_cast<double>(expected)) <= 2e-14 * scale);
    }
  }
}

}  // namespace

TEST_CASE("autocovariances at any number of samples are those of all pairs, with a large mean") {
  for (const size_t lags : {1u, 3u, 16u, 25u}) {
    constexpr size_t count = 13;
    LaggedSeries series(lags);
    series.resize(count);
    Source source(count, 1e6);
    std::vector<Played> played(count);
    for (int n = 1; n <= 150; ++n) {
      give(series, played, source.next());
      if (n % 7 == 0 || n < 5 || n > 145) check(series, played);
    }
    CHECK(series.samples() == 150);
  }
}

TEST_CASE("pairs across missing samples do not count") {
  constexpr size_t count = 9, lags = 6;
  LaggedSeries series(lags);
  series.resize(count);
  Source source(count, -40);
  std::vector<Played> played(count);
  for (const int length : {3, 1, 20, 7, 50, 2, 6, 30}) {
    for (int i = 0; i < length; ++i) give(series, played, source.next());
    check(series, played);
    series.cut();
    check(series, played);
    for (auto& p : played) p.pieces.emplace_back();
  }
}

TEST_CASE("a series that is packed and unpacked goes on as if nothing had been") {
  constexpr size_t count = 11, lags = 5;
  LaggedSeries series(lags);
  series.resize(count);
  Source source(count, 1e3);
  std::vector<Played> played(count);
  for (const int more : {2, 30, 17, 64}) {
    for (int i = 0; i < more; ++i) give(series, played, source.next());
    LaggedSeries other(lags);  // in another order
    other.resize(count);
    other.restore(series.counters());
    std::vector<double> record(series.record_size());
    std::vector<Row> before(series.estimate_rows()), after(series.estimate_rows());
    for (size_t s = 0; s < count; ++s) {
      series.pack(s, record.data());
      other.unpack(count - 1 - s, record.data());
    }
    series.flush();
    other.flush();
    for (size_t s = 0; s < count; ++s) {
      const size_t there = count - 1 - s;
      series.estimate(s / lanes, before);
      other.estimate(there / lanes, after);
      for (size_t r = 2; r < before.size(); ++r)
        CHECK(std::memcmp(&before[r].x[s % lanes], &after[r].x[there % lanes], sizeof(double)) ==
              0);
    }
    auto reversed = played;
    std::reverse(reversed.begin(), reversed.end());
    check(other, reversed);
  }
}

TEST_CASE("values lie anywhere and have any type") {
  LaggedSeries series(2);
  series.resize(3);
  const std::vector<float> values = {1, 9, 2, 9, 3, 9, 4, 9, 6, 9, 8, 9};
  for (size_t n = 0; n < 2; ++n) {
    series.take(0, 2, values.data() + 6 * n, 2);
    series.take(2, 1, values.data() + 6 * n + 4, 2);
    series.advance();
  }
  series.flush();
  std::vector<Row> rows(series.estimate_rows());
  series.estimate(0, rows);
  const double means[] = {2.5, 4, 5.5};
  const double variances[] = {2.25, 4, 6.25};
  for (size_t s = 0; s < 3; ++s) {
    CHECK(rows[0].x[s] == means[s]);
    CHECK(rows[2].x[s] == variances[s]);
  }
}

TEST_CASE("batches are joined before there are twice as many as needed") {
  LaggedSeries series(1);
  series.resize(1);
  std::mt19937 random(8);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  std::vector<Row> rows(series.estimate_rows());
  for (int n = 1; n <= 1000; ++n) {
    values.push_back(normal(random));
    series.take(0, 1, &values.back(), 1);
    series.advance();
    if (n % 37 != 0 && n != 19 && n != 20) continue;
    series.flush();
    series.estimate(0, rows);
    if (n < 20) {
      CHECK(std::isnan(rows[1].x[0]));
      continue;
    }
    const auto& batches = series.batches();
    int64_t size = 1;
    while (n / size >= 40) size *= 2;
    CHECK(batches.size == size);
    CHECK(batches.full == n / size);
    std::vector<double> means;
    for (int64_t b = 0; b < n / size; ++b) {
      double sum = 0;
      for (int64_t i = 0; i < size; ++i) sum += values[static_cast<size_t>(b * size + i)];
      means.push_back(sum / static_cast<double>(size));
    }
    double mean = 0, squares = 0;
    const auto count = static_cast<double>(means.size());
    for (const double m : means) mean += m / count;
    for (const double m : means) squares += (m - mean) * (m - mean);
    CHECK(rows[1].x[0] == doctest::Approx(squares / count / (count - 1)).epsilon(1e-12));
  }
}
