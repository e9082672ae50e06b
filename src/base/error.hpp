// SPDX-License-Identifier: BSD-3-Clause
// How the library fails: one exception type, messages made by fmt, and a status for C.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <new>
#include <pillion/error.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace pillion::base {

/// A format string that keeps its place in the source, so that fail() needs no macro.
template <class... Args>
struct Format {
  fmt::format_string<Args...> text;
  SourceLocation where;

  template <class S>
  consteval Format(const S& s, SourceLocation w = SourceLocation::current()) : text(s), where(w) {}
};

/// Throws an Error whose message is formatted from the arguments.
template <class... Args>
[[noreturn]] void fail(ErrorCode code, Format<std::type_identity_t<Args>...> format,
                       Args&&... args) {
  throw Error(code, fmt::format(format.text, std::forward<Args>(args)...), format.where);
}

// At the border to C: no exception passes, and the message of the last failure stays readable on
// its thread.

inline std::string& message_of_thread() noexcept {
  static thread_local std::string message;
  return message;
}
/// Message of the last failure on this thread.
inline const char* last_error() noexcept { return message_of_thread().c_str(); }

/// Stores a failure on this thread and returns its status.
inline int32_t set_last_error(ErrorCode code, const char* message) noexcept {
  try {
    message_of_thread() = message == nullptr ? "" : message;
  } catch (...) {
    message_of_thread().clear();
  }
  return static_cast<int32_t>(code);
}

/// The message of every lack of memory.
inline constexpr const char* out_of_memory = "out of memory";
inline bool is_out_of_memory(const Error& failure) {
  return std::string_view(failure.what()) == out_of_memory;
}

/// Runs `body`; returns 0, or the status of what it threw.
template <class F>
int32_t guard(F&& body) noexcept {
  try {
    body();
    return 0;
  } catch (const Error& e) {
    return set_last_error(e.code(), e.what());
  } catch (const std::bad_alloc&) {
    return set_last_error(ErrorCode::Stage, out_of_memory);
  } catch (const std::exception& e) {
    return set_last_error(ErrorCode::Internal, e.what());
  } catch (...) {
    return set_last_error(ErrorCode::Internal, "an exception that is not a std::exception");
  }
}

}  // namespace pillion::base
