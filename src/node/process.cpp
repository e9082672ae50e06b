// SPDX-License-Identifier: BSD-3-Clause
// Processes by /proc and pidfd.
#include "node/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>
#include <string>

#include "base/error.hpp"
#include "base/process.hpp"

namespace pillion::node {
namespace {

constexpr int number_bits = 22;  // the kernel's limit on process numbers
/// The PID namespace of a machine's first process, on every machine.
constexpr uint64_t first_namespace = 0xEFFFFFFC;

Token token_of(int number, uint64_t start) {
  return start << number_bits | static_cast<uint64_t>(number);
}

std::string entry_of(int number) { return "/proc/" + std::to_string(number); }

/// What a file in /proc says. Where it cannot be read that is empty, and `error` says why.
std::string read_entry(const std::string& path, int& error) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  error = file < 0 ? errno : 0;
  if (file < 0) return {};
  std::string text;
  std::array<char, 4096> piece;
  ssize_t size = 0;
  while ((size = read(file, piece.data(), piece.size())) > 0)
    text.append(piece.data(), static_cast<size_t>(size));
  if (size < 0) error = errno;
  close(file);
  return size < 0 ? std::string() : text;
}

/// What /proc says of a process.
struct Entry {
  uint64_t start = 0;    ///< clock ticks since boot, plus two; 0 if it is not known
  bool is_dead = false;  ///< there, but a zombie
  int error = 0;         ///< why it is not known
};

Entry look_at(int number) {
  Entry entry;
  const std::string text = read_entry(entry_of(number) + "/stat", entry.error);
  // The name, in parentheses, may hold anything; the state and 18 more fields come before the time.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) {
    if (entry.error == 0) entry.error = ESRCH;
    return entry;
  }
  std::istringstream rest(text.substr(name_end + 1));
  std::string state, skipped;
  rest >> state;
  entry.is_dead = state == "Z" || state == "X";
  for (int field = 0; field < 18; ++field) rest >> skipped;
  uint64_t ticks = 0;
  rest >> ticks;
  entry.start = ticks + 2;
  return entry;
}

/// The PID namespace in which a process is; 0, and `error`, if it cannot be learned.
uint64_t namespace_of(const std::string& entry, int& error) {
  struct stat status {};
  error = stat((entry + "/ns/pid").c_str(), &status) == 0 ? 0 : errno;
  return error == 0 ? status.st_ino : 0;
}

Token learn_this_process() {
  std::array<char, 32> name{};
  if (readlink("/proc/self", name.data(), name.size() - 1) < 0)
    base::fail(ErrorCode::State,
               "this process cannot learn which one it is: /proc/self cannot be read: {}; mount "
               "/proc, as containers do by default",
               std::strerror(errno));
  if (std::to_string(getpid()) != name.data())
    base::fail(ErrorCode::State,
               "this process cannot learn which one it is: it has number {} in its PID namespace, "
               "and {} in /proc. Give the container a /proc of its own, or no PID namespace",
               getpid(), name.data());
  const Entry entry = look_at(getpid());
  if (entry.start == 0)
    base::fail(ErrorCode::State,
               "this process cannot learn which one it is: {}/stat cannot be read: {}{}",
               entry_of(getpid()), std::strerror(entry.error),
               entry.error == EMFILE ? "; raise the limit of open files (ulimit -n)" : "");
  return token_of(getpid(), entry.start);
}

}  // namespace

// A process that has learned who it is knows it for good, even when it has no file descriptor left.
// A fork has another number.
Token this_process() {
  static std::atomic<Token> known{0};
  // Relaxed: the number stands for itself, and threads that race learn the same.
  Token mine = known.load(std::memory_order_relaxed);
  if (number_of(mine) == getpid()) return mine;
  mine = learn_this_process();
  known.store(mine, std::memory_order_relaxed);
  return mine;
}

Token this_process_if_known() noexcept {
  try {
    return this_process();
  } catch (const std::exception&) {
    return 0;
  }
}

std::string boot_id() {
  int error = 0;
  std::string text = read_entry("/proc/sys/kernel/random/boot_id", error);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

uint64_t pid_namespace() {
  int error = 0;
  return namespace_of("/proc/self", error);
}

bool is_in_container() {
  const uint64_t mine = pid_namespace();
  return mine != 0 && mine != first_namespace;
}

int number_of(Token process) {
  return static_cast<int>(process & ((uint64_t{1} << number_bits) - 1));
}

int64_t start_of(Token process) {
  return process == 0 ? -1 : static_cast<int64_t>(process >> number_bits) - 2;
}

namespace {

enum class Life { Lives, Dead, Unknown };

// A death is certain where the kernel knows no such process, where it has ended and left a zombie,
// or where another one has its number. That /proc does not show a process says nothing: it may be
// mounted with hidepid, or this process may have no file descriptor left.
Life life_of(Token process) {
  const Entry entry = look_at(number_of(process));
  if (entry.start == 0)
    return kill(number_of(process), 0) != 0 && errno == ESRCH ? Life::Dead : Life::Unknown;
  const bool same = token_of(number_of(process), entry.start) == process;
  return same && !entry.is_dead ? Life::Lives : Life::Dead;
}

}  // namespace

// Noticing a death late costs time; reporting one that did not happen costs data.
bool is_alive(Token process) { return number_of(process) != 0 && life_of(process) != Life::Dead; }

void expect_same_namespace(Token process) {
  if (process == this_process()) return;
  const int number = number_of(process);
  const auto refuse = [&](const std::string& why) {
    base::fail(ErrorCode::State, "process {} is not shown to be a neighbour on node {}: {}; {}",
               number, base::host_name(), why, container_remedy);
  };
  int error = 0;
  const uint64_t mine = namespace_of("/proc/self", error);
  // Kernels without PID namespaces have no such entry.
  if (mine == 0 && error != ENOENT)
    refuse(std::string("/proc/self/ns/pid cannot be read: ") + std::strerror(error));
  if (mine != 0) {
    const uint64_t theirs = namespace_of(entry_of(number), error);
    if (theirs == 0) refuse(entry_of(number) + " cannot be read: " + std::strerror(error));
    if (theirs != mine) refuse("it is in another PID namespace");
  }
  const Entry entry = look_at(number);
  if (entry.start == 0)
    refuse(entry_of(number) + "/stat cannot be read: " + std::strerror(entry.error));
  if (token_of(number, entry.start) != process)
    refuse("here another process has that number, which started at another time");
}

bool is_in_inner_namespace(int number, Token process) {
  int error = 0;
  const std::string status = read_entry(entry_of(number) + "/status", error);
  const std::string key = "\nNSpid:";
  const auto begin = status.find(key);
  if (begin == std::string::npos) return false;
  std::istringstream numbers(
      status.substr(begin + key.size(), status.find('\n', begin + 1) - begin - key.size()));
  int count = 0, last = 0;
  for (int one = 0; numbers >> one; ++count) last = one;
  const Entry entry = look_at(number);
  return count > 1 && last == number_of(process) && !entry.is_dead &&
         token_of(last, entry.start) == process;
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
