// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/allocations.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "base/error.hpp"
#include "node/segment.hpp"
#include "transport/node.hpp"

namespace {

bool is_memory_full = false;  ///< of the node

}  // namespace

// Stands before that of the system.
extern "C" int fallocate(int file, int mode, off_t offset, off_t size) {
  if (is_memory_full && mode == 0) {
    errno = ENOSPC;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fallocate, file, mode, offset, size));
}

using namespace pillion;
using namespace pillion::simulation;

namespace {

node::Segment a_segment() {
  auto segment = node::Segment::make({"allocations", 1, 0, 1, 1}, {{0, 4096}}, {});
  segment.take_channel(0);
  return segment;
}

}  // namespace

TEST_CASE("a buffer is never given to the simulation while sidecars read it") {
  std::mt19937 random(4);
  for (const int buffers : {2, 3, 5}) {
    auto segment = a_segment();
    Allocations allocations(&segment);
    std::map<void*, int64_t> last_reader;  // by buffer; the naive account
    void* current = allocations.allocate("x", 0, 1000, buffers);
    std::set<void*> all{current};
    int64_t message = 0, freed = 0;
    int lent = 0, copied = 0;
    for (int n = 0; n < 3000; ++n) {
      switch (random() % 3) {
        case 0:
          if (allocations.find(current)) {
            ++lent;
            if (random() % 8 == 0) {
              allocations.forget();
              break;
            }
            last_reader[current] = message;
          } else {
            ++copied;
            std::set<void*> held;
            for (const auto& [buffer, reader] : last_reader)
              if (reader >= freed) held.insert(buffer);
            CHECK(static_cast<int>(held.size()) == buffers - 1);
          }
          allocations.lend(message++);
          break;
        case 1: {
          void* next = allocations.swap("x", 0).now;
          REQUIRE(next != current);
          REQUIRE((!last_reader.contains(next) || last_reader[next] < freed));
          all.insert(current = next);
          break;
        }
        default:
          freed += static_cast<int64_t>(random() % static_cast<uint64_t>(message - freed + 1));
          allocations.reclaim(freed);
      }
    }
    CHECK(lent > 100);
    CHECK(copied > 5);
    CHECK(static_cast<int>(all.size()) <= buffers + 1);
  }
}

TEST_CASE("what is lent is where sidecars see it, inside of a buffer too") {
  auto segment = a_segment();
  auto reader = node::Segment::open(segment.address(), node::Segment::Role::Sidecar);
  Allocations allocations(&segment);
  auto* first = static_cast<std::byte*>(allocations.allocate("x", 0, 5000, 2));
  auto* other = static_cast<std::byte*>(allocations.allocate("x", 1, 100, 2));
  std::memset(first, 1, 5000);
  std::memset(first + 4000, 2, 1000);
  std::memset(other, 3, 100);
  const auto seen = [&](const std::byte* data) {
    const auto lent = allocations.find(data);
    REQUIRE(lent);
    return reader.look(lent->region, lent->region_size)[lent->offset];
  };
  CHECK(seen(first) == std::byte{1});
  CHECK(seen(first + 4000) == std::byte{2});
  CHECK(seen(other) == std::byte{3});
  CHECK_FALSE(allocations.find(first + 5000));
  const std::byte mine{};
  CHECK_FALSE(allocations.find(&mine));
}

TEST_CASE("memory that the program gives back stays as long as it is read") {
  auto segment = a_segment();
  auto reader = node::Segment::open(segment.address(), node::Segment::Role::Sidecar);
  Allocations allocations(&segment);
  auto* data = static_cast<std::byte*>(allocations.allocate("x", 0, 100, 2));
  std::memset(data, 9, 100);
  const auto lent = allocations.find(data);
  allocations.lend(0);
  allocations.free("x", 0);
  const auto* seen = reader.look(lent->region, lent->region_size);
  CHECK(seen[0] == std::byte{9});
  CHECK_FALSE(allocations.empty());
  allocations.reclaim(1);
  CHECK(allocations.empty());
  CHECK(seen[0] == std::byte{0});
  CHECK_NOTHROW(allocations.free("x", 0));
}

TEST_CASE("without shared memory buffers take turns and nothing is lent") {
  Allocations allocations(nullptr);
  auto* first = allocations.allocate("x", 0, 64, 2);
  std::memset(first, 1, 64);
  CHECK_FALSE(allocations.find(first));
  auto* second = allocations.swap("x", 0).now;
  CHECK(second != first);
  CHECK(allocations.swap("x", 0).now == first);
  CHECK(*static_cast<std::byte*>(first) == std::byte{1});
  allocations.free("x", 0);
  CHECK(allocations.empty());
}

