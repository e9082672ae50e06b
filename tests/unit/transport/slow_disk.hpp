// SPDX-License-Identifier: BSD-3-Clause
// A disk that takes as long as a test wants, or has no room: what this process writes with pwrite
// waits while the disk hangs. The definition is in node_test.cpp, so that the linker takes it for
// the library's calls, too.
#pragma once

#include <atomic>

namespace slow_disk {

inline std::atomic<bool> hangs{false};
inline std::atomic<bool> is_full{false};

/// For as long as it lives, no write ends.
struct Hanging {
  Hanging() { hangs = true; }
  Hanging(const Hanging&) = delete;
  Hanging& operator=(const Hanging&) = delete;
  ~Hanging() { hangs = false; }
};

}  // namespace slow_disk
