// SPDX-License-Identifier: BSD-3-Clause
#include "transport/node.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

#include "../limits.hpp"
#include "base/clock.hpp"
#include "slow_disk.hpp"

extern "C" ssize_t pwrite(int file, const void* data, size_t size, off_t at) {
  while (slow_disk::hangs) pillion::base::clock().sleep(1e-3);
  if (slow_disk::is_full) {
    errno = ENOSPC;
    return -1;
  }
  return syscall(SYS_pwrite64, file, data, size, at);
}

using namespace pillion;
using namespace pillion::transport;
using node::primary;
using node::Segment;

namespace {

constexpr size_t channel_memory = size_t{1} << 16;

/// A node with simulation ranks that are all this process, each with a segment as it opened it.
struct Node {
  std::vector<std::unique_ptr<Segment>> segments;
  std::vector<std::unique_ptr<NodeSender>> senders;

  explicit Node(int ranks, size_t spill_limit = 0) {
    std::vector<node::ChannelPlan> channels(static_cast<size_t>(ranks), {0, channel_memory});
    for (int r = 0; r < ranks; ++r) {
      segments.push_back(std::make_unique<Segment>(
          r == 0 ? Segment::make({"node", 1, 0, 1, ranks}, channels, {})
                 : Segment::open(segments[0]->address(), Segment::Role::Simulation)));
      segments.back()->take_channel(r);
      std::unique_ptr<SpillFile> spill;
      if (spill_limit > 0) {
        spill = std::make_unique<SpillFile>(std::filesystem::temp_directory_path().string(),
                                            spill_limit, channel_memory);
        set_spill_address(segments.back()->channel(r), spill->address());
      }
      senders.push_back(std::make_unique<NodeSender>(*segments.back(), r, true, std::move(spill)));
      segments.back()->open_channel(r);
    }
  }
  [[nodiscard]] std::vector<Source> sources() const {
    auto opened =
        std::make_shared<Segment>(Segment::open(segments[0]->address(), Segment::Role::Sidecar));
    std::vector<Source> out;
    for (int r = 0; r < opened->channels(); ++r) out.push_back({opened, r});
    return out;
  }
};

std::byte value_of(int64_t sequence, size_t rank) {
  return static_cast<std::byte>(sequence * 5 + static_cast<int64_t>(rank));
}

bool is_right(const Delivery& d, int64_t sequence, size_t rank, size_t size) {
  return d.source == static_cast<int>(rank) && d.size == size &&
         std::all_of(d.data, d.data + d.size,
                     [&](std::byte b) { return b == value_of(sequence, rank); });
}

/// What goes to disk is published when the sender comes by after it is there.
template <class Holds>
void poll_until(NodeSender& sender, Holds&& holds) {
  REQUIRE(base::wait_until(
      [&] {
        sender.poll();
        return holds();
      },
      unit::hang_begins()));
}

}  // namespace

TEST_CASE("messages of all ranks arrive together, in order, and their memory is used again") {
  Node node(3);
  NodeReceiver receiver(node.sources(), primary, [] { return true; });
  REQUIRE(receiver.claim());
  std::mt19937 random(1);
  for (int64_t sequence = 1; sequence <= 300; ++sequence) {
    std::vector<size_t> sizes;
    for (size_t r = 0; r < 3; ++r) {
      if (sequence < 4) CHECK_FALSE_MESSAGE(receiver.next(), "not all ranks have published");
      sizes.push_back(1 + random() % (channel_memory - 1));
      const bool head = random() % 10 == 0;
      if (head) sizes.back() = 100;
      auto& sender = *node.senders[r];
      REQUIRE(sender.fits(sizes.back()));
      std::byte* to = head ? sender.reserve_head(100) : sender.reserve(sizes.back());
      REQUIRE(to != nullptr);
      std::memset(to, static_cast<int>(value_of(sequence, r)), sizes.back());
      sender.commit(sequence);
      CHECK(sender.behind() == 1);
    }
    const auto deliveries = receiver.next();
    REQUIRE(deliveries);
    REQUIRE(deliveries->size() == 3);
    receiver.begin();
    CHECK(receiver.begun() == sequence);
    for (size_t r = 0; r < 3; ++r) CHECK(is_right((*deliveries)[r], sequence, r, sizes[r]));
    receiver.finish(sequence, {}, "");
    for (const auto& sender : node.senders) {
      sender->poll();
      CHECK(sender->behind() == 0);
      CHECK(sender->in_flight() == 0);
    }
  }
}