TEST_CASE("calls that make no sense are refused") {
  Allocations allocations(nullptr);
  CHECK_THROWS_AS(allocations.allocate("x", 0, 8, 1), Error);
  CHECK_THROWS_AS(allocations.allocate("x", 0, 8, 1000), Error);
  CHECK_THROWS_AS(allocations.swap("x", 0), Error);
  allocations.allocate("x", 0, 8, 2);
  CHECK_THROWS_AS(allocations.allocate("x", 0, 8, 2), Error);
  CHECK_NOTHROW(allocations.allocate("x", 1, 8, 2));
}

TEST_CASE("memory that somebody keeps outlives its block and the session") {
  std::shared_ptr<const void> kept;
  std::byte* data = nullptr;
  for (const bool shared : {true, false}) {
    {
      auto segment = a_segment();
      Allocations allocations(shared ? &segment : nullptr);
      data = static_cast<std::byte*>(allocations.allocate("x", 0, 100000, 2));
      std::memset(data, 3, 100000);
      kept = allocations.keep(data + 99999);
      CHECK_THROWS_AS((void)allocations.keep(&segment), Error);
      allocations.free("x", 0);
      CHECK_THROWS_AS((void)allocations.keep(data), Error);
      CHECK(std::count(data, data + 100000, std::byte{3}) == 100000);
    }
    CHECK(std::count(data, data + 100000, std::byte{3}) == 100000);
  }
}

TEST_CASE("memory goes back to the machine when neither a block nor anybody else has it") {
  auto segment = a_segment();
  Allocations allocations(&segment);
  const auto blocks = [&] {
    struct stat status {};
    REQUIRE(fstat(segment.descriptor(), &status) == 0);
    return status.st_blocks;
  };
  const auto before = blocks();
  for (int n = 0; n < 3; ++n) {
    void* data = allocations.allocate("x", 0, 1 << 20, 2);
    std::memset(data, 1, 1 << 20);
    std::shared_ptr<const void> kept = n > 0 ? allocations.keep(data) : nullptr;
    allocations.free("x", 0);
    CHECK(blocks() - before >= (n > 0 ? (1 << 20) / 512 : 0));
    kept.reset();
    CHECK(blocks() == before);
  }
}

namespace {

/// How often this process maps node memory.
int mappings() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find("/dev/shm/#") != std::string::npos ? 1 : 0;
  return count;
}

/// Bytes that this process has in memory, of all kinds.
int64_t resident() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, pages = 0;
  file >> all >> pages;
  return pages * static_cast<int64_t>(node::whole_pages(1));
}

}  // namespace

TEST_CASE("ten thousand regrids leave mappings, memory and the file as they were") {
  auto segment = a_segment();
  auto reader = node::Segment::open(segment.address(), node::Segment::Role::Sidecar);
  Allocations allocations(&segment);
  struct Block {
    std::byte* data;
    size_t size;
    std::byte mark;
  };
  std::map<int32_t, Block> blocks;
  std::mt19937 random(8);
  const auto state = [&] {
    struct stat status {};
    REQUIRE(fstat(segment.descriptor(), &status) == 0);
    return std::tuple(mappings(), static_cast<int64_t>(status.st_size), resident());
  };
  auto early = state();
  for (int64_t regrid = 0; regrid < 10000; ++regrid) {
    // What is there is whole, and sidecars see it where it is said to be.
    for (const auto& [number, block] : blocks) {
      REQUIRE(block.data[0] == block.mark);
      REQUIRE(block.data[block.size - 1] == block.mark);
      const auto lent = allocations.find(block.data);
      if (!lent) continue;
      const auto* seen = reader.look(lent->region, lent->region_size) + lent->offset;
      REQUIRE(seen[block.size - 1] == block.mark);
    }
    allocations.lend(regrid);
    while (blocks.size() > 4) {
      const auto at = std::next(blocks.begin(), static_cast<int>(random() % blocks.size()));
      allocations.free("x", at->first);
      blocks.erase(at);
    }
    allocations.reclaim(regrid - 1);
    while (blocks.size() < 10) {
      const auto number = static_cast<int32_t>(random() % 1000);
      if (blocks.contains(number)) continue;
      const size_t size = 1 + random() % (random() % 16 == 0 ? 300000 : 9000);
      auto* data = static_cast<std::byte*>(allocations.allocate("x", number, size, 2));
      REQUIRE(std::all_of(data, data + size, [](std::byte b) { return b == std::byte{0}; }));
      const auto mark = static_cast<std::byte>(1 + random() % 255);
      std::memset(data, static_cast<int>(mark), size);
      blocks[number] = {data, size, mark};
    }
    if (regrid == 1000) early = state();
  }
  const auto [maps_before, file_before, memory_before] = early;
  const auto [maps, file, memory] = state();
  CHECK(maps <= maps_before + 4);
  CHECK(file <= 2 * file_before);
#if !defined(__SANITIZE_ADDRESS__)  // which keeps what was freed: its quarantine grows to 256 MiB
  CHECK(memory <= memory_before + (int64_t{8} << 20));
#else
  (void)memory, (void)memory_before;
#endif
}

