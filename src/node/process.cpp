// SPDX-License-Identifier: BSD-3-Clause
// Processes by /proc and pidfd.
#include "node/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <sstream>
#include <string>

namespace pillion::node {
namespace {

constexpr int number_bits = 22;  // the kernel's limit on process numbers

constexpr uint64_t dead = 0;
constexpr uint64_t unknown = 1;

/// What the kernel says of a process; "" if it does not live, and nothing if it cannot be asked.
std::optional<std::string> read_status(int number) {
  const int file =
      open(("/proc/" + std::to_string(number) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT ? std::optional("") : std::nullopt;
  std::array<char, 1024> text{};
  const auto size = read(file, text.data(), text.size());
  const int error = errno;
  close(file);
  if (size < 0) return error == ESRCH ? std::optional("") : std::nullopt;
  return std::string(text.data(), static_cast<size_t>(size));
}

/// The start time of a process in clock ticks since boot, plus two.
uint64_t start_time(int number) {
  const auto status = read_status(number);
  if (!status) return unknown;
  const std::string& text = *status;
  // The name, in parentheses, may hold anything; the state and 18 more fields come before the time.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return dead;
  std::istringstream rest(text.substr(name_end + 1));
  std::string state, skipped;
  rest >> state;
  if (state == "Z" || state == "X") return dead;
  for (int field = 0; field < 18; ++field) rest >> skipped;
  uint64_t ticks = 0;
  rest >> ticks;
  return ticks + 2;
}

Token token_of(int number, uint64_t start) {
  return start << number_bits | static_cast<uint64_t>(number);
}

}  // namespace

Token this_process() { return token_of(getpid(), start_time(getpid())); }

int number_of(Token process) {
  return static_cast<int>(process & ((uint64_t{1} << number_bits) - 1));
}

int64_t start_of(Token process) {
  const auto start = static_cast<int64_t>(process >> number_bits);
  return start > static_cast<int64_t>(unknown) ? start - 2 : -1;
}

// A process that cannot be checked, for lack of file descriptors for example, is taken to live.
// Noticing a death late costs time; reporting one that did not happen costs data.
bool is_alive(Token process) {
  if (process == 0) return false;
  const uint64_t start = start_time(number_of(process));
  return start == unknown || (start != dead && token_of(number_of(process), start) == process);
}

Watch::~Watch() { forget(); }

void Watch::forget() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

// The descriptor is opened before the token is compared, so it cannot be another process's. A
// program may have closed it since, and have opened something else under its number: so what is not
// there is opened again, and a death is confirmed.
bool Watch::lives(Token process) {
  if (process != process_) {
    forget();
    process_ = process;
    if (process != 0)
      descriptor_ = static_cast<int>(syscall(SYS_pidfd_open, number_of(process), 0));
    lives_ = is_alive(process);
  }
  if (!lives_) return false;
  if (descriptor_ < 0) return lives_ = is_alive(process);
  pollfd poll_for{descriptor_, POLLIN, 0};
  if (poll(&poll_for, 1, 0) <= 0) return true;
  lives_ = is_alive(process);
  if (lives_) descriptor_ = -1;  // not ours any more
  return lives_;
}

}  // namespace pillion::node
