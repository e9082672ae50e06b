// SPDX-License-Identifier: BSD-3-Clause
#include "base/default_environment.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fenv.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "base/process.hpp"
#include "run/agenda.hpp"

using namespace pillion;
using namespace pillion::base;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int trapped = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;

/// A volatile copy: the processor computes, not the compiler.
double divided(double a, double b) {
  const volatile double x = a, y = b;
  return x / y;
}

/// A thread of a solver: it traps exceptions, rounds upward and flushes subnormal numbers.
class Solver {
 public:
  Solver() {
    fegetenv(&before_);
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
    fesetround(FE_UPWARD);
    feclearexcept(FE_ALL_EXCEPT);
    divided(1, 3);  // a flag that the solver may ask for
    feenableexcept(trapped);
  }
  ~Solver() { fesetenv(&before_); }

 private:
  fenv_t before_;
};

/// Modes, traps and flags of both units of x86, or what the C library tells of others.
std::array<unsigned, 4> state() {
#if defined(__x86_64__)
  fenv_t all;
  std::memset(&all, 0, sizeof all);
  fegetenv(&all);
  fesetenv(&all);  // fegetenv masks the traps of the older unit
  return {all.__mxcsr, all.__control_word, all.__status_word, 0};
#else
  return {unsigned(fegetexcept()), unsigned(fegetround()), unsigned(fetestexcept(FE_ALL_EXCEPT)),
          0};
#endif
}

bool is_blocked(int signal) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

bool is_pending(int signal) {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, signal) == 1;
}

/// errno of a write to a pipe that has no reader.
int write_to_closed_pipe() {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  close(ends[0]);
  const auto written = write(ends[1], "x", 1);
  const int error = written < 0 ? errno : 0;
  close(ends[1]);
  return error;
}

/// errno of a write beyond the limit of file size.
int write_beyond_limit() {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{4, before.rlim_max};
  FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  setrlimit(RLIMIT_FSIZE, &small);
  const auto written = pwrite(fileno(file), "12345678", 8, 8);
  const int error = written < 0 ? errno : 0;
  setrlimit(RLIMIT_FSIZE, &before);
  std::fclose(file);
  return error;
}

}  // namespace

TEST_CASE("arithmetic is the default one inside, and the solver's afterwards, flags included") {
  const Solver solver;
  const auto before = state();
  {
    const DefaultEnvironment environment;
    CHECK(fegetexcept() == 0);
    CHECK(fegetround() == FE_TONEAREST);
    CHECK(divided(1, 0) == infinity);
    CHECK(divided(0, 0) != divided(0, 0));
    CHECK(divided(std::numeric_limits<double>::min(), 2) > 0);
    CHECK(divided(1, 3) == 1.0 / 3);
  }
  CHECK(state() == before);
  {
    const DefaultArithmetic arithmetic;
    CHECK(divided(1, 0) == infinity);
  }
  CHECK(state() == before);
}

TEST_CASE("one environment within another changes nothing, and the outer one lasts") {
  const Solver solver;
  const auto before = state();
  {
    const DefaultEnvironment outer;
    {
      const DefaultEnvironment inner;
      CHECK(divided(1, 0) == infinity);
    }
    CHECK(divided(1, 0) == infinity);
    CHECK(is_blocked(SIGPIPE));
  }
  CHECK(state() == before);
  CHECK_FALSE(is_blocked(SIGPIPE));
}

TEST_CASE("numbers have a decimal point in a locale that has a comma") {
  const locale_t german = newlocale(LC_ALL_MASK, "de_DE.UTF-8", locale_t{});
  if (german == locale_t{}) {
    MESSAGE("the system has no German locale; tests/conformance/test_host.py makes one");
    return;
  }
  const locale_t before = uselocale(german);
  {
    const DefaultEnvironment environment;
    CHECK(std::to_string(0.5) == "0.500000");
    CHECK(std::strtod("0.5", nullptr) == 0.5);
  }
  CHECK(uselocale(before) == german);
  freelocale(german);
}

TEST_CASE("a write that fails returns an error, and leaves no signal behind") {
  {
    const DefaultEnvironment environment;
    CHECK(write_to_closed_pipe() == EPIPE);
    CHECK(write_beyond_limit() == EFBIG);
    CHECK(is_pending(SIGPIPE));
    CHECK(is_pending(SIGXFSZ));
  }
  // This process would have ended here.
  CHECK_FALSE(is_pending(SIGPIPE));
  CHECK_FALSE(is_pending(SIGXFSZ));
  CHECK_FALSE(is_blocked(SIGXFSZ));
}

TEST_CASE("a signal that the program itself blocks stays blocked and pending") {
  sigset_t pipe_signal, before;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  pthread_kill(pthread_self(), SIGPIPE);
  { const DefaultEnvironment environment; }
  CHECK(is_blocked(SIGPIPE));
  CHECK(is_pending(SIGPIPE));
  const timespec at_once{};
  sigtimedwait(&pipe_signal, nullptr, &at_once);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("a thread of Pillion's own has default arithmetic, and no signals") {
  const Solver solver;
  double quotient = 0;
  int rounding = -1;
  bool takes_signals = true;
  std::thread thread = start_thread([&] {
    quotient = divided(1, 0);
    rounding = fegetround();
    takes_signals = !is_blocked(SIGTERM) || !is_blocked(SIGUSR1);
  });
  thread.join();
  CHECK(quotient == infinity);
  CHECK(rounding == FE_TONEAREST);
  CHECK_FALSE(takes_signals);
  CHECK_FALSE(is_blocked(SIGTERM));
}

TEST_CASE("programs that Pillion starts have the signals that it blocks for itself") {
  const DefaultEnvironment environment;
  const auto out = run_program({"/bin/sh", "-c", "grep SigBlk /proc/self/status"}, {}, 20);
  const std::string text(reinterpret_cast<const char*>(out.data()), out.size());
  CHECK(text.find("0000000000000000") != std::string::npos);
}

TEST_CASE("a step at which nothing is due raises no exception, whatever its time is") {
  std::deque<model::AnalysisSpec> analyses(1);
  analyses.front().every = {.steps = 1, .interval = 10};
  run::Agenda agenda(analyses);
  agenda.offer(0, 0);
  const Solver solver;
  const auto before = state();
  const volatile double not_a_number = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(agenda.idle(1, not_a_number));
  CHECK(state() == before);
}
