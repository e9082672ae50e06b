// SPDX-License-Identifier: BSD-3-Clause
// Memory by statvfs, /proc/meminfo and control groups.
#include "node/room.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <locale>
#include <optional>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "node/shared_file.hpp"

namespace pillion::node {
namespace {

constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

/// The number behind a key of a file with a key and a number on each line.
std::optional<int64_t> value_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  file.imbue(std::locale::classic());
  std::string name;
  for (int64_t value = 0; file >> name >> value; file.ignore(256, '\n'))
    if (name == key) return value;
  return {};
}

int64_t available_on_node() {
  const auto kilobytes = value_in("/proc/meminfo", "MemAvailable:");
  return kilobytes ? *kilobytes * 1024 : unlimited;
}

/// The number in a file of a control group; nothing where there is none, or "max".
std::optional<int64_t> limit_in(const std::string& path) {
  std::ifstream file(path);
  file.imbue(std::locale::classic());
  int64_t value = 0;
  if (file >> value) return value;
  return {};
}

/// How a version of control groups calls what counts here.
struct Names {
  const char *limit, *used, *file_pages;
};
constexpr Names version_1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr Names version_2{"memory.max", "memory.current", "inactive_file"};

/// A control group that this process is in, by version: its path below what is mounted.
struct Group {
  Names names;
  std::string path;
};

/// Lines "NUMBER:CONTROLLERS:PATH"; version 2 has no controllers there.
std::vector<Group> groups_of(const std::string& root) {
  std::vector<Group> groups;
  std::ifstream file(root + "/proc/self/cgroup");
  file.imbue(std::locale::classic());
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") groups.push_back({version_2, path});
    else if (controllers.find(",memory,") != std::string::npos) groups.push_back({version_1, path});
  }
  return groups;
}

struct Mount {
  std::string root, folder;  ///< which part of the hierarchy is mounted, and where
};

/// Mounts of a version's hierarchy: "ID PARENT DEVICE ROOT FOLDER OPTIONS... - TYPE SOURCE
/// OPTIONS".
std::vector<Mount> mounts_of(const std::string& root, const Names& names) {
  std::vector<Mount> mounts;
  std::ifstream file(root + "/proc/self/mountinfo");
  file.imbue(std::locale::classic());
  for (std::string line; std::getline(file, line);) {
    const auto dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream before(line);
    before.imbue(std::locale::classic());
    std::istringstream after(line.substr(dash + 3));
    after.imbue(std::locale::classic());
    std::string skipped, type, source, options;
    Mount mount;
    before >> skipped >> skipped >> skipped >> mount.root >> mount.folder;
    after >> type >> source >> options;
    const bool has_memory = ("," + options + ",").find(",memory,") != std::string::npos;
    const bool is_1 = type == "cgroup" && has_memory, is_2 = type == "cgroup2";
    if (names.limit == version_1.limit ? is_1 : is_2) mounts.push_back(mount);
  }
  return mounts;
}

int64_t left_in(const std::string& folder, const Names& names) {
  const auto limit = limit_in(folder + "/" + names.limit);
  const auto used = limit_in(folder + "/" + names.used);
  // Version 1 says a number near the largest where there is no limit.
  if (!limit || !used || *limit > unlimited / 2) return unlimited;
  const auto pages = value_in(folder + "/memory.stat", names.file_pages).value_or(0);
  const int64_t needed = *used - std::clamp<int64_t>(pages, 0, std::max<int64_t>(*used, 0));
  return std::max<int64_t>(*limit - needed, 0);
}

/// Where a group is below a mount. A container may see only its own part of the hierarchy, mounted
/// as if that were all, while the path is that of the host; then what is mounted is the group.
std::string below(const Mount& mount, const std::string& path) {
  if (mount.root == "/") return path;
  if (path == mount.root || path.starts_with(mount.root + "/"))
    return path.substr(mount.root.size());
  return "/";
}

}  // namespace

int64_t available_in_groups(const std::string& root) {
  int64_t least = unlimited;
  for (const auto& [names, path] : groups_of(root))
    for (const auto& mount : mounts_of(root, names)) {
      std::string group = below(mount, path);
      // A group outside of the namespace of control groups cannot be looked at.
      if (group.find("/..") != std::string::npos) group = "/";
      for (;; group.resize(group.rfind('/'))) {
        least = std::min(least, left_in(root + mount.folder + group, names));
        if (group.rfind('/') == std::string::npos) break;
      }
    }
  return least;
}

Room find_room() {
  struct statvfs status {};
  Room room{unlimited, std::min(available_on_node(), available_in_groups(""))};
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
               "{} of shared memory cannot be had: {} of node {} has {} left, which others need",
               base::format_bytes(static_cast<int64_t>(bytes)), memory_folder, base::host_name(),
               base::format_bytes(static_cast<int64_t>(left)));
}

void check_room(const Room& room, int64_t wanted, const std::string& purpose) {
  if (wanted > room.shared_memory)
    base::fail(ErrorCode::Configuration,
               "{} of shared memory are needed for {}, but {} of node {} has only {} left; ask for "
               "less under 'sidecars: {{memory: ...}}', or have {} made larger",
               base::format_bytes(wanted), purpose, memory_folder, base::host_name(),
               base::format_bytes(room.shared_memory), memory_folder);
  if (wanted > room.memory)
    base::fail(ErrorCode::Configuration,
               "{} of memory are needed for {}, but node {}, or this job there, has only {} left; "
               "ask for less under 'sidecars: {{memory: ...}}'",
               base::format_bytes(wanted), purpose, base::host_name(),
               base::format_bytes(room.memory));
}

}  // namespace pillion::node
