// SPDX-License-Identifier: BSD-3-Clause
// Records in the order of their keys, against a stable sort.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <random>

#include "layout/particles.hpp"

using pillion::layout::KeyOrder;

namespace {

/// Some lists of keys whose records say where they are.
template <class T>
struct Lists {
  std::vector<std::vector<T>> keys;
  std::vector<std::vector<std::array<char, 20>>> records;

  void add(T key, size_t list) {
    std::array<char, 20> record{};
    const int64_t said[2] = {static_cast<int64_t>(list), static_cast<int64_t>(keys[list].size())};
    std::memcpy(record.data() + 3, said, sizeof said);
    keys[list].push_back(key);
    records[list].push_back(record);
  }

  void check(KeyOrder& order) const {
    std::vector<KeyOrder::Keys> given;
    std::vector<const std::byte*> from;
    std::vector<std::pair<T, std::array<char, 20>>> expected;
    for (size_t l = 0; l < keys.size(); ++l) {
      given.push_back({reinterpret_cast<const std::byte*>(keys[l].data()), keys[l].size()});
      from.push_back(reinterpret_cast<const std::byte*>(records[l].data()));
      for (size_t i = 0; i < keys[l].size(); ++i) expected.emplace_back(keys[l][i], records[l][i]);
    }
    const auto first = [](const auto& a, const auto& b) { return a.first < b.first; };
    const bool sorted = std::is_sorted(expected.begin(), expected.end(), first);
    std::stable_sort(expected.begin(), expected.end(), first);
    order.find(given, sizeof(T) == 4);
    CHECK(order.is_given() == sorted);
    if (sorted) return;
    std::vector<const std::byte*> got(expected.size());
    std::vector<T> got_keys(expected.size());
    for (size_t first = 0; first < got.size(); first += 100) {
      const size_t count = std::min(got.size() - first, size_t{100});
      order.locate(first, count, from, 20, got.data() + first,
                   reinterpret_cast<std::byte*>(got_keys.data() + first));
    }
    int64_t wrong = 0;
    for (size_t i = 0; i < got.size(); ++i)
      wrong += got_keys[i] == expected[i].first &&
                       std::memcmp(got[i], expected[i].second.data(), 20) == 0
                   ? 0
                   : 1;
    CHECK(wrong == 0);
  }
};

template <class T>
void check_some(T lowest, T highest, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<T> key(lowest, highest);
  KeyOrder order;
  for (int round = 0; round < 50; ++round) {
    Lists<T> lists;
    lists.keys.resize(random() % 5);
    lists.records.resize(lists.keys.size());
    for (size_t l = 0; l < lists.keys.size(); ++l)
      for (size_t n = random() % 3 * (random() % 300); n > 0; --n) lists.add(key(random), l);
    lists.check(order);
  }
}

}  // namespace

TEST_CASE("records come in the order of their keys, and of their lists where those are equal") {
  constexpr auto least = std::numeric_limits<int64_t>::min();
  constexpr auto most = std::numeric_limits<int64_t>::max();
  check_some<int64_t>(1, 1000000, 1);
  check_some<int64_t>(-3, 3, 2);
  check_some<int64_t>(least, most, 3);
  check_some<int64_t>(most - 100, most, 4);
  check_some<int64_t>(5, 5, 5);
  check_some<int32_t>(std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max(), 6);
  check_some<int32_t>(-100000, 100000, 7);
}

TEST_CASE(
    "keys that differ and are close to each other are put in order, and so if two are equal") {
  std::mt19937_64 random(8);
  KeyOrder order;
  constexpr int64_t lowest[] = {1, -1000, std::numeric_limits<int64_t>::min(),
                                std::numeric_limits<int64_t>::max() - 5000};
  for (int round = 0; round < 40; ++round) {
    std::vector<int64_t> keys;
    for (int64_t key = 0; key < 5000; ++key)
      if (random() % 3 != 0) keys.push_back(lowest[round % 4] + key);
    if (round % 5 == 4) keys.push_back(keys[random() % keys.size()]);
    std::shuffle(keys.begin(), keys.end(), random);
    Lists<int64_t> lists;
    lists.keys.resize(3);
    lists.records.resize(3);
    for (const auto key : keys) lists.add(key, random() % 3);
    lists.check(order);
  }
}
