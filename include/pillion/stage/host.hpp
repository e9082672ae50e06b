// SPDX-License-Identifier: BSD-3-Clause
// What all parts of the C++ face share: turning a failed host call into an exception, and the
// correspondence of C++ types with element types.
#pragma once

#include <pillion/stage.h>

#include <cstdint>
#include <pillion/error.hpp>
#include <type_traits>

namespace pillion::stage {

/// Throws what a host call that returned `status` has said.
inline void check(const pillion_stage_host* host, int32_t status) {
  if (status != 0) throw Error(static_cast<ErrorCode>(status), host->failure());
}

/// Throws if the host has less than this plug-in was built for. Called once, when a stage is
/// created.
inline void expect_host(const pillion_stage_host& host) {
  if (host.size < sizeof(pillion_stage_host))
    throw Error(ErrorCode::Plugin, "this stage needs a newer version of Pillion");
}

/// The element type that T is.
template <class T>
constexpr pillion_type type_of() {
  if constexpr (std::is_same_v<T, int32_t>) return PILLION_INT32;
  else if constexpr (std::is_same_v<T, int64_t>) return PILLION_INT64;
  else if constexpr (std::is_same_v<T, float>) return PILLION_FLOAT32;
  else if constexpr (std::is_same_v<T, int8_t>) return PILLION_INT8;
  else if constexpr (std::is_same_v<T, uint8_t>) return PILLION_UINT8;
  else if constexpr (std::is_same_v<T, int16_t>) return PILLION_INT16;
  else if constexpr (std::is_same_v<T, uint16_t>) return PILLION_UINT16;
  else if constexpr (std::is_same_v<T, uint32_t>) return PILLION_UINT32;
  else if constexpr (std::is_same_v<T, uint64_t>) return PILLION_UINT64;
  else {
    static_assert(std::is_same_v<T, double>, "no element type of Pillion");
    return PILLION_FLOAT64;
  }
}

/// Bytes of an element of that type; 0 if there is no such type.
constexpr int64_t size_of_element(pillion_type type) {
  switch (type) {
    case PILLION_INT8:
    case PILLION_UINT8: return 1;
    case PILLION_INT16:
    case PILLION_UINT16: return 2;
    case PILLION_INT32:
    case PILLION_UINT32:
    case PILLION_FLOAT32: return 4;
    case PILLION_INT64:
    case PILLION_UINT64:
    case PILLION_FLOAT64: return 8;
    default: return 0;
  }
}

/// Whether elements of that type are real numbers; else they are integers.
constexpr bool is_real(pillion_type type) {
  return type == PILLION_FLOAT32 || type == PILLION_FLOAT64;
}

}  // namespace pillion::stage
