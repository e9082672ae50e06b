// SPDX-License-Identifier: BSD-3-Clause
// Other processes for tests: forked, so that they share what was mapped before, and killed at the
// latest when the test is over.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace pillion::node {

class Child {
 public:
  /// `work` returns the exit status.
  template <class Work>
  explicit Child(Work&& work) : number_(fork()) {
    if (number_ != 0) return;
    for (const int fatal : {SIGSEGV, SIGBUS, SIGABRT}) signal(fatal, SIG_DFL);
    int status = 99;
    try {
      status = work();
    } catch (...) {}
    _exit(status);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (number_ <= 0) return;
    kill(SIGKILL);
    wait();
  }

  [[nodiscard]] int number() const { return number_; }
  void kill(int signal) const { ::kill(number_, signal); }
  /// Waits until it has ended and leaves a zombie.
  void await_death() const {
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(number_), &info, WEXITED | WNOWAIT);
  }
  /// Its exit status, or 128 and the signal that ended it.
  int wait() {
    int status = 0;
    waitpid(number_, &status, 0);
    number_ = 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  int number_;
};

/// A value that forked processes share, all of whose bytes are 0 at first.
template <class T>
class Shared {
 public:
  Shared()
      : value_(static_cast<T*>(mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { munmap(value_, sizeof(T)); }
  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }

 private:
  T* value_;
};

}  // namespace pillion::node