TEST_CASE("ten thousand blocks are a few mappings on either side") {
  auto segment = a_segment();
  auto reader = node::Segment::open(segment.address(), node::Segment::Role::Sidecar);
  Allocations allocations(&segment);
  const int before = mappings();
  std::vector<void*> data;
  for (int32_t b = 0; b < 10000; ++b) data.push_back(allocations.allocate("x", b, 4096, 2));
  for (int32_t b = 9999; b >= 0; --b) {
    auto& at = data[static_cast<size_t>(b)];
    std::memcpy(at, &b, sizeof b);
    const auto lent = allocations.find(at);
    REQUIRE(lent);
    int32_t seen = 0;
    std::memcpy(&seen, reader.look(lent->region, lent->region_size) + lent->offset, sizeof seen);
    REQUIRE(seen == b);
    allocations.forget();
  }
  CHECK(mappings() <= before + 40);
}

namespace {

constexpr size_t budget = size_t{1} << 20;

/// A rank with a budget for messages and what is beside them, and a program's memory.
struct Rank {
  node::Segment segment = node::Segment::make({"budget", 1, 0, 1, 1}, {{0, budget}}, {});
  std::unique_ptr<transport::NodeSender> sender;
  std::unique_ptr<Allocations> allocations;
  int64_t messages = 0;
  int copied = 0, lent = 0, refused = 0;

  Rank() {
    segment.take_channel(0);
    sender = std::make_unique<transport::NodeSender>(segment, 0, true, nullptr);
    segment.open_channel(0);
    allocations = std::make_unique<Allocations>(&segment, sender.get());
  }
  [[nodiscard]] size_t memory() const {
    struct stat status {};
    REQUIRE(fstat(segment.descriptor(), &status) == 0);
    return static_cast<size_t>(status.st_blocks) * 512;
  }
  /// Publishes `bytes` at `data`, in place if that may be. False if there is no room.
  bool publish(const void* data, size_t bytes) {
    sender->poll();
    allocations->reclaim(sender->released());
    constexpr size_t head = 200;
    const auto found = allocations->find(data);
    const size_t size = head + (found ? 0 : bytes);
    sender->set_need(size);
    std::byte* to = sender->reserve(size);
    if (to == nullptr) {
      allocations->forget();
      ++refused;
      return false;
    }
    std::memset(to, 1, head);
    allocations->lend(messages++);
    sender->commit(messages);
    ++(found ? lent : copied);
    return true;
  }
};

/// The rank's sidecar.
struct Reader {
  transport::NodeReceiver receiver;
  explicit Reader(Rank& rank)
      : receiver({{std::make_shared<node::Segment>(
                       node::Segment::open(rank.segment.address(), node::Segment::Role::Sidecar)),
                   0}},
                 node::primary, [] { return true; }) {
    REQUIRE(receiver.claim());
  }
  void finish(int64_t messages) {
    for (int64_t n = 1; n <= messages; ++n) {
      REQUIRE(receiver.next());
      receiver.begin();
      receiver.finish(n, {}, "");
    }
  }
};

}  // namespace

TEST_CASE("what a program gives back while sidecars read it is part of the budget") {
  Rank rank;
  constexpr size_t block = 100 << 10, held = 2 * block;  // two buffers
  const size_t empty = rank.memory();
  int64_t published = 0;
  for (int regrid = 0; regrid < 200; ++regrid) {
    void* data = rank.allocations->allocate("x", 0, block, 2);
    published += rank.publish(data, block) ? 1 : 0;
    CHECK(rank.memory() <= empty + held + 4096);
    rank.allocations->free("x", 0);
    CHECK(rank.memory() <= empty + 4096);
    CHECK(rank.allocations->kept().retired + rank.sender->in_flight() <= 2 * budget);
    CHECK(rank.sender->in_flight() <= budget);
  }
  CHECK(rank.lent >= 8);
  CHECK(rank.refused > 100);
  CHECK(rank.sender->peak() > budget * 3 / 4);
  CHECK(rank.sender->peak() <= budget);
  // A sidecar that comes late gets them all, and then memory is as it was.
  Reader reader(rank);
  reader.finish(published);
  rank.sender->poll();
  rank.allocations->reclaim(rank.sender->released());
  CHECK(rank.allocations->empty());
  CHECK(rank.allocations->kept() == transport::KeptMemory{});
  CHECK(rank.memory() <= empty);
  CHECK(rank.sender->reserve(budget) != nullptr);
}

