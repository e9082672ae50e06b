// SPDX-License-Identifier: BSD-3-Clause
// At the border to C: no exception passes, and the message of the last failure stays readable on
// its thread.
#pragma once

#include <exception>
#include <new>

#include "base/error.hpp"

namespace pillion::base {

/// Stores a failure on this thread and returns its status.
int32_t set_last_error(ErrorCode code, const char* message) noexcept;
/// Message of the last failure on this thread.
const char* last_error() noexcept;

/// Runs `body`; returns 0, or the status of what it threw.
template <class F>
int32_t guard(F&& body) noexcept {
  try {
    body();
    return 0;
  } catch (const Error& e) {
    return set_last_error(e.code(), e.what());
  } catch (const std::bad_alloc&) {
    return set_last_error(ErrorCode::Stage, "out of memory");
  } catch (const std::exception& e) {
    return set_last_error(ErrorCode::Internal, e.what());
  } catch (...) {
    return set_last_error(ErrorCode::Internal, "an exception that is not a std::exception");
  }
}

}  // namespace pillion::base
