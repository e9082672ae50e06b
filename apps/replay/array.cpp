// SPDX-License-Identifier: BSD-3-Clause
// Positioned reads; a buffer is needed only where numbers change their type.
#include "replay/array.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <pillion/error.hpp>

namespace replay {
namespace {

using pillion::Error;
using pillion::ErrorCode;

class File {
 public:
  explicit File(const std::string& path) : path_(path), file_(open(path.c_str(), O_RDONLY)) {
    if (file_ < 0) fail(std::strerror(errno));
  }
  ~File() {
    if (file_ >= 0) close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void read(std::byte* to, size_t size, int64_t offset) const {
    while (size > 0) {
      const ssize_t n = pread(file_, to, size, offset);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail(std::strerror(errno));
      if (n == 0) fail("it has become shorter since it was looked at");
      to += n;
      size -= static_cast<size_t>(n);
      offset += n;
    }
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ErrorCode::File, fmt::format("'{}' cannot be read: {}", path_, why));
  }
  std::string path_;
  int file_;
};

bool is_as_declared(const Stored& stored, pillion_type type) {
  return !stored.swapped && std::string(name_of(*stored.number)) == name_of(type);
}

void read_converted(const File& file, const Stored& stored, const Run& run, int64_t offset,
                    pillion_type type, std::byte* to) {
  constexpr int64_t most = 65536;
  const auto size = static_cast<int64_t>(size_of(*stored.number));
  std::vector<std::byte> buffer(static_cast<size_t>(std::min(most, run.count) * size));
  for (int64_t done = 0; done < run.count; done += most) {
    const int64_t count = std::min(most, run.count - done);
    file.read(buffer.data(), static_cast<size_t>(count * size), offset + done * size);
    convert(*stored.number, stored.swapped, buffer.data(), count, type,
            to + done * static_cast<int64_t>(size_of(type)));
  }
}

}  // namespace

void read_array(const Stored& stored, const std::vector<int64_t>& extents, const Part& part,
                pillion_type type, std::byte* to) {
  const File file(stored.path);
  const auto size = static_cast<int64_t>(size_of(*stored.number));
  const bool plain = is_as_declared(stored, type);
  for (const Run& run : runs_of(extents, part)) {
    const int64_t offset = stored.offset + run.begin * size;
    if (plain) file.read(to, static_cast<size_t>(run.count * size), offset);
    else read_converted(file, stored, run, offset, type, to);
    to += run.count * static_cast<int64_t>(size_of(type));
  }
}

}  // namespace replay
