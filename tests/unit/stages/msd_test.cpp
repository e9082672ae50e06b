// SPDX-License-Identifier: BSD-3-Clause
// Squared displacements and the diffusion coefficient of known motions.
#include "msd/msd.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace pillion::stages;
using namespace pillion::stages::msd;

TEST_CASE("squares of displacements, the centre's displacement taken off") {
  const Vectors now = {{{1, 2}, {0, 5}, {3, 3}}}, then = {{{0, 4}, {0, 1}, {3, 0}}};
  const auto plain = squared_displacements(now, then, {}, {});
  CHECK(plain.samples == 2);
  CHECK(plain.sum == std::array<double, 3>{5, 16, 9});
  const auto moved = squared_displacements(now, then, {2, 1, 0}, {1, 0, 0});
  CHECK(moved.sum == std::array<double, 3>{0 + 9, 1 + 9, 9});
}

TEST_CASE("a straight line gives its slope, whatever it starts from") {
  std::vector<double> lag, msd;
  for (int i = 0; i <= 20; ++i) {
    lag.push_back(0.5 * i);
    msd.push_back(3 + 1.2 * lag.back());
  }
  CHECK(diffusion_from_slope(lag, msd, 3) == doctest::Approx(0.2));
  CHECK(diffusion_from_slope(lag, msd, 2) == doctest::Approx(0.3));
  // Beyond 20 % and 80 % of the longest lag nothing counts, nor do lags without samples.
  msd[0] = msd[3] = 1e3;
  msd[17] = msd[20] = -1e3;
  msd[9] = std::nan("");
  CHECK(diffusion_from_slope(lag, msd, 3) == doctest::Approx(0.2));
  msd[4] += 1;
  CHECK(diffusion_from_slope(lag, msd, 3) != doctest::Approx(0.2));
}

TEST_CASE("one lag has no slope") {
  CHECK(std::isnan(diffusion_from_slope({0}, {0}, 3)));
  CHECK(std::isnan(diffusion_from_slope({0, 1}, {0, 1}, 3)));
}

TEST_CASE("the exponent tells free flight, diffusion and rest") {
  std::vector<double> lag;
  for (int i = 0; i <= 20; ++i) lag.push_back(0.5 * i);
  const auto grows = [&](double exponent) {
    std::vector<double> msd;
    for (const double t : lag) msd.push_back(3 * std::pow(t, exponent));
    return growth_exponent(lag, msd);
  };
  for (const double exponent : {0.0, 0.5, 1.0, 1.3, 2.0}) {
    CHECK(grows(exponent) == doctest::Approx(exponent));
    CHECK(is_diffusive(grows(exponent)) == (exponent == 1.0));
  }
  CHECK(std::isnan(growth_exponent(lag, std::vector<double>(lag.size(), 0.0))));
  CHECK(std::isnan(growth_exponent(std::vector<double>(5), {0, 1, 2, 3, 4})));
  CHECK_FALSE(is_diffusive(std::nan("")));
}