TEST_CASE("a field larger than the budget is read in place, unless the one before is still read") {
  Rank rank;
  constexpr size_t large = 3 * budget;
  auto* data = rank.allocations->allocate("x", 0, large, 2);
  CHECK(rank.publish(data, large));
  for (int n = 0; n < 3; ++n) rank.publish(data, large);
  CHECK(rank.lent == 4);
  rank.allocations->free("x", 0);
  data = rank.allocations->allocate("x", 0, large, 2);
  CHECK_FALSE(rank.publish(data, large));
  CHECK(rank.refused == 1);
  Reader reader(rank);
  reader.finish(4);
  CHECK(rank.publish(data, large));
  CHECK(rank.lent == 5);
}

TEST_CASE("a program gets private memory where node memory is full, and that is not lent") {
  Rank rank;
  is_memory_full = true;
  auto* data = static_cast<std::byte*>(rank.allocations->allocate("x", 0, 100000, 2));
  std::memset(data, 1, 100000);
  CHECK(rank.publish(data, 100000));
  auto* next = static_cast<std::byte*>(rank.allocations->swap("x", 0).now);
  CHECK(next != data);
  CHECK(rank.copied == 1);
  CHECK_THROWS_AS(rank.allocations->allocate_constant("c", 0, 100000), Error);
  is_memory_full = false;
  CHECK(rank.allocations->kept() == transport::KeptMemory{});
  rank.allocations->free("x", 0);
  CHECK(rank.allocations->empty());
}

TEST_CASE("memory that could not be had leaves the free parts of a slab joined") {
  Rank rank;
  (void)rank.allocations->allocate("x", 0, 256 << 10, 2);
  CHECK(rank.allocations->mappings() == 1);
  is_memory_full = true;
  (void)rank.allocations->allocate("x", 1, 128 << 10, 2);
  is_memory_full = false;
  (void)rank.allocations->allocate("x", 2, 256 << 10, 2);
  CHECK(rank.allocations->mappings() == 1);
}

TEST_CASE("copies that stay take their part of the budget, and leave room for a message") {
  Rank rank;
  constexpr size_t copy = 256 << 10;
  rank.sender->set_need(300 << 10);
  std::set<void*> all;
  auto* first = rank.allocations->renew_copy("points", 0, copy);
  CHECK(rank.publish(first, copy));
  CHECK(rank.lent == 1);
  CHECK(rank.allocations->kept() == transport::KeptMemory{copy, 0, 0});
  CHECK(rank.sender->budget() == budget - copy);
  // While sidecars read it, others are made as long as there is room.
  rank.sender->set_need(300 << 10);
  auto* second = rank.allocations->renew_copy("points", 0, copy);
  CHECK(second != first);
  CHECK(rank.publish(second, copy));
  rank.sender->set_need(300 << 10);
  auto* third = rank.allocations->renew_copy("points", 0, copy);
  CHECK(rank.allocations->kept() == transport::KeptMemory{2 * copy, copy, 0});
  CHECK(rank.sender->budget() >= 300 << 10);
  CHECK_FALSE(rank.allocations->find(third));
  // Only stages of this rank see a private one, which is used again. Messages have it in them.
  rank.sender->set_need((300 << 10) + copy);
  CHECK(rank.allocations->renew_copy("points", 0, copy) == third);
  Reader reader(rank);
  reader.finish(2);
  rank.sender->poll();
  rank.allocations->reclaim(rank.sender->released());
  CHECK(rank.allocations->kept() == transport::KeptMemory{0, copy, 0});
  auto* fourth = rank.allocations->renew_copy("points", 0, copy);
  CHECK(rank.allocations->kept() == transport::KeptMemory{copy, 0, 0});
  CHECK(rank.publish(fourth, copy));
  CHECK(rank.lent == 3);
  rank.allocations->free("points", 0);
  CHECK(rank.allocations->kept() == transport::KeptMemory{0, 0, copy});
}

TEST_CASE("a constant field is copied once if it has room in the place of that in each message") {
  Rank rank;
  constexpr size_t copy = 400 << 10;
  rank.sender->set_need(2 * copy + (100 << 10));
  CHECK_NOTHROW(rank.allocations->allocate_constant("c", 0, copy));
  CHECK_NOTHROW(rank.allocations->allocate_constant("c", 1, copy));
  CHECK_THROWS_AS(rank.allocations->allocate_constant("c", 2, copy), Error);
  CHECK(rank.allocations->kept() == transport::KeptMemory{2 * copy, 0, 0});
}
