// SPDX-License-Identifier: BSD-3-Clause
#include "transport/node.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

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
                 : Segment::open(node::this_process(), segments[0]->descriptor())));
      segments.back()->take_channel(r);
      std::unique_ptr<SpillFile> spill;
      if (spill_limit > 0) {
        spill = std::make_unique<SpillFile>(std::filesystem::temp_directory_path().string(),
                                            spill_limit);
        segments.back()->channel(r).spill_descriptor = spill->descriptor();
      }
      senders.push_back(std::make_unique<NodeSender>(*segments.back(), r, true, std::move(spill)));
      segments.back()->open_channel(r);
    }
  }
  [[nodiscard]] std::vector<Source> sources() const {
    auto opened =
        std::make_shared<Segment>(Segment::open(node::this_process(), segments[0]->descriptor()));
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
    const bool fits = sender.fits(size) || sender.fits_spill(size);
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
  CHECK(sender.fits_spill(4 * channel_memory));
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
