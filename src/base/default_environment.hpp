// SPDX-License-Identifier: BSD-3-Clause
// The state of a thread that the program owns and that code of Pillion, of stages and of their
// libraries depends on. A solver may trap floating-point exceptions, round in another way or flush
// small numbers to zero. A program with windows may write decimal commas. And a signal ends a
// process that writes beyond its limit of file size, or to a pipe without a reader. A thread has
// one state for all of this while a DefaultEnvironment lives, and its own again afterwards.
#pragma once

#include <cfenv>
#include <clocale>
#include <csignal>
#include <functional>
#include <thread>

namespace pillion::base {

/// Arithmetic as a process starts with it: no traps, rounding to nearest, subnormal numbers. The
/// thread's own modes and flags come back bit for bit.
class DefaultArithmetic {
 public:
  DefaultArithmetic() noexcept {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  DefaultArithmetic(const DefaultArithmetic&) = delete;
  DefaultArithmetic& operator=(const DefaultArithmetic&) = delete;
  ~DefaultArithmetic() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_;
};

/// Default arithmetic, numbers with a decimal point, and failed writes that return an error. Does
/// nothing within another one of the same thread. It takes about a microsecond, so a step at which
/// nothing is due has none.
class DefaultEnvironment {
 public:
  DefaultEnvironment() noexcept;
  DefaultEnvironment(const DefaultEnvironment&) = delete;
  DefaultEnvironment& operator=(const DefaultEnvironment&) = delete;
  ~DefaultEnvironment();

 private:
  const bool is_outermost_;
  std::fenv_t arithmetic_{};
  locale_t locale_{};
  sigset_t signals_{};
};

/// Starts a thread of Pillion's own. It lives in a DefaultEnvironment and takes no signals, which
/// are for the program's threads. Throws std::system_error if there is no thread left.
std::thread start_thread(std::function<void()> run);

/// The signals that a program started from this thread is to block: those of this thread, without
/// SIGPIPE and SIGXFSZ within a DefaultEnvironment.
sigset_t signals_for_children();

}  // namespace pillion::base
