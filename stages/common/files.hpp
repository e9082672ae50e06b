// SPDX-License-Identifier: BSD-3-Clause
// Files that stages write themselves: parts of binary files that several peers fill at once, and
// files that are written aside and get their name when they are whole.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <pillion/error.hpp>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace pillion::stages {

class OpenFiles {
 public:
  /// Files that are not there are made, unless they are others' to make. If the disk will be waited
  /// for, it begins early.
  explicit OpenFiles(bool makes = true, bool begins_early = false)
      : flags_(makes ? O_CREAT : 0), begins_early_(begins_early) {}
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;
  ~OpenFiles() {
    for (const auto& [path, open] : files_) ::close(open.file);
  }

  /// Puts bytes at an offset of a file, which is made if it is not there, as are folders.
  void write(const std::filesystem::path& path, std::span<const std::byte> bytes, int64_t offset) {
    Open& to = open(path);
    const int64_t first = offset;
    while (!bytes.empty()) {
      const auto done = ::pwrite(to.file, bytes.data(), bytes.size(), offset);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail("write", path);
      bytes = bytes.subspan(static_cast<size_t>(done));
      offset += done;
      written_ += done;
    }
    if (begins_early_) begin(to, first, offset);
  }
  /// Makes a file at least so long; what is not written reads as 0.
  void extend(const std::filesystem::path& path, int64_t size) {
    const int file = open(path).file;
    struct stat status {};
    if (::fstat(file, &status) != 0 || (status.st_size < size && ::ftruncate(file, size) != 0))
      fail("extend", path);
  }
  /// Waits until all of it is on disk.
  void sync() {
    for (const auto& [path, open] : files_)
      if (::fdatasync(open.file) != 0) fail("write to disk", path);
  }
  /// How many have been opened.
  [[nodiscard]] int64_t count() const { return opened_; }
  [[nodiscard]] int64_t bytes() const { return written_; }

 private:
  [[noreturn]] static void fail(const char* what, const std::filesystem::path& path) {
    throw Error(ErrorCode::File,
                std::string("cannot ") + what + " " + path.string() + ": " + std::strerror(errno));
  }
  struct Open;
  Open& open(const std::filesystem::path& path) {
    const auto at = files_.find(path);
    if (at != files_.end()) return at->second;
    if (files_.size() == most_open) close_all();
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    const int file = ::open(path.c_str(), flags_ | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0) fail("open", path);
    ++opened_;
    return files_.emplace(path, Open{file}).first->second;
  }

  /// An open file, with bytes whose write-back has not been requested yet.
  struct Open {
    int file;
    int64_t lo = 0, hi = 0, size = 0;
  };
  /// Makes the kernel write bytes to disk while this rank continues.
  static void begin(Open& open, int64_t lo, int64_t hi) {
    constexpr int64_t enough = int64_t{1} << 20;
    open.lo = open.size == 0 ? lo : std::min(open.lo, lo);
    open.hi = std::max(open.hi, hi);
    open.size += hi - lo;
    if (open.size < enough) return;
#ifdef SYNC_FILE_RANGE_WRITE
    (void)::sync_file_range(open.file, open.lo, open.hi - open.lo, SYNC_FILE_RANGE_WRITE);
#endif
    open = {open.file};
  }

  /// A process may have a thousand files open, and the simulation has its own.
  static constexpr size_t most_open = 128;
  void close_all() {
    if (begins_early_) sync();
    for (const auto& [path, open] : files_) ::close(open.file);
    files_.clear();
  }

  int flags_;
  bool begins_early_;
  int64_t opened_ = 0;
  std::map<std::filesystem::path, Open> files_;
  int64_t written_ = 0;
};

/// A file that is written aside and gets its name when it is whole. Until then it ends with the one
/// who makes it; what a killed run leaves has a name that no reader looks for.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::filesystem::path path) : path_(std::move(path)) {
    std::error_code error;
    std::filesystem::create_directories(path_.parent_path(), error);
    std::filesystem::remove(aside(path_), error);
  }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile() {
    std::error_code error;
    try {
      if (!is_finished_) std::filesystem::remove(aside(path_), error);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): no memory for its name
    }
  }

  /// Where a file is until it has its name.
  static std::filesystem::path aside(const std::filesystem::path& path) {
    return path.parent_path() / ("." + path.filename().string() + ".part");
  }
  [[nodiscard]] std::filesystem::path aside() const { return aside(path_); }

  void finish(bool durable) {
    if (durable) sync(aside());
    if (std::rename(aside().c_str(), path_.c_str()) != 0) fail("give its name to");
    is_finished_ = true;
    if (durable) sync(path_.parent_path());
  }

 private:
  void sync(const std::filesystem::path& path) const {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool good = file >= 0 && ::fsync(file) == 0;
    const int error = errno;
    if (file >= 0) ::close(file);
    errno = error;
    if (!good) fail("write to disk");
  }
  [[noreturn]] void fail(const char* what) const {
    throw Error(ErrorCode::File,
                std::string("cannot ") + what + " " + path_.string() + ": " + std::strerror(errno));
  }

  std::filesystem::path path_;
  bool is_finished_ = false;
};

/// Gives a folder that was written aside its name. An older one of that name is there until the new
/// one is, where the file system can exchange names, and for a moment neither where it cannot.
inline bool replace_folder(const std::filesystem::path& aside, const std::filesystem::path& path) {
  constexpr unsigned exchange = 2;  // RENAME_EXCHANGE
  std::error_code error;
  if (::renameat2(AT_FDCWD, aside.c_str(), AT_FDCWD, path.c_str(), exchange) == 0) {
    std::filesystem::remove_all(aside, error);
    return true;
  }
  std::filesystem::remove_all(path, error);
  return std::rename(aside.c_str(), path.c_str()) == 0;
}

/// Writes a file that is there whole or not at all, and waits for the disk if it must be `durable`.
/// Whether a file that lists all steps is due at this number of them. It grows with the run, and
/// viewers take it whole only, so it is written ever more seldom: a sixteenth of all steps may be
/// missing until the end. What that takes in all is in proportion to the steps.
inline bool is_list_due(size_t steps) { return steps % std::max<size_t>(1, steps / 16) == 0; }

inline void write_whole(const std::filesystem::path& path, std::span<const std::byte> bytes,
                        bool durable) {
  UnfinishedFile file(path);
  OpenFiles(true).write(file.aside(), bytes, 0);
  file.finish(durable);
}

}  // namespace pillion::stages
