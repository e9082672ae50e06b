// SPDX-License-Identifier: BSD-3-Clause
// Sums in closed form against sums term by term, fits of exact models, errors of means against what
// they are for series whose autocovariances are known, and what happens where nothing can be
// fitted.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "uncertainty/mean_error.hpp"

using namespace pillion::stages;
using namespace pillion::stages::uncertainty;

namespace {

double summed(const Decay& decay, int64_t n) {
  long double sum = 0;
  for (int64_t k = 1; k < n; ++k)
    sum += (1 - static_cast<long double>(k) / static_cast<long double>(n)) *
           static_cast<long double>(decay.at(static_cast<double>(k)));
  return static_cast<double>(1 + 2 * sum);
}

/// What the biased estimate of an autocovariance c0 * rho is on average.
std::vector<double> expected(const Decay& decay, double c0, int64_t n, size_t lags) {
  const double variance = c0 * summed(decay, n) / static_cast<double>(n);
  std::vector<double> out;
  for (size_t k = 0; k <= lags; ++k)
    out.push_back((1 - static_cast<double>(k) / static_cast<double>(n)) *
                  (c0 * decay.at(static_cast<double>(k)) - variance));
  return out;
}

}  // namespace

TEST_CASE("the sum over all lags is the same in closed form") {
  for (const int64_t n : {2, 3, 17, 1000, 100000})
    for (const double rate : {0.0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3, 0.1, 1.0, 40.0}) {
      const Decay one{1, rate, rate}, two{0.3, 2 * rate + 0.01, rate};
      for (const auto& decay : {one, two})
        CHECK(inefficiency(decay, static_cast<double>(n)) ==
              doctest::Approx(summed(decay, n)).epsilon(1e-11));
    }
}

TEST_CASE("many independent samples of a decay count as (1 + q) / (1 - q) times fewer") {
  for (const double q : {0.1, 0.5, 0.9})
    CHECK(inefficiency({1, -std::log(q), 1}, 1e9) ==
          doctest::Approx((1 + q) / (1 - q)).epsilon(1e-7));
}

TEST_CASE("quantiles are those of published tables") {
  CHECK(normal_reach(0.95) == doctest::Approx(1.959963984540054).epsilon(1e-12));
  CHECK(normal_reach(0.6826894921370859) == doctest::Approx(1).epsilon(1e-12));
  const double z95 = normal_reach(0.95), z99 = normal_reach(0.99);
  CHECK(student_reach(z95, 4) == doctest::Approx(2.776).epsilon(2e-3));
  CHECK(student_reach(z95, 10) == doctest::Approx(2.228).epsilon(3e-4));
  CHECK(student_reach(z95, 30) == doctest::Approx(2.042).epsilon(3e-4));
  CHECK(student_reach(z99, 20) == doctest::Approx(2.845).epsilon(3e-4));
  CHECK(student_reach(z99, 1e9) == doctest::Approx(z99).epsilon(1e-8));
}

TEST_CASE("the Jacobian of a fit is the derivative of its residuals") {
  const std::vector<double> rho = {0.7, 0.5, 0.1, -0.2, 0.05};
  const Decay at{0.3, 0.8, 0.05};
  const auto normal = detail::normal_of(rho.data(), rho.size(), at);
  CHECK(normal.squares == doctest::Approx(detail::squares_of(rho.data(), rho.size(), at)));
  const double h = 1e-6;
  for (size_t p = 0; p < 3; ++p) {
    const auto moved = [&](double by) {
      Decay d = at;
      if (p == 0) d.weight += by;
      if (p == 1) d.fast *= std::exp(by);
      if (p == 2) d.slow *= std::exp(by);
      return detail::squares_of(rho.data(), rho.size(), d);
    };
    CHECK(normal.gradient[p] == doctest::Approx((moved(-h) - moved(h)) / (4 * h)).epsilon(1e-6));
  }
}

TEST_CASE("a fit finds the decays that values were made of, wherever they are") {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> uniform;
  constexpr size_t lags = 30;
  const RateBounds bounds(lags, 3);
  const Rates rates(lags, bounds);
  for (int round = 0; round < 300; ++round) {
    const double slow = 0.04 * std::pow(10.0, uniform(random));
    const Decay made{0.1 + 0.8 * uniform(random), slow * (3 + 10 * uniform(random)), slow};
    std::vector<double> rho;
    for (size_t k = 1; k <= lags; ++k) rho.push_back(made.at(static_cast<double>(k)));
    const auto found = fit_decay(rho.data(), lags, bounds, rates.best(rho.data()).two, false);
    CHECK(std::sqrt(found.squares / lags) < 2e-4);
    CHECK(inefficiency(found.decay, 1e5) == doctest::Approx(inefficiency(made, 1e5)).epsilon(0.01));
  }
}

