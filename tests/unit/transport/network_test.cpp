// SPDX-License-Identifier: BSD-3-Clause
#include "transport/network.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <optional>

using namespace pillion;
using namespace pillion::transport;

// The last rank receives from all others. Messages are never more than the budget ahead.
TEST_CASE("messages arrive in order, and the budget holds whatever the receiver does") {
  const comm::Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  constexpr size_t size = 300000;
  constexpr int64_t messages = 20;
  const int server = world.size() - 1;
  const auto side = world.split(world.rank() == server ? 0 : -1);
  if (world.rank() == server) {
    std::vector<int> sources;
    for (int r = 0; r < server; ++r) sources.push_back(r);
    NetworkReceiver receiver(world, side, sources, 4 * size);
    for (int64_t m = 1; m <= messages; ++m) {
      const auto deliveries = receiver.next();
      for (const auto& delivery : *deliveries) {
        REQUIRE(delivery.size == size);
        CHECK(delivery.data[0] == static_cast<std::byte>(m));
        CHECK(delivery.data[size - 1] == static_cast<std::byte>(delivery.source));
      }
      receiver.finish(m, m == messages ? std::set<int32_t>{3} : std::set<int32_t>{}, {});
    }
  } else {
    NetworkSender sender(world, {server}, 0, 3 * size);
    for (int64_t m = 1; m <= messages; ++m) {
      std::byte* to = nullptr;
      while ((to = sender.reserve(size)) == nullptr) sender.poll();
      to[0] = static_cast<std::byte>(m);
      to[size - 1] = static_cast<std::byte>(world.rank());
      sender.commit(m);
      CHECK(sender.in_flight() <= 3 * size);
    }
    CHECK(sender.reserve(3 * size + 1) == nullptr);
    while (sender.behind() > 0) sender.poll();
    CHECK(sender.in_flight() == 0);
    CHECK(sender.peak() <= 3 * size);
    CHECK(sender.disabled() == std::set<int32_t>{3});
  }
}

TEST_CASE("heads of messages that a receiver does not take are a limited number") {
  const comm::Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  constexpr size_t size = 64;
  constexpr int64_t messages = node::record_count;
  const int server = world.size() - 1;
  const auto side = world.split(world.rank() == server ? 0 : -1);
  if (world.rank() == server) {
    world.barrier();
    std::vector<int> sources;
    for (int r = 0; r < server; ++r) sources.push_back(r);
    NetworkReceiver receiver(world, side, sources, size_t{1} << 20);
    for (int64_t m = 1; m <= messages; ++m) {
      REQUIRE(receiver.next());
      receiver.finish(m, {}, {});
    }
  } else {
    NetworkSender sender(world, {server}, 0, size);
    for (int64_t m = 1; m <= messages; ++m) {
      CHECK(sender.fits_head() == (m <= messages * 3 / 4));
      std::byte* to = sender.reserve_head(size);
      REQUIRE(to != nullptr);
      std::fill_n(to, size, std::byte{1});
      sender.commit(m);
    }
    CHECK(sender.reserve_head(size) == nullptr);
    world.barrier();
    while (sender.behind() > 0) sender.poll();
    CHECK(sender.fits_head());
    CHECK(sender.reserve_head(size) != nullptr);
  }
}

namespace {

constexpr size_t large = size_t{32} << 20;  // so that MPI sends it only when it is received

bool is_all(const std::byte* data, std::byte value) {
  return std::all_of(data, data + large, [&](std::byte b) { return b == value; });
}

}  // namespace

// Sidecars that end early leave messages, which MPI goes on with whenever it is called.
TEST_CASE("memory of messages under way outlives the ends of the transport") {
  const comm::Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  const int server = world.size() - 1;
  constexpr int tag = 91, large_tag = 92;
  constexpr std::byte mark{7};
  if (world.rank() == 0) {
    {
      NetworkSender sender(world, {server}, 0, large);
      std::fill_n(sender.reserve(large), large, mark);
      sender.commit(1);
    }
    world.barrier();
    const std::vector<std::byte> bytes(large, mark);
    const Announcement announcement{large};
    comm::send(world, &announcement, sizeof announcement, server, tag).wait();
    comm::send(world, bytes.data(), large, server, large_tag).wait();
  } else if (world.rank() == server) {
    world.barrier();
    ReceiveRoom room(4 * large);
    Inbox first(world, comm::tags::publication, comm::tags::large_publication, room);
    const auto letters = first.take({0});
    CHECK(is_all(letters[0].buffer->data(), mark));
    {
      Inbox second(world, tag, large_tag, room);
      second.expect({0});
      MPI_Probe(0, large_tag, world.handle(), MPI_STATUS_IGNORE);
      second.look();
    }
  } else {
    world.barrier();
  }
  world.barrier();
}

// The sender announces what does not fit, by a count of all messages before.
TEST_CASE("receives are withdrawn from a rank that sends nothing, and its messages still arrive") {
  const comm::Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  const int server = world.size() - 1;
  constexpr int tag = 93, large_tag = 94;
  const std::vector<size_t> sizes{100, 6000, 9000, 200, 7000, 300, 8000};
  ExpectedSizes expected;
  std::deque<base::Bytes> sent;
  std::vector<comm::Request> requests;
  const auto put = [&](base::Bytes bytes, int with) {
    const auto& kept = sent.emplace_back(std::move(bytes));
    requests.push_back(comm::send(world, kept.data(), kept.size(), server, with));
  };
  const auto send = [&](size_t m) {
    const bool fits = sizes[m] <= expected.of(expected.count());
    expected.add(sizes[m]);
    base::ByteWriter announcement;
    announcement.put(Announcement{static_cast<int64_t>(sizes[m])});
    if (!fits) put(announcement.take(), tag);
    put(base::Bytes(sizes[m], static_cast<std::byte>(m)), fits ? tag : large_tag);
  };
  ReceiveRoom room(1 << 20);
  std::optional<Inbox> inbox;
  if (world.rank() == server) inbox.emplace(world, tag, large_tag, room);
  const auto take = [&](size_t m) {
    const auto messages = inbox->take({0});
    CHECK(messages[0].size == sizes[m]);
    CHECK(messages[0].buffer->data()[sizes[m] - 1] == static_cast<std::byte>(m));
  };
  // Some messages come before their receives are withdrawn, and some after.
  for (size_t m = 0; m < sizes.size(); ++m) {
    if (inbox) inbox->expect({0});
    world.barrier();
    if (world.rank() == 0 && m % 2 == 0) send(m);
    world.barrier();
    if (inbox) inbox->expect({});
    if (inbox && m % 2 != 0) CHECK(inbox->sources() == 0);
    world.barrier();
    if (world.rank() == 0 && m % 2 != 0) send(m);
    if (inbox) take(m);
  }
  if (inbox) {
    inbox->expect({0});
    CHECK(inbox->sources() == 1);
    inbox->expect({});
    CHECK(inbox->sources() == 0);
  }
  for (auto& request : requests) request.wait();
  world.barrier();
}

TEST_CASE("a message that makes no sense ends the wait, and the thread may look again") {
  const comm::Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  const int server = world.size() - 1;
  constexpr int tag = 95, large_tag = 96;
  if (world.rank() == 0) comm::send(world, "no", 2, server, tag).wait();
  if (world.rank() == server) {
    ReceiveRoom room(1 << 20);
    int woken = 0;
    room.taken = [&] { ++woken; };
    Inbox inbox(world, tag, large_tag, room);
    CHECK_THROWS_AS(inbox.take({0}), Error);
    CHECK_FALSE(room.is_taking);
    CHECK(woken == 1);
  }
  world.barrier();
}
