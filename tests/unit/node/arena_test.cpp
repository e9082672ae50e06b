// SPDX-License-Identifier: BSD-3-Clause

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "node/channel.hpp"

using pillion::node::Arena;

namespace {

constexpr size_t line = 64;

/// Who has which byte, and nothing else.
class ByteMap {
 public:
  explicit ByteMap(size_t capacity) : owner_(capacity, nobody) {}

  /// The length of the free stretch that begins at `at`.
  [[nodiscard]] size_t free_from(size_t at) const {
    const auto begin = owner_.begin() + static_cast<std::ptrdiff_t>(at);
    return static_cast<size_t>(
        std::find_if(begin, owner_.end(), [](int64_t o) { return o != nobody; }) - begin);
  }
  void take(size_t begin, size_t size, int64_t index) {
    REQUIRE(free_from(begin) >= size);
    std::fill_n(owner_.begin() + static_cast<std::ptrdiff_t>(begin), size, index);
  }
  void free_before(int64_t index) {
    for (auto& o : owner_)
      if (o < index) o = nobody;
  }
  [[nodiscard]] size_t used() const {
    return owner_.size() - static_cast<size_t>(std::count(owner_.begin(), owner_.end(), nobody));
  }

 private:
  static constexpr int64_t nobody = -1;
  std::vector<int64_t> owner_;
};

size_t lines(size_t size) { return (std::max<size_t>(size, 1) + line - 1) / line * line; }

}  // namespace

TEST_CASE("pieces never overlap, and are refused only where a ring has no room") {
  std::mt19937 random(3);
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  int placed = 0, refused = 0;
  for (int round = 0; round < 60; ++round) {
    const size_t capacity = line * (1 + below(60)), most = 1 + below(capacity + line);
    Arena arena(capacity);
    ByteMap map(capacity);
    size_t end = 0, peak = 0;
    int64_t index = 0, freed = 0;
    for (int n = 0; n < 400; ++n) {
      if (below(3) == 0) {
        freed += static_cast<int64_t>(below(static_cast<size_t>(index - freed + 1)));
        arena.free_before(freed);
        map.free_before(freed);
      }
      const size_t size = below(most);
      const auto found = arena.find(size);
      const auto place = arena.place(size, index);
      CHECK(found == place);
      if (map.used() == 0 && !place) CHECK(lines(size) > capacity);
      if (place) {
        CHECK(*place % line == 0);
        REQUIRE(*place + lines(size) <= capacity);
        map.take(*place, lines(size), index++);
        end = *place + lines(size);
        ++placed;
      } else {
        const size_t ahead = map.free_from(end);
        CHECK(ahead < lines(size));
        if (end + ahead == capacity) CHECK(map.free_from(0) < lines(size));
        ++refused;
      }
      peak = std::max(peak, map.used());
      REQUIRE(arena.in_use() == map.used());
      REQUIRE(arena.peak() == peak);
    }
  }
  CHECK(placed > 1000);
  CHECK(refused > 1000);
}

TEST_CASE("an arena that is free again has room for all it can hold") {
  Arena arena(1024);
  REQUIRE(arena.place(600, 0));
  REQUIRE(arena.place(300, 1));
  CHECK_FALSE(arena.place(200, 2));
  arena.free_before(1);
  CHECK_FALSE(arena.find(1024));
  arena.free_before(2);
  CHECK(arena.place(1024, 2) == 0);
  CHECK_FALSE(arena.find(0));
  CHECK_FALSE(Arena(1024).find(1025));
}

TEST_CASE("a ring that becomes smaller or larger keeps what is in it") {
  std::mt19937 random(5);
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  for (int round = 0; round < 60; ++round) {
    constexpr size_t most = 60 * line;
    Arena arena(most);
    ByteMap map(most);
    int64_t index = 0, freed = 0;
    int placed = 0;
    for (int n = 0; n < 400; ++n) {
      if (below(8) == 0) arena.set_capacity(line * below(61));
      const size_t size = 1 + below(12 * line);
      if (const auto at = arena.place(size, index)) {
        CHECK(*at + lines(size) <= arena.capacity());
        map.take(*at, lines(size), index++);  // requires that it is free
        ++placed;
      }
      if (below(3) == 0 && freed < index) {
        freed += static_cast<int64_t>(1 + below(static_cast<size_t>(index - freed)));
        arena.free_before(freed);
        map.free_before(freed);
      }
      CHECK(arena.in_use() == map.used());
      CHECK(arena.end() >= arena.in_use());
    }
    CHECK(placed > 20);
    // When all is freed, as much fits as the capacity says.
    arena.free_before(index);
    arena.set_capacity(most);
    CHECK(arena.end() == 0);
    CHECK(arena.place(most, index));
  }
}
