// SPDX-License-Identifier: BSD-3-Clause
// What a handle of the C interface points at, and how its functions read their arguments.
#pragma once

#include <pillion/pillion.h>

#include <memory>

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
  comm::AtFinalize forgotten{[this] { close_forgotten(); }};

  void close_forgotten() {
    ended = true;
    if (session.is_sidecar()) return;
    const auto status = base::guard([&] { session.close(); });
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
};

namespace pillion::capi {

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