TEST_CASE("a full channel gives no memory, and what was not committed is not sent") {
  Node node(1);
  auto& sender = *node.senders[0];
  CHECK(sender.reserve(channel_memory + 1) == nullptr);
  REQUIRE(sender.reserve(channel_memory / 2) != nullptr);
  sender.commit(1);
  REQUIRE(sender.reserve(channel_memory / 2) != nullptr);
  sender.commit(2);
  CHECK_FALSE(sender.fits(1));
  CHECK(sender.reserve(1) == nullptr);
  CHECK_THROWS_AS(sender.commit(3), Error);
  CHECK(sender.reserve_head(64) != nullptr);
  CHECK_THROWS_AS(sender.commit(4), Error);
  CHECK_NOTHROW(sender.commit(3));
  CHECK(sender.behind() == 3);
  CHECK(sender.peak() == channel_memory);
}

TEST_CASE("what has no room in memory waits on disk, in order") {
  Node node(1, 4 * channel_memory);
  auto& sender = *node.senders[0];
  NodeReceiver receiver(node.sources(), primary, [] { return true; });
  REQUIRE(receiver.claim());
  std::mt19937 random(2);
  std::vector<size_t> sizes{0};
  int64_t read = 0;
  int spilled = 0;
  const auto read_one = [&] {
    poll_until(sender, [&] { return sender.writer().published() > read; });
    const auto deliveries = receiver.next();
    REQUIRE(deliveries);
    receiver.begin();
    ++read;
    CHECK(is_right(deliveries->front(), read, 0, sizes[static_cast<size_t>(read)]));
    receiver.finish(read, {}, "");
    sender.poll();
  };
  while (sizes.size() < 500) {
    const size_t size = 1 + random() % channel_memory;
    const bool fits = sender.fits(size) || sender.fits_spill_now(size);
    std::byte* to = sender.reserve(size);
    if (to == nullptr && (to = sender.reserve_spill(size)) != nullptr) ++spilled;
    CHECK((to != nullptr) == fits);
    if (to == nullptr) {
      read_one();
      continue;
    }
    const auto sequence = static_cast<int64_t>(sizes.size());
    std::memset(to, static_cast<int>(value_of(sequence, 0)), size);
    sender.commit(sequence);
    sizes.push_back(size);
  }
  while (read + 1 < static_cast<int64_t>(sizes.size())) read_one();
  CHECK(spilled > 100);
  CHECK(sender.fits_spill(channel_memory));
}

TEST_CASE("a disk that hangs delays no message's sender, and the messages keep their order") {
  Node node(1, 16 * channel_memory);
  auto& sender = *node.senders[0];
  NodeReceiver receiver(node.sources(), primary, [] { return true; });
  REQUIRE(receiver.claim());
  const size_t half = channel_memory / 2;
  const auto spill = [&](int64_t sequence, size_t size) {
    std::byte* to = sender.reserve_spill(size);
    REQUIRE(to != nullptr);
    std::memset(to, static_cast<int>(value_of(sequence, 0)), size);
    sender.commit(sequence);
  };
  {
    const slow_disk::Hanging hanging;
    spill(1, half);
    spill(2, half);
    CHECK_FALSE(sender.fits_spill_now(1));  // no memory is left for messages on their way
    CHECK(sender.fits_spill(1));
    CHECK_FALSE(sender.fits(1));  // what would overtake them must wait
    std::byte* head = sender.reserve_head(100);
    REQUIRE(head != nullptr);
    std::memset(head, static_cast<int>(value_of(3, 0)), 100);
    sender.commit(3);
    sender.slots()->close();
    sender.poll();
    CHECK(sender.behind() == 3);
    CHECK(sender.in_flight() == 2 * half);
    CHECK(sender.writer().published() == 0);
  }
  poll_until(sender, [&] { return sender.writer().published() == 3; });
  CHECK(sender.in_flight() == 0);
  for (int64_t sequence = 1; sequence <= 3; ++sequence) {
    const auto deliveries = receiver.next();
    REQUIRE(deliveries);
    CHECK(is_right(deliveries->front(), sequence, 0, sequence == 3 ? 100 : half));
    receiver.finish(sequence, {}, "");
  }
  CHECK_FALSE(receiver.next());
}

