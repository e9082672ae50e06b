// SPDX-License-Identifier: BSD-3-Clause
// Files without a name.
#include "node/shared_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "node/room.hpp"

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
    : descriptor_(std::exchange(other.descriptor_, -1)), nonce_(other.nonce_) {}

SharedFile& SharedFile::operator=(SharedFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(nonce_, other.nonce_);
  return *this;
}

SharedFile::~SharedFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

namespace {

/// A number that no other file has.
uint64_t new_nonce() {
  uint64_t nonce = 0;
  while (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce && errno == EINTR) {}
  // Without a source of random numbers, the time and the process are still different.
  if (nonce == 0) nonce = static_cast<uint64_t>(base::calendar_seconds() * 1e9) ^ this_process();
  return nonce;
}

/// Some file systems know no files without a name, NFS and Lustre among them: there one is made
/// with a name, which goes at once.
int open_without_name(const std::string& folder, uint64_t nonce) {
  const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  // The error depends on the file system and on the kernel.
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
  const std::string path = folder + "/#pillion-" + fmt::format("{:016x}", nonce);
  const int named = ::open(path.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600);
  if (named >= 0) unlink(path.c_str());
  return named;
}

}  // namespace

SharedFile SharedFile::make(const std::string& folder, size_t size) {
  const uint64_t nonce = new_nonce();
  SharedFile file(open_without_name(folder, nonce));
  if (file.descriptor_ < 0)
    base::fail(ErrorCode::File, "no file for shared memory can be made in {} of node {}: {}",
               folder, base::host_name(), std::strerror(errno));
  // Whatever mask the program has, others of its user must be able to open it.
  (void)fchmod(file.descriptor_, 0600);
  size = std::max(size, head);
  if (ftruncate(file.descriptor_, static_cast<off_t>(size)) != 0 ||
      write(file.descriptor_, &nonce, sizeof nonce) != sizeof nonce)
    base::fail(ErrorCode::File, "a file of {} cannot be made in {} of node {}: {}",
               base::format_bytes(static_cast<int64_t>(size)), folder, base::host_name(),
               std::strerror(errno));
  file.nonce_ = nonce;
  return file;
}

namespace {

int open_through(int number, int descriptor, SharedFile::Access access) {
  const std::string link = "/proc/" + std::to_string(number) + "/fd/" + std::to_string(descriptor);
  return ::open(link.c_str(),
                (access == SharedFile::Access::Write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
}

}  // namespace

SharedFile SharedFile::open(const FileAddress& address, Access access) {
  expect_same_namespace(address.process);
  const int number = number_of(address.process);
  SharedFile file(open_through(number, address.descriptor, access));
  if (file.descriptor_ < 0)
    base::fail(ErrorCode::File,
               "the shared memory of process {} on node {} cannot be opened: {}; {}", number,
               base::host_name(), std::strerror(errno), container_remedy);
  uint64_t found = 0;
  if (!file.read(0, &found, sizeof found) || found != address.nonce || found == 0)
    base::fail(
        ErrorCode::File,
        "the shared memory of process {} is not what it has as open file {} on node {}, so another "
        "process has its number; {}",
        number, address.descriptor, base::host_name(), container_remedy);
  return file;
}

SharedFile SharedFile::look_at(int number, int descriptor) {
  SharedFile file(open_through(number, descriptor, Access::Read));
  if (file.descriptor_ < 0)
    base::fail(ErrorCode::File, "an open file of process {} cannot be read: {}", number,
               std::strerror(errno));
  return file;
}

void SharedFile::reserve(size_t offset, size_t size) const {
  int result = 0;
  do result = fallocate(descriptor_, 0, static_cast<off_t>(offset), static_cast<off_t>(size));
  while (result != 0 && errno == EINTR);
  if (result == 0) return;
  const std::string reason = std::strerror(errno);  // find_room() overwrites errno
  base::fail(ErrorCode::File, "{} of shared memory cannot be had: {}; {} are left in {} of node {}",
             base::format_bytes(static_cast<int64_t>(size)), reason,
             base::format_bytes(find_room().shared_memory), memory_folder, base::host_name());
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

bool is_in_memory(const std::string& folder) {
  constexpr auto tmpfs = 0x01021994, ramfs = static_cast<int>(0x858458f6);
  struct statfs status {};
  if (statfs(folder.c_str(), &status) != 0) return false;
  const auto type = static_cast<int>(status.f_type);
  return type == tmpfs || type == ramfs;
}

std::string spill_folder(const std::string& chosen, const char* temporary,
                         const std::string& output) {
  if (!chosen.empty()) return chosen;
  const std::string folder = temporary != nullptr ? temporary : "/tmp";
  return is_in_memory(folder) ? output : folder;
}

}  // namespace pillion::node
