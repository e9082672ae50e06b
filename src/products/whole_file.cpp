// SPDX-License-Identifier: BSD-3-Clause
// Writing aside and renaming, on POSIX. What shall outlive the machine is on disk before it gets
// its name, and its name is on disk before anything that it replaces is removed.
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
  if (durable) sync_folder(path_.parent_path());
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

// Some file systems, such as those in user space, cannot synchronise directories and return EINVAL.
// Nothing more can be done there.
void sync_folder(const fs::path& path) {
  const fs::path folder = path.empty() ? fs::path(".") : path;
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) fail_file("open", folder, errno);
  const int error = ::fsync(file) == 0 || errno == EINVAL ? 0 : errno;
  ::close(file);
  if (error != 0) fail_file("write", folder, error);
}

void sync_folders(const fs::path& path) {
  std::error_code error;
  for (const auto& entry : base::entries_of(path))
    if (fs::is_directory(fs::symlink_status(entry, error))) sync_folders(entry);
  sync_folder(path);
}

namespace {

/// Gives two entries each other's name at once. False if the file system cannot.
bool exchange(const fs::path& one, const fs::path& other) {
  return ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0;
}

void remove_whole(const fs::path& path) {
  if (const auto error = base::remove_all(path)) fail_file("remove", path, error.value());
}

}  // namespace

fs::path replaced(const fs::path& path) {
  return path.parent_path() / ("." + path.filename().string() + ".old");
}

// Where names cannot be exchanged, the older folder has another name for a moment. A process that
// is killed then leaves both under names that recover_folder() knows.
void put_folder_in_place(const fs::path& path) {
  const fs::path written = aside(path), old = replaced(path);
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) {
    if (::rename(written.c_str(), path.c_str()) != 0) fail_file("put in place", path, errno);
    return sync_folder(path.parent_path());
  }
  if (exchange(written, path)) {
    sync_folder(path.parent_path());
    return remove_whole(written);
  }
  remove_whole(old);
  if (::rename(path.c_str(), old.c_str()) != 0) fail_file("move aside", path, errno);
  if (::rename(written.c_str(), path.c_str()) != 0) fail_file("put in place", path, errno);
  sync_folder(path.parent_path());
  remove_whole(old);
}

fs::path find_whole_folder(const fs::path& path, const std::string& last_file) {
  std::error_code error;
  for (const auto& place : {path, aside(path), replaced(path)})
    if (fs::exists(place / last_file, error)) return place;
  return path;
}

void recover_folder(const fs::path& path, const std::string& last_file) {
  const auto whole = find_whole_folder(path, last_file);
  std::error_code error;
  // What lies at the place itself is not whole, and perhaps not ours.
  if (whole == path || fs::exists(fs::symlink_status(path, error))) return;
  if (::rename(whole.c_str(), path.c_str()) != 0) fail_file("put in place", path, errno);
  sync_folder(path.parent_path());
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
