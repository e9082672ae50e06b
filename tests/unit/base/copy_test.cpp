// SPDX-License-Identifier: BSD-3-Clause
#include "base/copy.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

using namespace pillion::base;

namespace {

std::vector<std::byte> noise(size_t size, std::mt19937& random) {
  std::vector<std::byte> out(size);
  for (auto& byte : out) byte = static_cast<std::byte>(random());
  return out;
}

}  // namespace

TEST_CASE("streaming copies every byte and no other, wherever both ends lie") {
  std::mt19937 random(1);
  const auto source = noise(70000, random);
  for (int round = 0; round < 2000; ++round) {
    const size_t size = random() % (round % 50 == 0 ? 66000 : 300);
    const size_t from = random() % 130, to = random() % 130;
    std::vector<std::byte> target(size + 260, std::byte{42}), expected = target;
    std::copy_n(source.data() + from, size, expected.data() + to);
    stream(target.data() + to, source.data() + from, size);
    REQUIRE(target == expected);
  }
}

TEST_CASE("pieces that are streamed follow each other") {
  std::mt19937 random(2);
  for (int round = 0; round < 30; ++round) {
    const auto source = noise(40000, random);
    std::vector<std::byte> target(source.size() + 64, std::byte{42});
    size_t at = 0;
    {
      Streamer streamer(target.data());
      while (at < source.size()) {
        const size_t largest = 1 + static_cast<size_t>(round) * 700;
        const size_t piece = std::min(source.size() - at, 1 + random() % largest);
        streamer.put(source.data() + at, piece);
        at += piece;
      }
    }
    REQUIRE(std::equal(source.begin(), source.end(), target.begin()));
    REQUIRE(target[source.size()] == std::byte{42});
  }
}
