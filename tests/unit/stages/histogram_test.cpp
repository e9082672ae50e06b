// SPDX-License-Identifier: BSD-3-Clause
// The bin of every value, against a search through the edges, at the edges above all.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <random>
#include <vector>

#include "common/tally.hpp"
#include "histogram/exact_mean.hpp"

using namespace pillion::stages;
using namespace pillion::stages::histogram;

namespace {

/// What the definition says, by looking at every bin.
int64_t searched(const std::vector<double>& edges, double value) {
  const auto last = static_cast<int64_t>(edges.size()) - 2;
  for (int64_t i = 0; i <= last; ++i)
    if (value >= edges[i] && (value < edges[i + 1] || (i == last && value <= edges[i + 1])))
      return i;
  return -1;
}

}  // namespace

TEST_CASE("edges and their neighbours fall in the bins that the edges say") {
  const Bins all[] = {Bins(0, 1, 10, Scale::linear), Bins(-0.3, 0.7, 49, Scale::linear),
                      Bins(1e9, 1e9 + 1, 1000, Scale::linear), Bins(1e-5, 1e5, 200, Scale::log),
                      Bins(0.1, 0.7, 1, Scale::log)};
  for (const auto& bins : all) {
    REQUIRE(bins.distinct());
    const double lo = bins.edges().front(), hi = bins.edges().back();
    for (const double edge : bins.edges())
      for (const double v : {std::nextafter(edge, -1e300), edge, std::nextafter(edge, 1e300)})
        if (v >= lo && v <= hi) REQUIRE(bins.find(v) == searched(bins.edges(), v));
  }
}

TEST_CASE("random values fall in the bins that the edges say") {
  std::mt19937_64 random(3);
  const Bins linear(-2, 5, 333, Scale::linear), log(1e-3, 50, 77, Scale::log);
  std::uniform_real_distribution<double> in_linear(-2, 5), in_log(1e-3, 50);
  for (int i = 0; i < 20'000; ++i) {
    const double a = in_linear(random), b = in_log(random);
    REQUIRE(linear.find(a) == searched(linear.edges(), a));
    REQUIRE(log.find(b) == searched(log.edges(), b));
  }
}

