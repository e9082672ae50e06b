// SPDX-License-Identifier: BSD-3-Clause
// The bin of every value, against a search through the edges, at the edges above all.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "histogram/bins.hpp"

using namespace pillion::stages;

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
  Tally tally(bins);
  constexpr double inf = std::numeric_limits<double>::infinity();
  tally.add(std::vector<double>{0, 0.25, 0.5, 1, -1, 1.5, 2, std::nan(""), inf, -inf});
  CHECK(tally.in_bins() == std::vector<int64_t>{2, 2});
  CHECK(tally.below() == 1);
  CHECK(tally.above() == 2);
  CHECK(tally.not_finite() == 3);
}

TEST_CASE("the density integrates to one over the bins") {
  const Bins bins(1e-2, 10, 9, Scale::log);
  const std::vector<int64_t> counts = {1, 0, 5, 7, 11, 2, 0, 0, 3};
  const auto density = density_of(counts, bins.edges());
  double integral = 0;
  for (size_t i = 0; i < counts.size(); ++i)
    integral += density[i] * (bins.edges()[i + 1] - bins.edges()[i]);
  CHECK(integral == doctest::Approx(1));
  const auto empty = density_of({0, 0}, {0, 1, 2});
  CHECK(empty == std::vector<double>{0, 0});
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
