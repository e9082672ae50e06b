// SPDX-License-Identifier: BSD-3-Clause
// Which means values may be divided by.
#include "common/relative.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace pillion::stages;

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

ValueSizes sizes_of(const std::vector<double>& values) {
  ValueSizes out;
  for (const double v : values) out.add(v);
  return out;
}

}  // namespace

TEST_CASE("a mean of both signs is compared with the rms") {
  const auto both = sizes_of({-3, 4, 0, 5});
  CHECK(both.rms() == doctest::Approx(std::sqrt(50.0 / 4)));
  CHECK(fault_of_mean(1.01e-3 * both.rms(), both).empty());
  CHECK(fault_of_mean(-1.01e-3 * both.rms(), both).empty());
  CHECK(fault_of_mean(0.99e-3 * both.rms(), both) ==
        "has the mean 0.0035, which is next to nothing beside its rms of 3.536");
  CHECK_FALSE(fault_of_mean(-1e-18, both).empty());
  CHECK_FALSE(fault_of_mean(0, both).empty());
}

TEST_CASE("a mean of one sign may be small beside the rms, and 0 is none") {
  std::vector<double> cloud(1 << 22);
  cloud[17] = 1;
  const auto sizes = sizes_of(cloud);
  CHECK(1.0 / (1 << 22) < least_mean * sizes.rms());
  CHECK(fault_of_mean(1.0 / (1 << 22), sizes).empty());
  CHECK(fault_of_mean(0, sizes_of({0, 0})) == "has the mean 0 (its rms is 0)");
  CHECK(fault_of_mean(0, sizes_of({})).empty());
  CHECK(fault_of_mean(0, sizes_of({missing})).empty());
}

TEST_CASE("values in bulk are those one by one") {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  for (const size_t count : {0, 1, 7, 8, 1023, 1024, 1025, 5000}) {
    std::vector<double> values(count);
    for (double& v : values) v = normal(random);
    for (const double special : {1.0, missing, std::numeric_limits<double>::infinity(), 1e300}) {
      if (count > 3) values[count / 2] = special;
      ValueSizes bulk;
      bulk.add(std::span<const double>(values));
      const auto each = sizes_of(values);
      CHECK(bulk.not_finite == each.not_finite);
      CHECK(bulk.negative == each.negative);
      CHECK(bulk.positive == each.positive);
      CHECK(bulk.weight == each.weight);
      if (special == 1) CHECK(bulk.squares == doctest::Approx(each.squares));
    }
  }
}
