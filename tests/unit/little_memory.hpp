// SPDX-License-Identifier: BSD-3-Clause
// A limit for the memory of a test's process.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

/// Lets this process get so many bytes more, as long as it lives.
class LittleMemory {
 public:
  explicit LittleMemory(size_t bytes) {
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &before_);
    rlimit less = before_;
    less.rlim_cur = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + bytes;
    setrlimit(RLIMIT_AS, &less);
  }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;
  ~LittleMemory() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};
