// SPDX-License-Identifier: BSD-3-Clause
#include "transport/spill.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <random>

#include "../limits.hpp"
#include "../node/child.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"

using namespace pillion;
using namespace pillion::transport;

namespace {

const std::string folder = std::filesystem::temp_directory_path().string();

int64_t disk_space(const SpillFile& spill) {
  struct stat status {};
  fstat(spill.address().descriptor, &status);
  return status.st_blocks * 512;
}

struct Message {
  uint64_t offset;
  size_t size;
  unsigned char value;
};

bool is_whole(const SpillReader& reader, const Message& m) {
  const auto buffer = reader.read(m.offset, m.size);
  const auto* begin = reinterpret_cast<const unsigned char*>(buffer->data());
  return std::all_of(begin, begin + m.size, [&](unsigned char v) { return v == m.value; });
}

bool is_done(const SpillFile::Piece& piece) {
  return base::wait_until([&] { return piece.state != SpillFile::Piece::State::Queued; },
                          unit::hang_begins());
}

Message spill_one(SpillFile& spill, size_t size, int64_t index) {
  const auto value = static_cast<unsigned char>(index % 255 + 1);
  std::byte* to = spill.reserve(size);
  REQUIRE(to != nullptr);
  std::memset(to, value, size);
  const auto piece = spill.write(index);
  REQUIRE(is_done(*piece));
  REQUIRE(piece->state == SpillFile::Piece::State::Written);
  spill.release(*piece);
  return {piece->offset, size, value};
}

}  // namespace

TEST_CASE("what was spilled is read back until it is freed, within the limit") {
  constexpr size_t limit = 400000;
  std::mt19937 random(8);
  SpillFile spill(folder, limit, limit);
  const SpillReader reader(spill.address());
  std::deque<Message> waiting;
  size_t bytes = 0;
  int64_t index = 0, freed = 0;
  int refused = 0;
  for (int n = 0; n < 2000; ++n) {
    const size_t size = 1 + random() % 100000;
    CHECK(spill.fits(size) == (bytes + size <= limit));
    if (bytes + size <= limit) {
      waiting.push_back(spill_one(spill, size, index++));
      bytes += size;
    } else {
      CHECK(spill.reserve(size) == nullptr);
      ++refused;
      const auto some = static_cast<int64_t>(1 + random() % waiting.size());
      for (int64_t i = 0; i < some; ++i, ++freed, waiting.pop_front())
        bytes -= waiting.front().size;
      spill.free_before(freed);
    }
    CHECK(spill.waiting() == bytes);
    if (!waiting.empty()) REQUIRE(is_whole(reader, waiting[random() % waiting.size()]));
  }
  CHECK(refused > 100);
  CHECK_MESSAGE(disk_space(spill) < static_cast<int64_t>(3 * limit), "holes give their space back");
  spill.free_before(index);
  CHECK(spill.waiting() == 0);
}

TEST_CASE(
    "a disk that is full takes no more until something is freed, and what is on it stays "
    "readable") {
  node::Child short_of_disk([&] {
    SpillFile spill(folder, 1 << 20, 1 << 20);
    const SpillReader reader(spill.address());
    const auto first = spill_one(spill, 100000, 0);
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{150000, 150000};
    setrlimit(RLIMIT_FSIZE, &limit);
    std::memset(spill.reserve(100000), 7, 100000);
    const auto piece = spill.write(1);
    if (!is_done(*piece) || piece->state != SpillFile::Piece::State::Failed) return 1;
    spill.release(*piece);
    if (spill.memory() != 0) return 2;
    if (spill.reserve(1) != nullptr) return 3;
    if (!is_whole(reader, first)) return 4;
    spill.free_before(2);
    if (spill.waiting() != 0) return 5;
    return is_whole(reader, spill_one(spill, 40000, 2)) ? 0 : 6;
  });
  CHECK(short_of_disk.wait() == 0);
}

TEST_CASE("a folder that is not there, and a message that is not there, are errors") {
  CHECK_THROWS_AS(SpillFile("/no/such/folder", 1, 1), Error);
  const SpillFile spill(folder, 1 << 20, 1 << 20);
  const SpillReader reader(spill.address());
  CHECK_THROWS_AS(static_cast<void>(reader.read(0, 100)), Error);
}

TEST_CASE("by default nothing is spilled into a folder in memory") {
  const std::string output = "out";
  CHECK(node::spill_folder("/dev/shm", nullptr, output) == "/dev/shm");
  if (!node::is_in_memory("/dev/shm")) return;
  CHECK(node::spill_folder("", "/dev/shm", output) == output);
  const std::string here = std::filesystem::current_path().string();
  if (!node::is_in_memory(here)) CHECK(node::spill_folder("", here.c_str(), output) == here);
}
