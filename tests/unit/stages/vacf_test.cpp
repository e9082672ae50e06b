// SPDX-License-Identifier: BSD-3-Clause
// Products of velocities and their integral.
#include "vacf/vacf.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace pillion::stages;
using namespace pillion::stages::vacf;

TEST_CASE("products of velocities, relative to the centres' velocities") {
  const Vectors now = {{{1, 2}, {0, 5}, {3, 3}}}, then = {{{2, 4}, {7, 1}, {3, 0}}};
  const auto plain = velocity_products(now, then, {}, {});
  CHECK(plain.samples == 2);
  CHECK(plain.sum == std::array<double, 3>{10, 5, 9});
  const auto relative = velocity_products(now, then, {1, 0, 3}, {0, 1, 0});
  CHECK(relative.sum == std::array<double, 3>{4, 0, 0});
}

TEST_CASE("the running integral over the dimensions, unequal steps included") {
  const auto d = diffusion_so_far({0, 1, 3}, {6, 3, 0}, 3);
  CHECK(d[0] == 0);
  CHECK(d[1] == doctest::Approx(1.5));
  CHECK(d[2] == doctest::Approx(2.5));
  CHECK(diffusion_so_far({0, 1, 3}, {6, 3, 0}, 2)[2] == doctest::Approx(3.75));
}

TEST_CASE("lags without samples are stepped over") {
  const auto d = diffusion_so_far({0, 1, 2}, {3, std::nan(""), 3}, 3);
  CHECK(d[1] == 0);
  CHECK(d[2] == doctest::Approx(2));
}

TEST_CASE("an integral means something if the curve keeps half of its value within a lag") {
  CHECK(resolved({4, 2, -1}));
  CHECK_FALSE(resolved({4, 1.9, 1}));
  CHECK_FALSE(resolved({4, -3}));
  CHECK_FALSE(resolved({4}));
  CHECK_FALSE(resolved({4, std::nan("")}));
}

TEST_CASE("an exponential decay integrates to its time constant") {
  std::vector<double> t, c;
  for (int i = 0; i < 4000; ++i) {
    t.push_back(0.01 * i);
    c.push_back(3 * std::exp(-t.back() / 2));
  }
  CHECK(diffusion_so_far(t, c, 3).back() == doctest::Approx(2).epsilon(1e-4));
}

TEST_CASE("an integral ends where little of the correlation is left") {
  CHECK(left_at_end({4, 2, 1, 0.5, 0.2}) == doctest::Approx(0.05));
  CHECK(has_decayed({4, 2, 1, 0.5, 0.2}));
  CHECK(has_decayed({4, 2, 1, 0.5, -0.4}));
  CHECK_FALSE(has_decayed({4, 2, 1, 0.5, 0.5}));
  CHECK_FALSE(has_decayed({4, 4, 4, 4, 4, 4}));
  CHECK_FALSE(has_decayed({0, 0, 0}));
  CHECK_FALSE(has_decayed({4, 0, std::nan("")}));
}