// Searched for bin by bin, these would take minutes.
TEST_CASE("values at the ends are found at once, however many bins there are") {
  for (const auto scale : {Scale::linear, Scale::log}) {
    const Bins bins(1, 2, 10'000'000, scale);
    const auto begin = std::clock();
    int64_t first = 0, last = 0;
    for (int n = 0; n < 10'000; ++n) {
      first += bins.find(1);
      last += bins.find(2) + bins.find(std::nextafter(2, 0));
    }
    CHECK(first == 0);
    CHECK(last == int64_t{2} * 10'000 * 9'999'999);
    CHECK(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < 5);
  }
}

TEST_CASE("edges are equally spaced, in ratio if logarithmic, and end where they should") {
  const Bins linear(-1, 2, 6, Scale::linear), log(1e-2, 1e4, 6, Scale::log);
  CHECK(linear.edges() == std::vector<double>{-1, -0.5, 0, 0.5, 1, 1.5, 2});
  for (int i = 0; i <= 6; ++i) CHECK(log.edges()[i] == doctest::Approx(std::pow(10, i - 2)));
  CHECK(log.edges().front() == 1e-2);
  CHECK(log.edges().back() == 1e4);
  CHECK_FALSE(Bins(1, std::nextafter(1, 2), 3, Scale::linear).distinct());
}

TEST_CASE("tails and values that are not finite are counted apart") {
  const Bins bins(0, 1, 2, Scale::linear);
  Tally tally({bins});
  constexpr double inf = std::numeric_limits<double>::infinity();
  tally.add(std::vector<double>{0, 0.25, 0.5, 1, -1, 1.5, 2, std::nan(""), inf, -inf});
  CHECK(tally.in_bins() == std::vector<int64_t>{2, 2});
  CHECK(tally.below() == 1);
  CHECK(tally.above() == 2);
  CHECK(tally.not_finite() == 3);
}

TEST_CASE("the density integrates to one over the bins, per unit and per decade") {
  Tally tally({Bins(1e-2, 10, 9, Scale::log)});
  tally.add(std::vector<double>{0.02, 0.5, 0.5, 0.5, 7, 10, 1e-3, 11, 12});
  const auto& edges = tally.axes()[0].edges();
  const auto density = of_bins(tally, density_of(tally, tally.counts(), units_of));
  const auto per_dex = of_bins(tally, density_of(tally, tally.counts(), decades_of));
  double integral = 0, in_decades = 0;
  for (size_t i = 0; i < density.size(); ++i) {
    integral += density[i] * (edges[i + 1] - edges[i]);
    in_decades += per_dex[i] * std::log10(edges[i + 1] / edges[i]);
  }
  CHECK(integral == doctest::Approx(1));
  CHECK(in_decades == doctest::Approx(1));
  const Tally empty({Bins(0, 2, 2, Scale::linear)});
  CHECK(of_bins(empty, density_of(empty, empty.counts(), units_of)) == std::vector<double>{0, 0});
}

TEST_CASE("in two dimensions every finite pair is in one slot, and rows add up to one axis") {
  const Bins across(-1, 1, 7, Scale::linear), along(0.1, 10, 5, Scale::log);
  std::mt19937_64 random(8);
  std::normal_distribution<double> normal;
  std::vector<double> a(5000), b(5000), weight(5000);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = normal(random);
    b[i] = std::exp(2 * normal(random));
    weight[i] = static_cast<double>(random() % 100);
  }
  a[3] = std::nan("");
  b[4] = std::numeric_limits<double>::infinity();
  weight[5] = std::nan("");
  Tally both({across, along}, true, true), one({across});
  const std::vector<std::span<double>> pairs = {a, b};
  both.add(pairs, weight);
  a.erase(a.begin() + 4);
  one.add(a);
  CHECK(both.marginal(0) == one.marginal(0));
  CHECK(both.not_finite() == 2);
  CHECK(both.weights_not_finite() == 1);
  int64_t inside = 0, all = 0;
  for (size_t s = 0; s < both.slots(); ++s) all += both.counts()[s];
  for (const auto count : both.in_bins()) inside += count;
  CHECK(all == 4998);
  CHECK(both.in_bins().size() == 35);
  CHECK(inside < all);
  CHECK(inside > 0);
}

TEST_CASE("the mean is right, and the same bits however values are divided and ordered") {
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal;
  for (const double size : {1.0, 1e-300, 1e300, 3e7}) {
    std::vector<double> values(3001);
    long double exact = 0;
    for (double& v : values) exact += v = size * (std::exp(6 * normal(random)) * 1e-9);
    const double greatest = *std::max_element(values.begin(), values.end());
    ExactMean one(greatest), left(greatest), right(greatest);
    for (const double v : values) one.add(v);
    std::shuffle(values.begin(), values.end(), random);
    for (size_t i = 0; i < values.size(); ++i) (i % 3 == 0 ? left : right).add(values[i]);
    for (size_t i = 0; i < left.integers().size(); ++i) left.integers()[i] += right.integers()[i];
    CHECK(left.mean() == one.mean());
    CHECK(std::abs(one.mean() / static_cast<double>(exact / 3001) - 1) < 5e-16);
  }
  ExactMean signs(2);
  for (const double v : {1.5, -2.0, 0.5, std::nan("")}) signs.add(v);
  CHECK(signs.mean() == 0);
  CHECK(ExactMean(0).mean() == 0);
}

TEST_CASE("an automatic range has a width and holds the values") {
  CHECK(automatic_range(-2, 3, Scale::linear) == std::pair{-2.0, 3.0});
  CHECK(automatic_range(4, 4, Scale::linear) == std::pair{3.5, 4.5});
  CHECK(automatic_range(1, -1, Scale::linear) == std::pair{0.0, 1.0});
  for (const double value : {1e20, -1e20, 1e-20, 7.0}) {
    const auto [lo, hi] = automatic_range(value, value, Scale::linear);
    CHECK((lo < value && value < hi));
    CHECK(Bins(lo, hi, 1000, Scale::linear).distinct());
  }
  const auto [lo, hi] = automatic_range(8, 8, Scale::log);
  CHECK((lo > 0 && lo < 8 && 8 < hi));
}
