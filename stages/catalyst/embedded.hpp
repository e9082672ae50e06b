// SPDX-License-Identifier: BSD-3-Clause
// ParaView in this process: the interpreter of Python that runs it, which Python's own library has
// at run time, and the limit of its time. A crash, or a limit that has passed, ends the process.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <pillion/stage.hpp>
#include <string>
#include <thread>

namespace pillion::stages::catalyst {

/// Statements in Python that make the package `pillion_catalyst`, once for each process.
std::string package_text();

/// A Python that has the modules of ParaView, as it describes itself.
struct Python {
  std::string program;
  std::string library{};  ///< its path
  std::string version{};  ///< "3.11"
  std::string mpi{};      ///< which MPI its mpi4py uses, as JSON
  std::string prefix{};   ///< where it is installed, as JSON
  std::string path{};     ///< where it looks for modules, as a list of JSON
};

/// Asks a program. Throws at `place` if it has not all that ParaView needs to run in parallel.
Python ask_python(const std::string& program, const stage::Value& place);

/// Calls a function of pillion_catalyst.parallel with a line of JSON; returns its answer. Starts
/// the interpreter if the process has none. Throws if that is not possible.
std::string call_python(const Python& python, const char* function, const std::string& message);

/// Ends this process, with a message, unless it is destroyed within some seconds. Others wait in
/// ParaView for a peer that hangs, and nothing can call them back.
class TimeLimit {
 public:
  TimeLimit(double seconds, std::string message);
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  ~TimeLimit();

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  std::thread thread_;
};

/// The process's working folder while this lives.
class WorkingFolder {
 public:
  explicit WorkingFolder(const std::string& folder) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;
  ~WorkingFolder() {
    std::error_code error;  // the folder may be gone
    std::filesystem::current_path(before_, error);
  }

 private:
  std::filesystem::path before_;
};

}  // namespace pillion::stages::catalyst
