// SPDX-License-Identifier: BSD-3-Clause
#include "node/shared_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "child.hpp"

using namespace pillion;
using namespace pillion::node;

namespace {

constexpr size_t size = 1 << 20;

struct stat status_of(const SharedFile& file) {
  struct stat status {};
  fstat(file.descriptor(), &status);
  return status;
}

std::string message_of(const auto& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a shared file has no name, belongs to its user alone, and takes memory when told to") {
  const auto file = SharedFile::make(memory_folder, size);
  const auto status = status_of(file);
  CHECK(status.st_nlink == 0);
  CHECK((status.st_mode & 0777) == 0600);
  CHECK(status.st_size == size);
  CHECK(status.st_blocks == 0);
  file.reserve(size / 2, size / 4);
  CHECK(status_of(file).st_blocks * 512 == size / 4);
  const auto memory = file.map(size / 2, size / 4, SharedFile::Access::Write);
  std::memset(memory.data(), 7, size / 4);
  file.release(size / 2, size / 4);
  CHECK(status_of(file).st_blocks == 0);
  CHECK(memory.data()[0] == std::byte{0});
}

TEST_CASE("memory that is not there is refused with the system's reason and what is left") {
  const auto file = SharedFile::make(memory_folder, size);
  constexpr size_t more_than_any = size_t{1} << 45;
  const auto why = message_of([&] { file.reserve(0, more_than_any); });
  CHECK_MESSAGE(has(why, "32.0 TiB of shared memory cannot be had: No space left"), why);
  CHECK_MESSAGE(has(why, std::string("are left in ") + memory_folder), why);
}

TEST_CASE("another process opens the same memory through its maker's") {
  const auto file = SharedFile::make(memory_folder, size);
  const auto memory = file.map(0, size, SharedFile::Access::Write);
  const int maker = getpid(), descriptor = file.descriptor();
  std::memset(memory.data(), 1, size);
  Child other([&] {
    const auto opened = SharedFile::open(maker, descriptor);
    const auto theirs = opened.map(0, size, SharedFile::Access::Write);
    const bool seen = theirs.data()[size - 1] == std::byte{1};
    theirs.data()[0] = std::byte{2};
    return seen ? 0 : 1;
  });
  CHECK(other.wait() == 0);
  CHECK(memory.data()[0] == std::byte{2});
}

TEST_CASE("memory mapped for reading kills who writes there, and nobody else") {
  const auto file = SharedFile::make(memory_folder, size);
  Child writer([&] {
    const auto memory = file.map(0, size, SharedFile::Access::Read);
    std::signal(SIGSEGV, SIG_DFL);
    *static_cast<volatile std::byte*>(memory.data()) = std::byte{1};
    return 0;
  });
  CHECK(writer.wait() == 128 + SIGSEGV);
}

TEST_CASE("mappings and files move") {
  auto file = SharedFile::make(memory_folder, size);
  auto memory = file.map(0, size, SharedFile::Access::Write);
  memory.data()[5] = std::byte{3};
  Mapping there = std::move(memory);
  Mapping again;
  again = std::move(there);
  CHECK(again.data()[5] == std::byte{3});
  CHECK(again.size() == size);
  CHECK(memory.data() == nullptr);
  const SharedFile moved = std::move(file);
  CHECK(file.descriptor() == -1);
  CHECK(status_of(moved).st_size == size);
}

TEST_CASE("what cannot be had is an error that says what and where") {
  CHECK(has(message_of([] { SharedFile::make("/nowhere", 1); }), "/nowhere"));
  CHECK(has(message_of([] { SharedFile::open(getpid(), 1 << 20); }), std::to_string(getpid())));
  const auto file = SharedFile::make(memory_folder, size);
  const auto said = message_of([&] { file.reserve(0, size_t{1} << 50); });
  CHECK(has(said, "1024.0 TiB"));
  CHECK(has(said, "are left in /dev/shm"));
  CHECK(status_of(file).st_blocks == 0);
}

TEST_CASE("too little room is an error with the numbers, before anything is taken") {
  constexpr int64_t mib = 1 << 20;
  const Room room{3 * mib, 5 * mib};
  CHECK_NOTHROW(check_room(room, 3 * mib, "this"));
  const auto shared = message_of([&] { check_room(room, 4 * mib, "the run"); });
  for (const char* part : {"4.0 MiB", "3.0 MiB", "/dev/shm", "for the run", "memory:"})
    CHECK_MESSAGE(has(shared, part), shared);
  const auto memory = message_of([&] { check_room({9 * mib, 5 * mib}, 6 * mib, "the run"); });
  for (const char* part : {"6.0 MiB", "5.0 MiB", "node or job", "for the run", "memory:"})
    CHECK_MESSAGE(has(memory, part), memory);
  const Room now = find_room();
  CHECK(now.shared_memory > 0);
  CHECK(now.memory > 0);
  CHECK(whole_pages(0) == 0);
  CHECK(whole_pages(1) == static_cast<size_t>(sysconf(_SC_PAGESIZE)));
}
