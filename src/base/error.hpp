// SPDX-License-Identifier: BSD-3-Clause
// How the library throws: one exception type, messages made by fmt.
#pragma once

#include <fmt/format.h>

#include <pillion/error.hpp>
#include <source_location>
#include <utility>

namespace pillion::base {

/// A format string that keeps its place in the source, so that fail() needs no macro.
template <class... Args>
struct Format {
  fmt::format_string<Args...> text;
  std::source_location where;

  template <class S>
  consteval Format(const S& s, std::source_location w = std::source_location::current())
      : text(s), where(w) {}
};

/// Throws an Error whose message is formatted from the arguments.
template <class... Args>
[[noreturn]] void fail(ErrorCode code, Format<std::type_identity_t<Args>...> format,
                       Args&&... args) {
  throw Error(code, fmt::format(format.text, std::forward<Args>(args)...), format.where);
}

}  // namespace pillion::base
