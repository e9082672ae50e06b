// SPDX-License-Identifier: BSD-3-Clause
// Programs by posix_spawn, which does not copy this process as fork does.
#include "base/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "base/clock.hpp"
#include "base/default_environment.hpp"
#include "base/text.hpp"

namespace pillion::base {

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string command_line() {
  constexpr size_t most = 4096;
  std::array<char, most> text{};
  const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t length = read(file, text.data(), text.size());
  close(file);
  std::string out(text.data(), length > 0 ? static_cast<size_t>(length) : 0);
  if (out.ends_with('\0')) out.pop_back();
  std::replace(out.begin(), out.end(), '\0', ' ');
  return unprintable_part(out).empty() ? out : std::string();
}

namespace {

/// The environment without what MPI libraries and launchers say to ranks.
std::vector<char*> environment_without_mpi() {
  constexpr std::array<std::string_view, 7> prefixes{"OMPI_", "PMIX_", "PMI_", "PRTE_",
                                                     "MPI_L", "HYDI_", "MPIR_"};
  std::vector<char*> kept;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (std::none_of(prefixes.begin(), prefixes.end(),
                     [&](auto p) { return std::string_view(*entry).starts_with(p); }))
      kept.push_back(*entry);
  kept.push_back(nullptr);
  return kept;
}

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  [[nodiscard]] int number() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

/// Starts a program; `in` and `out` become its standard input and output where they are given.
pid_t start(const std::vector<std::string>& words, int in, int out) {
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (in >= 0) posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  if (out >= 0) posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  const auto environment = environment_without_mpi();
  const sigset_t blocked = signals_for_children();
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(),
                                 environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    fail(ErrorCode::File, "'{}' cannot be started: {}", words[0], std::strerror(error));
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return status;
}

/// Whether the program ends before `end`, in monotonic seconds.
bool ends_before(pid_t child, double end) {
  return wait_until(
      [&] {
        siginfo_t info{};
        waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT | WNOHANG);
        return info.si_pid != 0;
      },
      end);
}

/// Moves what can be moved through both pipes until the program closes its end. False if it has not
/// done so by `end`, in monotonic seconds.
bool converse(Descriptor& to, const Descriptor& from, const Bytes& input, Bytes& output,
              double end) {
  size_t sent = 0;
  for (;;) {
    if (sent == input.size()) to.close();
    std::array<pollfd, 2> waits{pollfd{from.number(), POLLIN, 0}, pollfd{to.number(), POLLOUT, 0}};
    const double left = end - monotonic_seconds();
    if (left <= 0) return false;
    if (poll(waits.data(), waits.size(), static_cast<int>(left * 1000) + 1) < 0) continue;
    if (waits[1].revents != 0) {
      const auto n = write(to.number(), input.data() + sent, input.size() - sent);
      if (n < 0) sent = input.size();  // it does not listen
      else sent += static_cast<size_t>(n);
    }
    if (waits[0].revents == 0) continue;
    std::array<std::byte, 65536> piece;
    const auto n = read(from.number(), piece.data(), piece.size());
    if (n == 0) return true;
    if (n > 0) output.insert(output.end(), piece.begin(), piece.begin() + n);
  }
}

}  // namespace

void start_detached(const std::string& command, const std::string& folder) {
  // The shell that is waited for ends at once; the one that keeps running has no parent to wait for
  // it.
  wait_for(start({"/bin/sh", "-c", "cd \"$2\" && setsid /bin/sh -c \"$1\" </dev/null &", "sh",
                  command, folder},
                 -1, -1));
}

Bytes run_program(const std::vector<std::string>& words, const Bytes& input, double seconds) {
  std::array<int, 2> in{}, out{};
  if (pipe2(in.data(), O_CLOEXEC) != 0)
    fail(ErrorCode::File, "'{}' cannot be started: {}", words[0], std::strerror(errno));
  Descriptor in_read(in[0]), in_write(in[1]);
  if (pipe2(out.data(), O_CLOEXEC) != 0)
    fail(ErrorCode::File, "'{}' cannot be started: {}", words[0], std::strerror(errno));
  Descriptor out_read(out[0]), out_write(out[1]);
  fcntl(in_write.number(), F_SETFL, O_NONBLOCK);
  const pid_t child = start(words, in_read.number(), out_write.number());
  in_read.close();
  out_write.close();
  Bytes output;
  const DefaultEnvironment environment;  // a program that has ended reads no input
  const double end = monotonic_seconds() + seconds;
  bool ended = converse(in_write, out_read, input, output, end);
  in_write.close();
  ended = ended && ends_before(child, end);
  if (!ended) kill(child, SIGKILL);
  // It has ended or was killed, so this does not wait long.
  const int status = wait_for(child);
  if (!ended) fail(ErrorCode::File, "'{}' gave no answer within {} s", words[0], seconds);
  if (WIFSIGNALED(status))
    fail(ErrorCode::File, "'{}' was ended by signal {}", words[0], WTERMSIG(status));
  if (WEXITSTATUS(status) != 0)
    fail(ErrorCode::File, "'{}' failed with status {}", words[0], WEXITSTATUS(status));
  return output;
}

}  // namespace pillion::base