TEST_CASE(
    "ranks that end with messages on their way to a disk that hangs end at the same message") {
  Node node(2, 16 * channel_memory);
  NodeReceiver receiver(node.sources(), primary, [] { return true; });
  REQUIRE(receiver.claim());
  const auto fill = [](std::byte* to, int64_t sequence, size_t rank) {
    REQUIRE(to != nullptr);
    std::memset(to, static_cast<int>(value_of(sequence, rank)), 100);
  };
  const base::Bytes dropped(70, std::byte{1}), end(80, std::byte{2});
  {
    const slow_disk::Hanging hanging;
    for (int64_t sequence = 1; sequence <= 5; ++sequence) {
      fill(node.senders[0]->reserve(100), sequence, 0);
      node.senders[0]->commit(sequence);
      auto& slow = *node.senders[1];
      fill(sequence == 3 ? slow.reserve_spill(100)
                         : (sequence > 3 ? slow.reserve_head(100) : slow.reserve(100)),
           sequence, 1);
      slow.commit(sequence);
    }
    for (const auto& sender : node.senders) sender->slots()->close();
    CHECK(node.senders[0]->unseen() == 0);
    CHECK(node.senders[1]->unseen() == 3);
    for (const auto& sender : node.senders) {
      CHECK(sender->end_at(5, dropped, end));
      CHECK(sender->unseen() == 0);
    }
  }
  for (int64_t index = 0; index < 6; ++index) {
    const auto deliveries = receiver.next();
    REQUIRE(deliveries);
    for (size_t r = 0; r < 2; ++r) {
      const auto& d = (*deliveries)[r];
      if (index < (r == 0 ? 5 : 2)) CHECK(is_right(d, index + 1, r, 100));
      else CHECK(base::Bytes(d.data, d.data + d.size) == (index == 5 ? end : dropped));
    }
    receiver.finish(index + 1, {}, "");
  }
  CHECK_FALSE(receiver.next());
  poll_until(*node.senders[1], [&] { return node.senders[1]->behind() == 0; });
}

TEST_CASE("a disk that is full takes no more, and what was on its way goes to memory") {
  Node node(1, 16 * channel_memory);
  auto& sender = *node.senders[0];
  NodeReceiver receiver(node.sources(), primary, [] { return true; });
  REQUIRE(receiver.claim());
  const auto put = [&](int64_t sequence, std::byte* to) {
    REQUIRE(to != nullptr);
    std::memset(to, static_cast<int>(value_of(sequence, 0)), channel_memory);
    sender.commit(sequence);
  };
  const auto take = [&](int64_t sequence) {
    const auto deliveries = receiver.next();
    REQUIRE(deliveries);
    CHECK(is_right(deliveries->front(), sequence, 0, channel_memory));
    receiver.finish(sequence, {}, "");
    sender.poll();
  };
  put(1, sender.reserve(channel_memory));
  slow_disk::is_full = true;
  put(2, sender.reserve_spill(channel_memory));
  // Known as soon as the disk has refused it, so that no step waits for room there.
  REQUIRE(base::wait_until([&] { return !sender.fits_spill(1); }, unit::hang_begins()));
  take(1);
  poll_until(sender, [&] { return sender.writer().published() == 2; });
  slow_disk::is_full = false;
  take(2);
  CHECK(sender.fits_spill(1));
}

