// SPDX-License-Identifier: BSD-3-Clause
// The last failure of a thread.
#include "base/guard.hpp"

#include <string>

namespace pillion::base {
namespace {

thread_local std::string message_of_thread;

}  // namespace

int32_t set_last_error(ErrorCode code, const char* message) noexcept {
  try {
    message_of_thread = message == nullptr ? "" : message;
  } catch (...) {
    message_of_thread.clear();
  }
  return static_cast<int32_t>(code);
}

const char* last_error() noexcept { return message_of_thread.c_str(); }

}  // namespace pillion::base
