// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "transport/inbox.hpp"

using namespace pillion;
using namespace pillion::transport;

// The sender knows all sizes; the receiver posts when it knows only those that it has taken.
TEST_CASE("both ends expect messages of the same size, whenever the receive is posted") {
  std::mt19937 random(7);
  ExpectedSizes sender, receiver;
  std::vector<size_t> sizes, expected;
  for (int m = 0; m < 500; ++m) sizes.push_back(random() % 200000 + 9);
  for (const size_t size : sizes) {
    expected.push_back(sender.of(sender.count()));
    sender.add(size);
  }
  size_t posted = 0;
  for (size_t taken = 0; taken < sizes.size(); ++taken) {
    const size_t ahead = random() % (most_posted + 1);
    while (posted < std::min(sizes.size(), std::max(taken + ahead, taken + 1))) {
      CHECK(receiver.of(static_cast<int64_t>(posted)) == expected[posted]);
      ++posted;
    }
    receiver.add(sizes[taken]);
  }
}

TEST_CASE("receives are as large as the largest of late, with some room, and shrink again") {
  ExpectedSizes sizes;
  CHECK(sizes.of(0) == ExpectedSizes::least);
  sizes.add(1 << 20);
  CHECK(sizes.of(1) == ExpectedSizes::least);  // it may have been posted before the first came
  CHECK(sizes.of(2) >= (1 << 20));
  CHECK(sizes.of(2) <= (1 << 20) + (1 << 17) + 4096);
  for (int m = 1; m < 30; ++m) sizes.add(100);
  CHECK(sizes.of(sizes.count()) == ExpectedSizes::least);
}

TEST_CASE("memory for messages stays within the budget, but for what must be received") {
  ReceiveRoom room(300000);
  auto first = room.find(100000, false);
  auto second = room.find(100000, false);
  CHECK(room.find(150000, false) == nullptr);
  CHECK(room.find(150000, true) != nullptr);
  CHECK(room.peak() == 350000);
  second.reset();
  first.reset();
  CHECK(room.find(200000, false) != nullptr);  // idle memory made way
  CHECK(room.allocated() <= 300000);
  auto small = room.find(10, false);
  REQUIRE(small != nullptr);
  CHECK(small->capacity() < 100000);  // a header does not take the memory of a field
}

TEST_CASE("memory for messages has all its pages before they come") {
  constexpr size_t size = 8 << 20, page = 4096;
  ReceiveRoom room(size);
  const auto buffer = room.find(size, false);
  REQUIRE(buffer != nullptr);
  const auto begin = (reinterpret_cast<uintptr_t>(buffer->data()) + page - 1) / page * page;
  std::vector<unsigned char> pages(size / page - 1);
  REQUIRE(mincore(reinterpret_cast<void*>(begin), pages.size() * page, pages.data()) == 0);
  CHECK(std::all_of(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; }));
}
