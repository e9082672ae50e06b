// SPDX-License-Identifier: BSD-3-Clause
// Structs that a plug-in makes for the host: each begins with its size, and is not believed before
// that has been checked.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/error.hpp"

namespace pillion::stagehost {

/// Throws ErrorCode::Plugin unless a struct is as large as the host's, or larger with nothing in
/// what the host does not know. `what` names it in messages.
template <class T>
void expect_known(const T& given, const char* what) {
  constexpr size_t most = 65536;  // a larger value is not a size
  if (given.size < sizeof(T) || given.size > most)
    base::fail(ErrorCode::Plugin,
               "a stage passed {} of {} bytes, and this Pillion has {}; build the plug-in again",
               what, given.size, sizeof(T));
  const auto* bytes = reinterpret_cast<const std::byte*>(&given);
  if (std::any_of(bytes + sizeof(T), bytes + given.size,
                  [](std::byte b) { return b != std::byte{0}; }))
    base::fail(ErrorCode::Plugin,
               "a stage set what this Pillion does not know in {} of {} bytes; use a newer Pillion",
               what, given.size);
}

}  // namespace pillion::stagehost
