// SPDX-License-Identifier: BSD-3-Clause
// A file that is written aside and gets its name when it is whole. Until then it is gone with the
// one who makes it; what a killed run leaves has a name that nobody looks for.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <pillion/error.hpp>
#include <string>
#include <system_error>
#include <utility>

namespace pillion::stages {

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
    if (!is_finished_) std::filesystem::remove(aside(path_), error);
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

}  // namespace pillion::stages
