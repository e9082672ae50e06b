// SPDX-License-Identifier: BSD-3-Clause
// Processes as others see them: who one is, and whether it still lives. A process is named by its
// number and the time at which it started, so that a number that is given out again is not taken
// for the one that had it before. Numbers mean something only within a PID namespace, and
// containers may have one each; so a process that opens another one's memory shows first that they
// are in the same.
#pragma once

#include <cstdint>
#include <string>

namespace pillion::node {

/// A process in one word: its number, and its start time above it; 0 stands for none.
using Token = uint64_t;

/// What to do where processes of a node do not see each other.
constexpr const char* container_remedy =
    "processes in containers share memory only if they see each other: run those of a node in one "
    "container, or without PID namespaces of their own (apptainer without --pid and --containall, "
    "docker with --pid=host)";

/// This process. Throws ErrorCode::State, with the remedy, if the system does not show which one it
/// is. What succeeded once succeeds always.
Token this_process();
/// The same; 0 instead of an error.
Token this_process_if_known() noexcept;
/// The number of a process.
int number_of(Token process);
/// Its start time in clock ticks since boot, as /proc/NUMBER/stat has it; negative if unknown.
int64_t start_of(Token process);
/// Identifies the machine and its last start; "" if it is not known. Names of hosts and numbers of
/// namespaces may be the same on two machines; this is not.
std::string boot_id();
/// The PID namespace of this process, which no other of the machine has; 0 if it is not known.
uint64_t pid_namespace();
/// Whether that is not the machine's own, as in many containers.
bool is_in_container();
/// Throws ErrorCode::State, with the remedy, unless the process that is called so where it lives is
/// shown to be the one that this process calls so: both are in one PID namespace.
void expect_same_namespace(Token process);
/// Whether process `number` calls itself `process`, for it lives in a PID namespace within this
/// one.
bool is_in_inner_namespace(int number, Token process);
/// Whether it lives; a zombie does not. One that this process cannot learn about is taken to live.
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
