// SPDX-License-Identifier: BSD-3-Clause
// Files without a name, and how much memory there is for them.
#include "node/shared_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace pillion::node {

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, size_);
}

void Mapping::give_back(size_t offset, size_t size) const noexcept {
  if (data_ != nullptr) (void)!madvise(data_ + offset, size, MADV_REMOVE);
}

// Touching pages one by one later would cost far more than having them mapped at once.
void Mapping::populate(size_t offset, size_t size) const noexcept {
  (void)!madvise(data_ + offset, size, MADV_POPULATE_WRITE);
}

SharedFile::SharedFile(SharedFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

SharedFile& SharedFile::operator=(SharedFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

SharedFile::~SharedFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

SharedFile SharedFile::make(const std::string& folder, size_t size) {
  SharedFile file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.descriptor_ < 0)
    base::fail(ErrorCode::File, "no file for shared memory can be made in {}: {}", folder,
               std::strerror(errno));
  if (ftruncate(file.descriptor_, static_cast<off_t>(size)) != 0)
    base::fail(ErrorCode::File, "a file of {} cannot be made in {}: {}",
               base::format_bytes(static_cast<int64_t>(size)), folder, std::strerror(errno));
  return file;
}

SharedFile SharedFile::open(int number, int descriptor, Access access) {
  const std::string link = "/proc/" + std::to_string(number) + "/fd/" + std::to_string(descriptor);
  SharedFile file(::open(link.c_str(), (access == Access::Write ? O_RDWR : O_RDONLY) | O_CLOEXEC));
  if (file.descriptor_ < 0)
    base::fail(ErrorCode::File, "the shared memory of process {} cannot be opened: {}", number,
               std::strerror(errno));
  return file;
}

void SharedFile::reserve(size_t offset, size_t size) const {
  int result = 0;
  do result = fallocate(descriptor_, 0, static_cast<off_t>(offset), static_cast<off_t>(size));
  while (result != 0 && errno == EINTR);
  if (result == 0) return;
  const std::string reason = std::strerror(errno);  // find_room() overwrites errno
  base::fail(ErrorCode::File, "{} of shared memory cannot be had: {}; {} are left in {}",
             base::format_bytes(static_cast<int64_t>(size)), reason,
             base::format_bytes(find_room().shared_memory), memory_folder);
}

namespace {

/// Keeps other processes from extending the file. Ends with the process, whatever ends that.
class Extending {
 public:
  explicit Extending(int descriptor) : descriptor_(descriptor) { set(F_WRLCK); }
  Extending(const Extending&) = delete;
  Extending& operator=(const Extending&) = delete;
  ~Extending() { set(F_UNLCK); }

 private:
  void set(short type) const {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    while (fcntl(descriptor_, F_OFD_SETLKW, &lock) != 0 && errno == EINTR) {}
  }
  int descriptor_;
};

}  // namespace

uint64_t SharedFile::extend(size_t size) const {
  const Extending alone(descriptor_);
  const off_t end = lseek(descriptor_, 0, SEEK_END);
  if (end < 0)
    base::fail(ErrorCode::File, "the size of the shared memory is not known: {}",
               std::strerror(errno));
  if (ftruncate(descriptor_, end + static_cast<off_t>(size)) != 0)
    base::fail(ErrorCode::File, "the shared memory cannot become {} larger: {}",
               base::format_bytes(static_cast<int64_t>(size)), std::strerror(errno));
  return static_cast<uint64_t>(end);
}

void SharedFile::release(size_t offset, size_t size) const noexcept {
  (void)!fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                   static_cast<off_t>(offset), static_cast<off_t>(size));
}

bool SharedFile::read(size_t offset, void* to, size_t size) const {
  ssize_t got = 0;
  do got = pread(descriptor_, to, size, static_cast<off_t>(offset));
  while (got < 0 && errno == EINTR);
  return got >= 0 && static_cast<size_t>(got) == size;
}

