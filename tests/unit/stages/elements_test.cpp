// SPDX-License-Identifier: BSD-3-Clause
// Reading fields of any type and arrangement comes out in the order of the first axis fastest.
#include "common/elements.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "common/sums.hpp"

using namespace pillion::stages;

namespace {

std::vector<double> all_of(const pillion::stage::Array& array, const Extent& n, int32_t component) {
  std::vector<double> out;
  for_each_stretch(array, n, component, [&](std::span<const double> values) {
    CHECK(values.size() <= 1024);
    out.insert(out.end(), values.begin(), values.end());
  });
  return out;
}

}  // namespace

TEST_CASE("strides are followed, whatever they are") {
  // A block of 3 × 4 × 2 inside a padded array of 5 × 6 × 2, last axis fastest.
  std::vector<int32_t> data(5 * 6 * 2);
  std::iota(data.begin(), data.end(), 0);
  const pillion::stage::Array array = {data.data(), PILLION_INT32, 1, {12, 2, 1, 0}};
  std::vector<double> expected;
  for (int k = 0; k < 2; ++k)
    for (int j = 0; j < 4; ++j)
      for (int i = 0; i < 3; ++i) expected.push_back(i * 12 + j * 2 + k);
  CHECK(all_of(array, {3, 4, 2}, 0) == expected);
}

TEST_CASE("components and magnitude of interleaved and of separate arrays") {
  const std::vector<float> together = {3, 4, 0, 1, 2, 2};
  const pillion::stage::Array interleaved = {together.data(), PILLION_FLOAT32, 3, {3, 0, 0, 1}};
  CHECK(all_of(interleaved, {2, 1, 1}, 1) == std::vector<double>{4, 2});
  CHECK(all_of(interleaved, {2, 1, 1}, magnitude_of_all) == std::vector<double>{5, 3});
  const std::vector<double> apart = {3, 1, 4, 2, 0, 2};
  const pillion::stage::Array separate = {apart.data(), PILLION_FLOAT64, 3, {1, 0, 0, 2}};
  CHECK(all_of(separate, {2, 1, 1}, 2) == std::vector<double>{0, 2});
  CHECK(all_of(separate, {2, 1, 1}, magnitude_of_all) == std::vector<double>{5, 3});
}

TEST_CASE("stretches hold everything once, also when rows do not fit") {
  std::vector<int64_t> data(700 * 5);
  std::iota(data.begin(), data.end(), 0);
  const pillion::stage::Array array = {data.data(), PILLION_INT64, 1, {1, 700, 0, 0}};
  const auto seen = all_of(array, {700, 5, 1}, 0);
  REQUIRE(seen.size() == data.size());
  for (size_t i = 0; i < seen.size(); ++i) REQUIRE(seen[i] == static_cast<double>(i));
}

TEST_CASE("an empty block may have no memory") {
  const pillion::stage::Array nothing = {nullptr, PILLION_FLOAT64, 1, {1, 0, 0, 0}};
  CHECK(all_of(nothing, {0, 1, 1}, 0).empty());
  CHECK(all_of(nothing, {4, 0, 3}, 0).empty());
  read_values({&nothing, 0}, {0, 1, 1}, 0, {});
}

TEST_CASE("endings name components") {
  CHECK(ending_of(0, 1).empty());
  CHECK(ending_of(2, 3) == "_z");
  CHECK(ending_of(5, 9) == "_5");
  CHECK(ending_of(magnitude_of_all, 3) == "_magnitude");
}

TEST_CASE("sums of every length, with the error of a long one bounded") {
  for (int64_t n : {0, 1, 7, 8, 9, 1023, 1024, 1025, 5000})
    CHECK(sum_of(n, [](int64_t i) { return static_cast<double>(i); }) ==
          static_cast<double>(n * (n - 1) / 2));
  const int64_t many = 2'000'000;
  const double sum = sum_of(many, [](int64_t) { return 0.1; });
  CHECK(std::abs(sum - 0.1 * static_cast<double>(many)) < 1e-9);
}
