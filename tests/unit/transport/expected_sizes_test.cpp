// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <random>

#include "policy/send_time.hpp"
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

TEST_CASE("a step sends for a share of the time, and less where that is in vain") {
  policy::SendTime time(0);
  CHECK(time.allow(1) == doctest::Approx(0.1));
  time.ended(1, true);
  CHECK(time.allow(3) == doctest::Approx(0.2));
  time.ended(3, false);
  CHECK(time.allow(4) == doctest::Approx(0.1));
  time.ended(4, false);
  CHECK(time.allow(5) == doctest::Approx(0.05));
  for (int s = 5; s < 100; ++s) time.ended(s, false);
  CHECK(time.allow(100) < 0.002);
  time.ended(100, true);
  CHECK(time.allow(101) == doctest::Approx(0.1));
  time.ended(101, true);
  CHECK(time.allow(10000) == policy::SendTime::most);
}
