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

#include "base/error.hpp"
#include "base/value.hpp"

namespace pillion::products {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail_file(const char* what, const fs::path& path, int error) {
  base::fail(ErrorCode::File, "cannot {} '{}': {}", what, path.string(), std::strerror(error));
}

/// A file that did not exist before. What lies there under its name, such as a killed run's draft
/// or a symbolic link, is unlinked, and never opened or followed.
int make_new(const fs::path& path) {
  int file = -1;
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) break;
    file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) break;
  }
  if (file < 0) fail_file("create", path, errno);
  return file;
}

}  // namespace

fs::path aside(const fs::path& path) {
  return path.parent_path() / ("." + path.filename().string() + ".partial");
}

void make_folder(const fs::path& path) {
  std::error_code error;
  if (!path.empty()) fs::create_directories(path, error);
  if (error) fail_file("make the folder", path, error.value());
}

WholeFile::WholeFile(const fs::path& path) : path_(path), aside_(aside(path)) {
  make_folder(path.parent_path());
  file_ = make_new(aside_);
}

WholeFile::~WholeFile() {
  if (file_ >= 0) ::close(file_);
  if (!is_finished_) ::unlink(aside_.c_str());
}

void WholeFile::write(std::string_view content) const {
  while (!content.empty()) {
    const ssize_t n = ::write(file_, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_file("write", aside_, errno);
    content.remove_prefix(static_cast<size_t>(n));
  }
}

void WholeFile::finish(bool durable) {
  if (durable && ::fsync(file_) != 0) fail_file("write", aside_, errno);
  const int closed = ::close(file_);
  file_ = -1;
  if (closed != 0) fail_file("close", aside_, errno);
  if (::rename(aside_.c_str(), path_.c_str()) != 0) fail_file("put in place", path_, errno);
  is_finished_ = true;
}

void write_whole(const fs::path& path, std::string_view content, bool durable) {
  WholeFile file(path);
  file.write(content);
  file.finish(durable);
}

void put_folder_in_place(const fs::path& path) {
  std::error_code error;
  const fs::path old = path.parent_path() / ("." + path.filename().string() + ".old");
  fs::remove_all(old, error);
  if (fs::exists(path)) fs::rename(path, old, error);
  if (error) fail_file("move aside", path, error.value());
  fs::rename(aside(path), path, error);
  if (error) fail_file("put in place", path, error.value());
  fs::remove_all(old, error);
}

void discard_folder_aside(const fs::path& path) noexcept {
  std::error_code ignored;
  fs::remove_all(aside(path), ignored);
}

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