TEST_CASE("what sidecars say reaches the simulation") {
  Node node(2);
  NodeReceiver receiver(node.sources(), primary, [] { return true; });
  REQUIRE(receiver.claim());
  for (int64_t sequence = 1; sequence <= 2; ++sequence)
    for (const auto& sender : node.senders) {
      REQUIRE(sender->reserve_head(64) != nullptr);
      sender->commit(sequence);
    }
  REQUIRE(receiver.next());
  receiver.finish(1, {2, 130}, std::string(1000, 'x'));
  for (const auto& sender : node.senders) {
    sender->poll();
    CHECK(sender->disabled() == std::set<int32_t>{2, 130});
    CHECK(sender->failure().size() > 200);
    CHECK(sender->failure().find_first_not_of('x') == std::string::npos);
    CHECK(sender->is_served());
  }
  CHECK(receiver.disabled() == std::set<int32_t>{2, 130});
  REQUIRE(receiver.next());
  receiver.finish(2, {2, 130}, "");
  CHECK(node.senders[1]->failure().empty());
}

TEST_CASE("a successor goes on after what any rank of the sidecar job had begun with") {
  Node node(2);
  for (int64_t sequence = 1; sequence <= 4; ++sequence)
    for (const auto& sender : node.senders) {
      REQUIRE(sender->reserve_head(64) != nullptr);
      sender->commit(sequence);
    }
  const auto sources = node.sources();
  NodeReceiver first({sources[0]}, primary, [] { return true; });
  NodeReceiver second({sources[1]}, primary, [] { return true; });
  REQUIRE(first.claim());
  REQUIRE(second.claim());
  REQUIRE(first.next());
  first.begin();
  first.finish(1, {}, "");
  REQUIRE(first.next());
  first.begin();  // it dies here; the other has done nothing
  first.leave();
  second.leave();
  NodeReceiver both(sources, primary, [] { return true; });
  REQUIRE(both.claim());
  CHECK(both.begun() == 2);
  CHECK(node::done_in(both.progress()) == 1);
  both.start_at(node::progress_of(2, 1));
  CHECK(node.senders[0]->behind() == 2);
  CHECK(node.senders[1]->behind() == 2);
  REQUIRE(both.next());
  both.begin();
  both.finish(3, {}, "");
  CHECK(node::done_in(both.progress()) == 3);
  CHECK(node::lost_in(both.progress()) == 1);
}

TEST_CASE("sidecars that have done all that will ever come say so") {
  Node node(1);
  NodeReceiver receiver(node.sources(), primary, [] { return false; });
  REQUIRE(receiver.claim());
  CHECK_FALSE(node.senders[0]->slots()->is_over());
  receiver.show_over();
  receiver.leave();
  CHECK(node.senders[0]->slots()->is_over());
}

TEST_CASE("after the end nothing comes, and before it whatever was published") {
  Node node(1);
  NodeReceiver receiver(node.sources(), primary, [] { return false; });
  REQUIRE(receiver.claim());
  REQUIRE(node.senders[0]->reserve_head(64) != nullptr);
  node.senders[0]->commit(1);
  node.senders[0]->writer().close();
  REQUIRE(receiver.next());
  receiver.finish(1, {}, "");
  CHECK_FALSE(receiver.next());
}

TEST_CASE(
    "values that are said to lie beyond their region, or a region beyond the segment, are errors") {
  Node node(1);
  const auto region = node.segments[0]->add_region(8192);
  NodeReceiver receiver(node.sources(), primary, [] { return true; });
  CHECK(receiver.look(0, {region.offset, 8192, 4096}, 4096) != nullptr);
  constexpr uint64_t huge = ~uint64_t{0} - 4095;
  for (const Lent& wrong :
       {Lent{region.offset, 8192, 4097}, Lent{region.offset, 8192, huge},
        Lent{region.offset, huge, 4096}, Lent{region.offset + 8192, 8192, 0}, Lent{huge, 8192, 0}})
    CHECK_THROWS_AS((void)receiver.look(0, wrong, 4096), Error);
}

TEST_CASE("a reader whose message was freed under its hands is told so") {
  Node node(1);
  NodeReceiver receiver(node.sources(), primary, [] { return true; });
  REQUIRE(receiver.claim());
  for (int64_t sequence = 1; sequence <= 3; ++sequence) {
    REQUIRE(node.senders[0]->reserve_head(64) != nullptr);
    node.senders[0]->commit(sequence);
  }
  node.senders[0]->writer().slot(primary).progress = node::progress_of(2, 0);
  node.senders[0]->poll();
  CHECK_THROWS_AS((void)receiver.next(), Error);
}

