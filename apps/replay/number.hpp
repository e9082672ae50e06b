// SPDX-License-Identifier: BSD-3-Clause
// The kinds of number that files hold, which of them become which type of a field without losing
// anything, and how: an integer never becomes another one, a real is never rounded.
#pragma once

#include <pillion/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace replay {

enum class Number : int32_t { Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, Float32, Float64 };

/// "int16" and the like.
const char* name_of(Number number);
const char* name_of(pillion_type type);
size_t size_of(Number number);
size_t size_of(pillion_type type);

/// The number with that many bytes of a kind: 'i' signed, 'u' unsigned, 'f' real. Nothing if it is
/// none of the above.
std::optional<Number> find_number(char kind, size_t bytes);

/// Whether every such number is one of the field's type.
bool fits(Number number, pillion_type type);

/// Turns `count` numbers into such of the field's type, which they must fit. `swapped`: their bytes
/// are in the order of other machines.
void convert(Number number, bool swapped, const std::byte* from, int64_t count, pillion_type type,
             std::byte* to);

}  // namespace replay
