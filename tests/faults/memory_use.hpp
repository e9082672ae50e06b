// SPDX-License-Identifier: BSD-3-Clause
// What memory a process has, for tests that nothing grows; in the driver and in the sidecars.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace faults {

using MemoryUse = std::map<std::string, int64_t>;

/// Of this process: KiB of its own memory and of the files in memory that it holds open, and how
/// many file descriptors and mappings it has.
inline MemoryUse memory_use() {
  MemoryUse use;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    const auto value = [&] { return std::atoll(line.substr(line.find(':') + 1).c_str()); };
    if (line.starts_with("RssAnon:")) use["anonymous"] = value();
    if (line.starts_with("VmRSS:")) use["resident"] += value();
    if (line.starts_with("RssShmem:")) use["resident"] -= value();
  }
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) ++use["mappings"];
  use["shared"] = 0;
  for (const auto& descriptor : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++use["descriptors"];
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(descriptor, gone).string();
    struct stat status {};
    if (target.starts_with("/dev/shm/") && stat(descriptor.path().c_str(), &status) == 0)
      use["shared"] += status.st_blocks / 2;
  }
  return use;
}

inline double monotonic_seconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace faults