namespace {

/// As Node, but ranks share a budget.
struct SharingNode {
  std::vector<std::unique_ptr<Segment>> segments;
  std::vector<std::unique_ptr<NodeSender>> senders;

  SharingNode(int ranks, size_t budget) {
    const std::vector<node::ChannelPlan> channels(static_cast<size_t>(ranks), {0, budget});
    for (int r = 0; r < ranks; ++r) {
      segments.push_back(std::make_unique<Segment>(
          r == 0 ? Segment::make({"node", 1, 0, 1, ranks}, channels, {})
                 : Segment::open(segments[0]->address(), Segment::Role::Simulation)));
      auto& segment = *segments.back();
      auto shared = std::make_unique<node::SharedBudget>(
          &segment.channel(0).budget, sizeof(node::ChannelWords), channels.size(),
          static_cast<size_t>(r), budget);
      REQUIRE(shared->grow(shared->share()));
      segment.take_channel(r, shared->held());
      senders.push_back(std::make_unique<NodeSender>(segment, r, true, nullptr, std::move(shared)));
      segment.open_channel(r);
    }
  }
  void say_needs(const std::vector<size_t>& needs) {
    for (size_t r = 0; r < needs.size(); ++r) senders[r]->set_need(needs[r]);
    for (int turn = 0; turn < 2; ++turn)
      for (auto& sender : senders) sender->take_part();
  }
  /// Bytes of memory behind the segment.
  [[nodiscard]] size_t memory() const {
    struct stat status {};
    REQUIRE(fstat(segments[0]->descriptor(), &status) == 0);
    return static_cast<size_t>(status.st_blocks) * 512;
  }
};

bool publish(NodeSender& sender, int64_t sequence, size_t size) {
  std::byte* to = sender.reserve(size);
  if (to == nullptr) return false;
  std::memset(to, 7, size);
  sender.commit(sequence);
  return true;
}

}  // namespace

TEST_CASE("ranks of a node share its budget as they need it") {
  constexpr size_t whole = size_t{10} << 20, large = whole * 9 / 10, small = whole / 30;
  constexpr size_t budget = 3 * whole + (size_t{1} << 16);
  SharingNode node(4, budget);
  const size_t beside = node.memory() - budget;
  // One rank has 90 % of the data: three publications have room, and no fourth.
  node.say_needs({large, small, small, small});
  for (int64_t n = 1; n <= 3; ++n)
    for (size_t r = 0; r < 4; ++r) {
      CHECK(node.senders[r]->fits(r == 0 ? large : small));
      CHECK(publish(*node.senders[r], n, r == 0 ? large : small));
    }
  CHECK_FALSE(node.senders[0]->fits(large));
  CHECK(node.memory() <= budget + beside + (4 << 16));

  // The data move to another rank. What is in flight stays, and no rank waits for others.
  NodeReceiver receiver(
      [&] {
        auto opened = std::make_shared<Segment>(
            Segment::open(node.segments[0]->address(), Segment::Role::Sidecar));
        std::vector<Source> sources;
        for (int r = 0; r < 4; ++r) sources.push_back({opened, r});
        return sources;
      }(),
      primary, [] { return false; });
  REQUIRE(receiver.claim());
  const std::vector<size_t> needs{small, large, small, small};
  node.say_needs(needs);
  CHECK_FALSE(publish(*node.senders[1], 4, large));
  for (int64_t n = 1; n <= 3; ++n) {
    const auto messages = receiver.next();
    REQUIRE(messages);
    for (const auto& message : *messages)
      CHECK(std::all_of(message.data, message.data + message.size,
                        [](std::byte b) { return b == std::byte{7}; }));
    receiver.begin();
    receiver.finish(n, {}, "");
  }
  for (int turn = 0; turn < 2; ++turn)
    for (auto& sender : node.senders) sender->poll();
  for (int64_t n = 4; n <= 6; ++n)
    for (size_t r = 0; r < 4; ++r) CHECK(publish(*node.senders[r], n, needs[r]));
  CHECK(node.memory() <= budget + beside + (4 << 16));
  receiver.leave();
}
