// SPDX-License-Identifier: BSD-3-Clause
#include "transport/staging.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace pillion::transport;

TEST_CASE("no more than the budget is ever in use, and buffers are used again") {
  Staging staging(1000);
  auto a = staging.take(600);
  REQUIRE(a.has_value());
  CHECK_FALSE(staging.take(401).has_value());
  auto b = staging.take(400);
  REQUIRE(b.has_value());
  CHECK(staging.in_use() == 1000);
  const auto* place = a->data();
  staging.give_back(std::move(*a));
  const auto c = staging.take(500);
  REQUIRE(c.has_value());
  CHECK(c->data() == place);
  CHECK(staging.peak() == 1000);
  CHECK_FALSE(staging.take(1001).has_value());
}

TEST_CASE("any sequence of takes and returns stays within the budget") {
  std::mt19937 random(1);
  Staging staging(10000);
  std::vector<Buffer> taken;
  for (int i = 0; i < 20000; ++i) {
    if (!taken.empty() && random() % 2 == 0) {
      std::swap(taken[random() % taken.size()], taken.back());
      staging.give_back(std::move(taken.back()));
      taken.pop_back();
    } else if (auto buffer = staging.take(random() % 3000)) {
      taken.push_back(std::move(*buffer));
    }
    size_t sum = 0;
    for (const auto& buffer : taken) sum += buffer.capacity();
    REQUIRE(staging.in_use() == sum);
    REQUIRE(sum <= 10000);
  }
}