TEST_CASE("from autocovariances as they are on average comes the variance of the mean") {
  constexpr int64_t n = 4000;
  constexpr size_t lags = 40;
  ErrorOfMean error(n, lags, 0.95);
  for (const double c0 : {1.0, 1e-20, 1e12})
    for (const Decay& decay : {Decay{1, 0.05, 0.05}, Decay{1, 0.7, 0.7}, Decay{0.6, 1, 0.04}}) {
      const auto covariance = expected(decay, c0, n, lags);
      const auto found = error.of({0, covariance, not_known, 0});
      CHECK(found.verdict == Verdict::fitted);
      const double variance = c0 * summed(decay, n) / n;
      CHECK(found.sigma * found.sigma == doctest::Approx(variance).epsilon(2e-3));
      CHECK(found.reach > 1.95 * found.sigma);
      CHECK(found.reach < 2.6 * found.sigma);
    }
}

TEST_CASE("white noise has the variance c0 / n") {
  ErrorOfMean error(1000, 20, 0.95);
  std::vector<double> covariance(21, 0.0);
  covariance[0] = 5;
  const auto found = error.of({0, covariance, not_known, 0});
  CHECK(found.verdict == Verdict::fitted);
  CHECK(found.sigma * found.sigma == doctest::Approx(5.0 / 1000).epsilon(0.01));
}

TEST_CASE("of few samples nothing is said, or what batch means say") {
  // Such as a slow series gives over a short while, where it cannot be told from noise.
  const std::vector<double> covariance = {1, -0.1, 0.05, -0.1, 0.02, 0, 0};
  CHECK(ErrorOfMean(1, 6, 0.95).of({3, covariance, not_known, 0}).verdict == Verdict::unknown);
  CHECK(ErrorOfMean(12, 6, 0.95).of({3, covariance, not_known, 0}).verdict == Verdict::unknown);
  const auto found = ErrorOfMean(30, 6, 0.95).of({3, covariance, 0.25, 16});
  CHECK(found.verdict == Verdict::unresolved);
  CHECK(found.sigma == 0.5);
  // 60 samples, of which every 20 are worth one.
  const auto few = ErrorOfMean(60, 15, 0.95).of({0, expected({1, 0.1, 0.1}, 1, 60, 15), 0.25, 16});
  CHECK(few.verdict == Verdict::unresolved);
}

TEST_CASE("where a fit says nothing, batch means do; and never is the error 0 for want of one") {
  ErrorOfMean error(4000, 30, 0.95);
  SUBCASE("so slow that the lags do not show it") {
    const auto covariance = expected({1, 0.001, 0.001}, 1, 4000, 30);
    const auto found = error.of({0, covariance, 0.25, 31});
    CHECK(found.verdict == Verdict::unresolved);
    CHECK(found.sigma == 0.5);
    CHECK(found.reach == doctest::Approx(0.5 * 2.042).epsilon(1e-3));
    // What the lags do show is the least that it can be.
    CHECK(error.of({0, covariance, 1e-9, 31}).sigma > 0.1);
    CHECK(std::isnan(error.of({0, covariance, not_known, 0}).sigma));
  }
  SUBCASE("an oscillation") {
    std::vector<double> covariance;
    for (int k = 0; k <= 30; ++k) covariance.push_back(std::cos(0.4 * k) * std::exp(-0.02 * k));
    const auto found = error.of({0, covariance, 1e-4, 31});
    CHECK(found.verdict == Verdict::misfit);
    CHECK(found.sigma == 0.01);
    CHECK(error.of({0, covariance, not_known, 0}).verdict == Verdict::unknown);
  }
  SUBCASE("pairs that are missing") {
    std::vector<double> covariance(31, not_known);
    covariance[0] = 1;
    const auto found = error.of({0, covariance, 4e-4, 31});
    CHECK(found.verdict == Verdict::unresolved);
    CHECK(found.sigma == 0.02);
  }
  SUBCASE("values that are not finite") {
    const std::vector<double> covariance(31, not_known);
    const auto found = error.of({not_known, covariance, not_known, 31});
    CHECK(found.verdict == Verdict::unknown);
    CHECK(std::isnan(found.sigma));
  }
}

TEST_CASE("a constant has no error, and says why; too few samples have none that is known") {
  const std::vector<double> nothing(6, 0.0);
  ErrorOfMean error(1000, 5, 0.95);
  const auto found = error.of({3, nothing, 0, 31});
  CHECK(found.verdict == Verdict::constant);
  CHECK(found.sigma == 0);
  std::vector<double> rounding(6, 0.0);
  rounding[0] = 1e-32;
  CHECK(error.of({3, rounding, 0, 31}).verdict == Verdict::constant);
  CHECK(error.of({0, rounding, 1e-36, 31}).verdict == Verdict::fitted);
  ErrorOfMean early(3, 5, 0.95);
  const std::vector<double> few = {1, 0.1, -0.1, not_known, not_known, not_known};
  CHECK(early.of({0, few, not_known, 3}).verdict == Verdict::unknown);
}
