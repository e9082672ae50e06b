// SPDX-License-Identifier: BSD-3-Clause
// Writing aside and renaming, on POSIX.
#include "products/whole_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/folder.hpp"
#include "base/value.hpp"

namespace pillion::products {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail_file(const char* what, const fs::path& path, int error) {
  base::fail(ErrorCode::File, "cannot {} '{}': {}", what, path.string(), std::strerror(error));
}

}  // namespace

// What lies there may be what a killed run left.
int open_new(const fs::path& path) {
  int file = -1;
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) break;
    file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) break;
  }
  if (file < 0) fail_file("create", path, errno);
  return file;
}

WholeFile::WholeFile(fs::path path) : path_(std::move(path)) {
  make_folder(path_.parent_path());
  file_ = open_new(aside(path_));
}

WholeFile::~WholeFile() {
  if (file_ >= 0) ::close(file_);
  // Where there is no memory for the name, the file stays.
  if (!kept_) (void)base::guard([&] { ::unlink(aside(path_).c_str()); });
}

void WholeFile::write(std::string_view content) const {
  while (!content.empty()) {
    const ssize_t n = ::write(file_, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_file("write", aside(path_), errno);
    content.remove_prefix(static_cast<size_t>(n));
  }
}

void WholeFile::finish(bool durable) {
  if (durable && ::fsync(file_) != 0) fail_file("write", aside(path_), errno);
  const int closed = ::close(file_);
  file_ = -1;
  if (closed != 0) fail_file("close", aside(path_), errno);
  if (::rename(aside(path_).c_str(), path_.c_str()) != 0) fail_file("put in place", path_, errno);
  kept_ = true;
}

void write_part(const fs::path& path, std::string_view content, int64_t offset) {
  const auto part = aside(path);
  const int file = ::open(part.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) fail_file("open", part, errno);
  int error = 0;
  while (!content.empty() && error == 0) {
    const ssize_t n = ::pwrite(file, content.data(), content.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      error = errno;
      break;
    }
    content.remove_prefix(static_cast<size_t>(n));
    offset += n;
  }
  if (::close(file) != 0 && error == 0) error = errno;
  if (error != 0) fail_file("write", part, error);
}

fs::path aside(const fs::path& path) {
  return path.parent_path() / ("." + path.filename().string() + ".partial");
}

void make_folder(const fs::path& path) {
  std::error_code error;
  if (!path.empty()) fs::create_directories(path, error);
  if (error) fail_file("make the folder", path, error.value());
}

void write_whole(const fs::path& path, std::string_view content, bool durable) {
  WholeFile file(path);
  file.write(content);
  file.finish(durable);
}

void put_folder_in_place(const fs::path& path) {
  std::error_code error;
  const fs::path old = path.parent_path() / ("." + path.filename().string() + ".old");
  (void)base::remove_all(old);
  if (fs::exists(path)) fs::rename(path, old, error);
  if (error) fail_file("move aside", path, error.value());
  fs::rename(aside(path), path, error);
  if (error) fail_file("put in place", path, error.value());
  (void)base::remove_all(old);
}

void discard_folder_aside(const fs::path& path) { (void)base::remove_all(aside(path)); }

namespace {

std::string read_beginning(const fs::path& path, size_t most) {
  constexpr size_t part = size_t{64} << 10;
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in || fs::is_directory(path)) fail_file("read", path, errno != 0 ? errno : EISDIR);
  std::string content;
  while (in && content.size() < most) {
    const size_t before = content.size();
    content.resize(before + std::min(part, most - before));
    in.read(content.data() + before, static_cast<std::streamsize>(content.size() - before));
    content.resize(before + static_cast<size_t>(in.gcount()));
  }
  return content;
}

}  // namespace

std::string read_file(const fs::path& path) {
  return read_beginning(path, std::numeric_limits<size_t>::max());
}

std::string read_yaml_file(const fs::path& path) {
  return read_beginning(path, base::longest_yaml + 1);
}

}  // namespace pillion::products
