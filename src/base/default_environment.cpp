// SPDX-License-Identifier: BSD-3-Clause
// Setting and restoring what default_environment.hpp names.
#include "base/default_environment.hpp"

#include <pthread.h>

#include <ctime>
#include <utility>

namespace pillion::base {
namespace {

thread_local bool is_inside = false;

/// Signals that a failed write sends to the thread which writes. Their default action ends the
/// process.
const sigset_t& signals_of_writes() {
  static const sigset_t signals = [] {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    sigaddset(&set, SIGXFSZ);
    return set;
  }();
  return signals;
}

/// With a decimal point, and texts in UTF-8 where the system knows that. It is never freed: threads
/// may use it until the process ends.
locale_t neutral_locale() {
  static const locale_t locale = [] {
    const locale_t utf8 = newlocale(LC_ALL_MASK, "C.UTF-8", locale_t{});
    return utf8 != locale_t{} ? utf8 : newlocale(LC_ALL_MASK, "C", locale_t{});
  }();
  return locale;
}

/// Takes back a signal that a write of this thread has caused, or else it would act when it is
/// unblocked. The program may have blocked it before; then it stays.
void discard(const sigset_t& blocked_before) {
  sigset_t pending, ours;
  if (sigpending(&pending) != 0) return;
  sigemptyset(&ours);
  bool is_any = false;
  for (const int number : {SIGPIPE, SIGXFSZ})
    if (sigismember(&pending, number) == 1 && sigismember(&blocked_before, number) == 0) {
      sigaddset(&ours, number);
      is_any = true;
    }
  // Waits for nothing: the signals are there.
  const timespec at_once{};
  while (is_any && sigtimedwait(&ours, nullptr, &at_once) > 0) {}
}

}  // namespace

DefaultEnvironment::DefaultEnvironment() noexcept : is_outermost_(!std::exchange(is_inside, true)) {
  if (!is_outermost_) return;
  std::fegetenv(&arithmetic_);
  std::fesetenv(FE_DFL_ENV);
  locale_ = uselocale(neutral_locale());
  pthread_sigmask(SIG_BLOCK, &signals_of_writes(), &signals_);
}

DefaultEnvironment::~DefaultEnvironment() {
  if (!is_outermost_) return;
  discard(signals_);
  pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
  uselocale(locale_);
  std::fesetenv(&arithmetic_);
  is_inside = false;
}

std::thread start_thread(std::function<void()> run) {
  sigset_t all, before;
  sigfillset(&all);
  // A thread begins with the mask of the one that starts it.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } const restore{before};
  return std::thread([run = std::move(run)] {
    const DefaultEnvironment environment;
    run();
  });
}

sigset_t signals_for_children() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  if (is_inside)
    for (const int number : {SIGPIPE, SIGXFSZ}) sigdelset(&mask, number);
  return mask;
}

}  // namespace pillion::base
