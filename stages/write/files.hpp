// SPDX-License-Identifier: BSD-3-Clause
// Binary files that several peers write parts of at once: each opens those that it has something
// for, and puts bytes where they belong. Nobody cuts a file short.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <pillion/error.hpp>
#include <span>
#include <string>
#include <utility>

namespace pillion::stages {

class OpenFiles {
 public:
  /// Files that are not there are made, unless they are others' to make.
  explicit OpenFiles(bool makes = true) : flags_(makes ? O_CREAT : 0) {}
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;
  ~OpenFiles() {
    for (const auto& [path, file] : files_) ::close(file);
  }

  /// Puts bytes at an offset of a file, which is made if it is not there, as are folders.
  void write(const std::filesystem::path& path, std::span<const std::byte> bytes, int64_t offset) {
    const int file = open(path);
    while (!bytes.empty()) {
      const auto done = ::pwrite(file, bytes.data(), bytes.size(), offset);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail("write", path);
      bytes = bytes.subspan(static_cast<size_t>(done));
      offset += done;
      written_ += done;
    }
  }
  /// Makes a file at least so long; what is not written reads as 0.
  void extend(const std::filesystem::path& path, int64_t size) {
    const int file = open(path);
    struct stat status {};
    if (::fstat(file, &status) != 0 || (status.st_size < size && ::ftruncate(file, size) != 0))
      fail("extend", path);
  }
  /// Waits until all of it is on disk.
  void sync() {
    for (const auto& [path, file] : files_)
      if (::fdatasync(file) != 0) fail("write to disk", path);
  }
  [[nodiscard]] size_t count() const { return files_.size(); }
  [[nodiscard]] int64_t bytes() const { return written_; }

 private:
  [[noreturn]] static void fail(const char* what, const std::filesystem::path& path) {
    throw Error(ErrorCode::File,
                std::string("cannot ") + what + " " + path.string() + ": " + std::strerror(errno));
  }
  int open(const std::filesystem::path& path) {
    const auto at = files_.find(path);
    if (at != files_.end()) return at->second;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    const int file = ::open(path.c_str(), flags_ | O_WRONLY | O_CLOEXEC, 0666);
    if (file < 0) fail("open", path);
    files_.emplace(path, file);
    return file;
  }

  int flags_;
  std::map<std::filesystem::path, int> files_;
  int64_t written_ = 0;
};

}  // namespace pillion::stages
