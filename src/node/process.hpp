// SPDX-License-Identifier: BSD-3-Clause
// Processes as others see them: who one is, and whether it still lives. A process is named by its
// number and the time at which it started, so that a number that is given out again is not taken
// for the one that had it before.
#pragma once

#include <cstdint>

namespace pillion::node {

/// A process in one word: its number, and its start time above it; 0 stands for none.
using Token = uint64_t;

/// This process.
Token this_process();
/// The number of a process.
int number_of(Token process);
/// Its start time in clock ticks since boot, as /proc/NUMBER/stat has it; negative if unknown.
int64_t start_of(Token process);
/// Whether it lives; a zombie does not.
bool is_alive(Token process);

/// Watches one process; asking again costs less than a microsecond.
class Watch {
 public:
  Watch() = default;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();
  /// Whether `process` lives. Another process than before is allowed, and more expensive.
  bool lives(Token process);

 private:
  void forget();
  Token process_ = 0;
  int descriptor_ = -1;
  bool lives_ = false;
};

}  // namespace pillion::node
