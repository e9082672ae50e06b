// SPDX-License-Identifier: BSD-3-Clause
#include "node/shared_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "child.hpp"
#include "node/room.hpp"

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
  const auto head = static_cast<int64_t>(whole_pages(SharedFile::head)) / 512;
  CHECK(status.st_blocks == head);
  file.reserve(size / 2, size / 4);
  CHECK((status_of(file).st_blocks - head) * 512 == size / 4);
  const auto memory = file.map(size / 2, size / 4, SharedFile::Access::Write);
  std::memset(memory.data(), 7, size / 4);
  file.release(size / 2, size / 4);
  CHECK(status_of(file).st_blocks == head);
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
  const auto address = file.address();
  std::memset(memory.data() + SharedFile::head, 1, size - SharedFile::head);
  Child other([&] {
    const auto opened = SharedFile::open(address);
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
  CHECK(has(message_of([] {
              SharedFile::open({this_process(), 1 << 20, 1});
            }),
            std::to_string(getpid())));
  const auto file = SharedFile::make(memory_folder, size);
  const auto said = message_of([&] { file.reserve(0, size_t{1} << 50); });
  CHECK(has(said, "1024.0 TiB"));
  CHECK(has(said, "are left in /dev/shm"));
  CHECK(status_of(file).st_blocks * 512 == whole_pages(SharedFile::head));
}

namespace {

/// From here on the system calls of this process answer that no file system knows files without a
/// name, as NFS and Lustre do. False if that is not permitted.
bool forbid_files_without_name(int error) {
  const auto number = static_cast<uint32_t>(offsetof(seccomp_data, nr));
  const auto flags = static_cast<uint32_t>(offsetof(seccomp_data, args) + 2 * sizeof(uint64_t));
  constexpr auto load = static_cast<uint16_t>(BPF_LD | BPF_W | BPF_ABS);
  constexpr auto equal = static_cast<uint16_t>(BPF_JMP | BPF_JEQ | BPF_K);
  constexpr auto set = static_cast<uint16_t>(BPF_JMP | BPF_JSET | BPF_K);
  constexpr auto end = static_cast<uint16_t>(BPF_RET | BPF_K);
  constexpr uint32_t without_name =
      static_cast<uint32_t>(O_TMPFILE) & ~static_cast<uint32_t>(O_DIRECTORY);
  std::array<sock_filter, 6> filter{
      {{load, 0, 0, number},
       {equal, 0, 2, SYS_openat},
       {load, 0, 0, flags},
       {set, 1, 0, without_name},
       {end, 0, 0, SECCOMP_RET_ALLOW},
       {end, 0, 0, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)}}};
  const sock_fprog program{static_cast<uint16_t>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

TEST_CASE("a file system without nameless files gets one whose name goes at once") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("pillion-nameless-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  for (const int error : {EOPNOTSUPP, EISDIR, EINVAL}) {
    CAPTURE(error);
    Child elsewhere([&] {
      if (!forbid_files_without_name(error)) return 77;
      if (::open(folder.c_str(), O_TMPFILE | O_RDWR, 0600) >= 0 || errno != error) return 1;
      const auto file = SharedFile::make(folder.string(), size);
      const auto status = status_of(file);
      if (status.st_nlink != 0 || status.st_size != size) return 2;
      if (!std::filesystem::is_empty(folder)) return 3;
      const auto again = SharedFile::open(file.address());
      uint64_t nonce = 0;
      return again.read(0, &nonce, sizeof nonce) && nonce == file.address().nonce ? 0 : 4;
    });
    const int status = elsewhere.wait();
    if (status == 77) MESSAGE("skipped: this machine permits no filter of system calls");
    else CHECK(status == 0);
  }
  std::filesystem::remove(folder);
}

TEST_CASE("whatever mask a program has, other processes of its user can open its memory") {
  Child masked([] {
    (void)umask(0777);
    const auto file = SharedFile::make(memory_folder, size);
    return (status_of(file).st_mode & 0777) == 0600 ? 0 : 1;
  });
  CHECK(masked.wait() == 0);
}

TEST_CASE("too little room is an error with the numbers, before anything is taken") {
  constexpr int64_t mib = 1 << 20;
  const Room room{3 * mib, 5 * mib};
  CHECK_NOTHROW(check_room(room, 3 * mib, "this"));
  const auto shared = message_of([&] { check_room(room, 4 * mib, "the run"); });
  for (const char* part : {"4.0 MiB", "3.0 MiB", "/dev/shm", "for the run", "memory:"})
    CHECK_MESSAGE(has(shared, part), shared);
  const auto memory = message_of([&] { check_room({9 * mib, 5 * mib}, 6 * mib, "the run"); });
  for (const char* part : {"6.0 MiB", "5.0 MiB", "but node ", "this job", "for the run", "memory:"})
    CHECK_MESSAGE(has(memory, part), memory);
  const Room now = find_room();
  CHECK(now.shared_memory > 0);
  CHECK(now.memory > 0);
  CHECK(whole_pages(0) == 0);
  CHECK(whole_pages(1) == static_cast<size_t>(sysconf(_SC_PAGESIZE)));
}
