// SPDX-License-Identifier: BSD-3-Clause
// Moments against sums in extended precision, and their hard cases: a small spread about a large
// mean, values that are not finite, nothing at all.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "statistics/moments.hpp"

using namespace pillion::stages;
using namespace pillion::stages::statistics;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

struct Exact {
  long double mean = 0, variance = 0;
  explicit Exact(const std::vector<double>& values) {
    const auto n = static_cast<long double>(values.size());
    for (const double v : values) mean += v / n;
    for (const double v : values) variance += (v - mean) * (v - mean) / n;
  }
};

std::vector<double> random_values(size_t count, double mean, double spread) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(mean, spread);
  std::vector<double> out(count);
  for (auto& v : out) v = normal(random);
  return out;
}

}  // namespace

TEST_CASE("mean and spread agree with extended precision, a large mean included") {
  for (const double mean : {0.0, 3.0, 1e9}) {
    const auto values = random_values(50'000, mean, 1);
    const Exact exact(values);
    Moments m;
    m.add(values);
    CHECK(m.count == 50'000);
    CHECK(m.mean == doctest::Approx(static_cast<double>(exact.mean)).epsilon(1e-14));
    const auto deviation = static_cast<double>(std::sqrt(exact.variance));
    CHECK(summary_of(m).deviation == doctest::Approx(deviation).epsilon(1e-12));
  }
}

TEST_CASE("merging parts gives the whole, whatever the parts") {
  const auto values = random_values(10'000, -4, 2);
  Moments whole, merged;
  whole.add(values);
  size_t at = 0;
  for (const size_t size : {0u, 1u, 2u, 997u, 1024u, 0u, 3000u, 4976u}) {
    Moments part;
    part.add(std::span(values).subspan(at, size));
    merged.merge(part);
    at += size;
  }
  REQUIRE(at == values.size());
  CHECK(merged.count == whole.count);
  CHECK(merged.min == whole.min);
  CHECK(merged.max == whole.max);
  CHECK(merged.mean == doctest::Approx(whole.mean).epsilon(1e-14));
  CHECK(merged.above(whole.mean) == doctest::Approx(whole.rest).epsilon(1e-6));
  CHECK(merged.squares == doctest::Approx(whole.squares).epsilon(1e-13));
}

TEST_CASE("values that are not finite are counted and left out") {
  Moments m;
  m.add(std::vector<double>{1, no_number, 3, inf, -inf, 5});
  CHECK(m.count == 3);
  CHECK(m.not_finite == 3);
  CHECK(m.min == 1);
  CHECK(m.max == 5);
  CHECK(summary_of(m).mean == doctest::Approx(3));
  CHECK(summary_of(m).deviation == doctest::Approx(std::sqrt(8.0 / 3)));
  CHECK(summary_of(m).rms == doctest::Approx(std::sqrt(35.0 / 3)));
}

TEST_CASE("nothing has no extremes and no mean") {
  Moments m;
  m.add(std::vector<double>{no_number});
  const auto s = summary_of(m);
  CHECK(m.count == 0);
  CHECK(m.not_finite == 1);
  for (const double v : {s.min, s.max, s.mean, s.deviation, s.rms}) CHECK(std::isnan(v));
}

TEST_CASE("weighted moments agree with extended precision, however they are cut and merged") {
  for (const double centre : {0.0, 1e9}) {
    auto values = random_values(5'000, centre, 1);
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> uniform(0, 2);
    std::vector<double> weights(values.size());
    for (auto& w : weights) w = uniform(random);
    values[77] = no_number;
    weights[99] = 0;
    long double sum = 0, mean = 0, variance = 0;
    for (size_t i = 0; i < values.size(); ++i)
      if (i != 77) sum += weights[i];
    for (size_t i = 0; i < values.size(); ++i)
      if (i != 77) mean += weights[i] * static_cast<long double>(values[i]) / sum;
    for (size_t i = 0; i < values.size(); ++i)
      if (i != 77) variance += weights[i] * (values[i] - mean) * (values[i] - mean) / sum;
    Moments merged;
    for (size_t at = 0; at < values.size(); at += 500) {
      Moments part;
      part.add(std::span(values).subspan(at, 500), std::span(weights).subspan(at, 500));
      merged.merge(part);
    }
    CHECK(merged.count == 4'999);
    CHECK(merged.not_finite == 1);
    CHECK(merged.weight == doctest::Approx(static_cast<double>(sum)).epsilon(1e-14));
    CHECK(merged.mean == doctest::Approx(static_cast<double>(mean)).epsilon(1e-14));
    CHECK(summary_of(merged).deviation ==
          doctest::Approx(static_cast<double>(std::sqrt(variance))).epsilon(1e-12));
  }
}

TEST_CASE("values of one weight count as if each had it") {
  const auto values = random_values(3'000, 5, 2);
  const std::vector<double> weights(1'000, 0.25);
  Moments together, apart;
  together.add(values, 0.25);
  for (size_t at = 0; at < values.size(); at += 1'000)
    apart.add(std::span(values).subspan(at, 1'000), weights);
  CHECK(together.weight == 750);
  CHECK(together.mean == doctest::Approx(apart.mean).epsilon(1e-14));
  CHECK(together.squares == doctest::Approx(apart.squares).epsilon(1e-12));
}
