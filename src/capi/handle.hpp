// SPDX-License-Identifier: BSD-3-Clause
// What a handle of the C interface points at, and how its functions read their arguments.
#pragma once

#include <pillion/pillion.h>
#include <unistd.h>

#include <limits>
#include <memory>
#include <utility>

#include "base/default_environment.hpp"
#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "session/session.hpp"
#include "simulation/simulation.hpp"

namespace pillion::capi {

// A simulation that ends without closing its session would leave its sidecars waiting for ever, so
// the session closes itself when MPI is finalised.
struct OpenSession {
  session::Session session;
  bool ended = false;  ///< by MPI_Finalize
  pid_t process = getpid();
  comm::AtFinalize forgotten{[this] { close_forgotten(); }};

  /// False in a child that was forked after the session had opened.
  [[nodiscard]] bool is_of_this_process() const { return process == getpid(); }

  void close_forgotten() {
    if (std::exchange(ended, true)) return;
    if (session.is_sidecar() || !is_of_this_process()) return;
    // Every rank comes to MPI_Finalize, however late.
    constexpr double no_limit = std::numeric_limits<double>::infinity();
    const auto status = base::guard([&] { session.close(no_limit); });
    session.log().warn("the session was not closed before MPI_Finalize{}{}",
                       status != 0 ? ": " : "", status != 0 ? pillion_error_message() : "");
  }
};

}  // namespace pillion::capi

// What a handle points at stays when the session has closed, so that a call with a closed handle is
// an error and not a crash. It is a few bytes per session.
struct pillion_session {
  std::unique_ptr<pillion::capi::OpenSession> open;
  bool is_sidecar = false;

  /// Forgets the session, which has closed. MPI may still write to what one has whose ranks have
  /// parted, so that stays.
  void end() {
    const bool stays = open && open->session.must_stay();
    if (stays) open->ended = true;
    if (stays) kept = std::move(open);
    open.reset();
  }

 private:
  std::unique_ptr<pillion::capi::OpenSession> kept;
};

namespace pillion::capi {

/// Runs the body of a call, and keeps from it what is unusual about the program's thread. A
/// function that programs call at every step, also where nothing is due, has base::guard alone;
/// tools/check_host.py lists these.
template <class F>
int32_t contained(F&& body) noexcept {
  const base::DefaultEnvironment environment;
  return base::guard(body);
}

/// What a pointer points at; throws ErrorCode::Argument if it is NULL.
template <class T>
T& given(T* pointer, const char* what) {
  if (pointer == nullptr) base::fail(ErrorCode::Argument, "{} is NULL", what);
  return *pointer;
}

inline const char* text(const char* pointer, const char* what) {
  given(pointer, what);
  return pointer;
}

/// The session of a handle; throws ErrorCode::State if it has closed.
inline session::Session& opened(const pillion_session* session) {
  const auto& open = given(session, "the session").open;
  if (!open) base::fail(ErrorCode::State, "the session is closed");
  if (open->ended) base::fail(ErrorCode::State, "MPI_Finalize has closed the session");
  return open->session;
}

inline simulation::Simulation& side(const pillion_session* session) {
  return opened(session).simulation();
}

}  // namespace pillion::capi