Mapping SharedFile::map(size_t offset, size_t size, Access access, bool sparse) const {
  const int protection = access == Access::Write ? PROT_READ | PROT_WRITE : PROT_READ;
  void* data = mmap(nullptr, size, protection, MAP_SHARED, descriptor_, static_cast<off_t>(offset));
  if (data == MAP_FAILED)
    base::fail(ErrorCode::File, "{} of shared memory cannot be mapped: {}",
               base::format_bytes(static_cast<int64_t>(size)), std::strerror(errno));
  madvise(data, size, MADV_HUGEPAGE);
  Mapping mapping(static_cast<std::byte*>(data), size);
  if (access == Access::Write && !sparse) mapping.populate(0, size);
  return mapping;
}

size_t whole_pages(size_t size) {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (size + page - 1) / page * page;
}

namespace {

constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

int64_t available_on_node() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  for (int64_t kilobytes = 0; file >> key >> kilobytes; file.ignore(256, '\n'))
    if (key == "MemAvailable:") return kilobytes * 1024;
  return unlimited;
}

/// A number in a file of the control group, or unlimited.
int64_t limit_in(const std::string& path) {
  std::ifstream file(path);
  int64_t value = 0;
  return file >> value ? value : unlimited;
}

/// What the job's control group leaves (version 2 of them; older ones are not looked at).
int64_t available_in_job() {
  std::ifstream file("/proc/self/cgroup");
  int64_t least = unlimited;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("0::")) continue;
    for (std::string group = line.substr(3);; group.resize(group.rfind('/'))) {
      const std::string folder = "/sys/fs/cgroup" + group;
      const int64_t limit = limit_in(folder + "/memory.max");
      const int64_t used = limit_in(folder + "/memory.current");
      if (limit != unlimited && used != unlimited) least = std::min(least, limit - used);
      if (group.rfind('/') == std::string::npos) break;
    }
  }
  return least;
}

}  // namespace

Room find_room() {
  struct statvfs status {};
  Room room{unlimited, std::min(available_on_node(), available_in_job())};
  if (statvfs(memory_folder, &status) == 0)
    room.shared_memory =
        static_cast<int64_t>(status.f_bavail) * static_cast<int64_t>(status.f_frsize);
  return room;
}

void check_shared_room(size_t bytes) {
  struct statvfs status {};
  if (statvfs(memory_folder, &status) != 0) return;
  const auto left = static_cast<size_t>(status.f_bavail) * status.f_frsize;
  const auto kept = static_cast<size_t>(status.f_blocks) * status.f_frsize / 16;
  if (bytes + kept > left)
    base::fail(ErrorCode::File,
               "{} of shared memory cannot be had: {} has {} left, which others need",
               base::format_bytes(static_cast<int64_t>(bytes)), memory_folder,
               base::format_bytes(static_cast<int64_t>(left)));
}

void check_room(const Room& room, int64_t wanted, const std::string& purpose) {
  if (wanted > room.shared_memory)
    base::fail(ErrorCode::Configuration,
               "{} of shared memory are needed for {}, but {} has only {} left; ask for less under "
               "'sidecars: {{memory: ...}}', or have {} made larger",
               base::format_bytes(wanted), purpose, memory_folder,
               base::format_bytes(room.shared_memory), memory_folder);
  if (wanted > room.memory)
    base::fail(ErrorCode::Configuration,
               "{} of memory are needed for {}, but this node or job has only {} left; ask for "
               "less under 'sidecars: {{memory: ...}}'",
               base::format_bytes(wanted), purpose, base::format_bytes(room.memory));
}

bool is_in_memory(const std::string& folder) {
  constexpr auto tmpfs = 0x01021994, ramfs = static_cast<int>(0x858458f6);
  struct statfs status {};
  if (statfs(folder.c_str(), &status) != 0) return false;
  const auto type = static_cast<int>(status.f_type);
  return type == tmpfs || type == ramfs;
}

}  // namespace pillion::node
