// SPDX-License-Identifier: BSD-3-Clause
// Folders by the system's own calls.
#include "base/folder.hpp"

#include <dirent.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <memory>
#include <string_view>

namespace pillion::base {

namespace fs = std::filesystem;

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), &closedir);
  if (!open) return entries;
  while (const dirent* entry = readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") entries.push_back(folder / name);
  }
  return entries;
}

namespace {

// A symbolic link is removed, and not what it leads to. The first failure is kept.
void remove_entries(const fs::path& path, std::error_code& failure) {
  std::error_code error;
  const bool is_folder = fs::symlink_status(path, error).type() == fs::file_type::directory;
  if (is_folder)
    for (const auto& entry : entries_of(path)) remove_entries(entry, failure);
  const int result = is_folder ? rmdir(path.c_str()) : unlink(path.c_str());
  if (result != 0 && errno != ENOENT && !failure) failure.assign(errno, std::generic_category());
}

}  // namespace

std::error_code remove_all(const fs::path& path) noexcept {
  std::error_code failure;
  try {
    remove_entries(path, failure);
  } catch (const std::exception&) {
    failure = std::make_error_code(std::errc::not_enough_memory);
  }
  return failure;
}

}  // namespace pillion::base
