// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/allocations.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "base/error.hpp"
#include "node/segment.hpp"

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
  auto reader =
      node::Segment::open(node::this_process(), segment.descriptor(), node::Segment::Role::Sidecar);
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
  auto reader =
      node::Segment::open(node::this_process(), segment.descriptor(), node::Segment::Role::Sidecar);
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
  auto reader =
      node::Segment::open(node::this_process(), segment.descriptor(), node::Segment::Role::Sidecar);
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
  auto reader =
      node::Segment::open(node::this_process(), segment.descriptor(), node::Segment::Role::Sidecar);
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
