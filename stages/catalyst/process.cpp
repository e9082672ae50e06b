// SPDX-License-Identifier: BSD-3-Clause
// Starting, asking and ending a process.
#include "process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <pillion/error.hpp>
#include <sstream>
#include <string_view>
#include <thread>

extern char** environ;

namespace pillion::stages::catalyst {

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& why) { throw Error(ErrorCode::Stage, why); }

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      fail(std::string("no pipe can be made: ") + std::strerror(errno));
    read = ends[0], write = ends[1];
  }
};

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (auto& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

/// Without what tells MPI that this is one of its ranks: ParaView has an MPI of its own.
std::vector<std::string> environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    bool is_of_mpi = false;
    for (const char* prefix :
         {"OMPI_", "PMIX_", "PMI_", "PRTE_", "HYDI_", "HYDRA_", "MPI_", "SLURM_"})
      is_of_mpi = is_of_mpi || text.starts_with(prefix);
    if (!is_of_mpi) out.emplace_back(text);
  }
  return out;
}

pid_t spawn(std::vector<std::string>& arguments, const posix_spawn_file_actions_t& actions) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A stage runs without these signals; a program that it starts has them, as programs expect.
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  for (const int number : {SIGPIPE, SIGXFSZ}) sigdelset(&blocked, number);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  auto own_environment = environment();
  const int error = ::posix_spawnp(&pid, arguments[0].c_str(), &actions, &attributes,
                                   pointers(arguments).data(), pointers(own_environment).data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) fail("cannot run " + arguments[0] + ": " + std::strerror(error));
  return pid;
}

}  // namespace

Process::Process(std::vector<std::string> arguments, const std::string& folder) {
  const Pipe in, out;
  for (auto& word : arguments) {
    if (word == "{in}") word = std::to_string(in.read);
    if (word == "{out}") word = std::to_string(out.write);
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_adddup2(&actions, 2, 1);
  // To the same number: it stays open in the process.
  posix_spawn_file_actions_adddup2(&actions, in.read, in.read);
  posix_spawn_file_actions_adddup2(&actions, out.write, out.write);
  try {
    pid_ = spawn(arguments, actions);
  } catch (...) {
    for (const int end : {in.read, in.write, out.read, out.write}) ::close(end);
    posix_spawn_file_actions_destroy(&actions);
    throw;
  }
  posix_spawn_file_actions_destroy(&actions);
  ::close(in.read);
  ::close(out.write);
  to_ = in.write, from_ = out.read;
}

Process::~Process() {
  ::close(to_);
  if (pid_ > 0 && !status_within(10)) {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(from_);
}

std::optional<int> Process::status_within(double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  // A child cannot wake it; this is the end of a run, and 10 ms do not matter.
  for (int status = 0; Clock::now() < end;
       std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
    if (::waitpid(pid_, &status, WNOHANG) != pid_) continue;
    pid_ = -1;
    return status;
  }
  return {};
}

std::string Process::end() {
  const auto status = pid_ > 0 ? status_within(10) : std::nullopt;
  if (!status) return "has closed its end of the pipe";
  if (WIFSIGNALED(*status))
    return std::string("was ended by signal ") + std::to_string(WTERMSIG(*status)) + " (" +
           ::strsignal(WTERMSIG(*status)) + ")";
  return "has ended with status " + std::to_string(WEXITSTATUS(*status));
}

void Process::send(const std::string& line) {
  const std::string whole = line + "\n";
  // A process that has ended is noticed by what write says: stages run without SIGPIPE.
  size_t at = 0;
  ssize_t written = 0;
  while (at < whole.size() &&
         ((written = ::write(to_, whole.data() + at, whole.size() - at)) > 0 || errno == EINTR))
    at += written > 0 ? static_cast<size_t>(written) : 0;
  if (at < whole.size()) fail("the process that runs the script " + end());
}

std::string Process::answer(double seconds) {
  const auto last = Clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    const size_t line = received_.find('\n');
    if (line != std::string::npos) {
      std::string out = received_.substr(0, line);
      received_.erase(0, line + 1);
      return out;
    }
    const std::chrono::duration<double, std::milli> left = last - Clock::now();
    if (left.count() <= 0) {
      if (pid_ > 0) ::kill(-pid_, SIGKILL);
      fail("the script did not end within " + std::to_string(static_cast<int64_t>(seconds)) +
           " s and was ended; `timeout` may be longer");
    }
    pollfd wait{from_, POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(std::min(left.count(), 1e6)) + 1) <= 0) continue;
    char buffer[4096];
    const ssize_t count = ::read(from_, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      fail("the process that runs the script " + end() + "; its last words are above");
    received_.append(buffer, static_cast<size_t>(count));
  }
}

bool is_on_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

std::string output_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = arguments;
  const Pipe out;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out.write, 1);
  pid_t pid = -1;
  auto own_environment = environment();
  const int error = ::posix_spawnp(&pid, words[0].c_str(), &actions, nullptr,
                                   pointers(words).data(), pointers(own_environment).data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(out.write);
  std::string text;
  char buffer[4096];
  // The end of the file comes when the program has ended, since it alone holds the other end.
  for (ssize_t n = 0; error == 0 && ((n = ::read(out.read, buffer, sizeof buffer)) > 0 ||
                                     (n < 0 && errno == EINTR));)
    text.append(buffer, static_cast<size_t>(std::max<ssize_t>(n, 0)));
  ::close(out.read);
  if (error == 0) ::waitpid(pid, nullptr, 0);
  return text;
}

int status_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = arguments;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int error =
      ::posix_spawnp(&pid, words[0].c_str(), &actions, nullptr, pointers(words).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (error != 0 || ::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return 127;
  return WEXITSTATUS(status);
}

}  // namespace pillion::stages::catalyst
