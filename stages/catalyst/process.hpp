// SPDX-License-Identifier: BSD-3-Clause
// A process that answers messages, each a line. It gets its two pipes by their numbers, since its
// output belongs to people. The end of the pipe makes it stop, also if this process dies.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace pillion::stages::catalyst {

class Process {
 public:
  /// Runs a program, found on the path, in a folder; "{in}" and "{out}" among its arguments become
  /// the numbers of the pipes.
  Process(std::vector<std::string> arguments, const std::string& folder);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  /// Waits some seconds for its end, and ends it then.
  ~Process();

  void send(const std::string& line);
  /// The next line that it writes. Throws if it ends first, or not within `seconds`.
  std::string answer(double seconds);

 private:
  /// Its status, as from waitpid, if it ends within `seconds`.
  std::optional<int> status_within(double seconds);
  /// How it has ended, in words.
  std::string end();

  pid_t pid_ = -1;  ///< -1 once it is known how it ended
  int to_ = -1, from_ = -1;
  std::string received_;
};

/// Whether a program is found on the path.
bool is_on_path(const std::string& program);
/// What a program writes; "" if it cannot be run.
std::string output_of(const std::vector<std::string>& arguments);
/// The status with which a program ends; 127 if it cannot be run.
int status_of(const std::vector<std::string>& arguments);

}  // namespace pillion::stages::catalyst
