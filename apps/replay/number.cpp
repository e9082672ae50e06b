// SPDX-License-Identifier: BSD-3-Clause
// Conversion of numbers: every pair of types that fit is a loop of its own.
#include "replay/number.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

namespace replay {
namespace {

struct Description {
  Number number;
  char kind;
  size_t bytes;
  const char* name;
};

constexpr std::array<Description, 9> numbers = {{{Number::Int8, 'i', 1, "int8"},
                                                 {Number::Int16, 'i', 2, "int16"},
                                                 {Number::Int32, 'i', 4, "int32"},
                                                 {Number::Int64, 'i', 8, "int64"},
                                                 {Number::UInt8, 'u', 1, "uint8"},
                                                 {Number::UInt16, 'u', 2, "uint16"},
                                                 {Number::UInt32, 'u', 4, "uint32"},
                                                 {Number::Float32, 'f', 4, "float32"},
                                                 {Number::Float64, 'f', 8, "float64"}}};

const Description& describe(Number number) { return numbers[static_cast<size_t>(number)]; }

/// Calls `work` with a value of the C++ type.
template <class Work>
auto with(Number number, Work&& work) {
  switch (number) {
    case Number::Int8: return work(int8_t{});
    case Number::Int16: return work(int16_t{});
    case Number::Int32: return work(int32_t{});
    case Number::Int64: return work(int64_t{});
    case Number::UInt8: return work(uint8_t{});
    case Number::UInt16: return work(uint16_t{});
    case Number::UInt32: return work(uint32_t{});
    case Number::Float32: return work(float{});
    default: return work(double{});
  }
}

Number number_of(pillion_type type) {
  switch (type) {
    case PILLION_INT32: return Number::Int32;
    case PILLION_INT64: return Number::Int64;
    case PILLION_FLOAT32: return Number::Float32;
    default: return Number::Float64;
  }
}

/// Bits that tell values apart: those of integers, or of the mantissa.
template <class From, class To>
constexpr bool keeps_all() {
  if (std::is_floating_point_v<From> && !std::is_floating_point_v<To>) return false;
  return std::numeric_limits<From>::digits <= std::numeric_limits<To>::digits;
}

template <class From, class To>
void convert_each(bool swapped, const std::byte* from, int64_t count, std::byte* to) {
  for (int64_t i = 0; i < count; ++i, from += sizeof(From), to += sizeof(To)) {
    std::array<std::byte, sizeof(From)> bytes;
    std::memcpy(bytes.data(), from, sizeof(From));
    if (swapped) std::reverse(bytes.begin(), bytes.end());
    From value;
    std::memcpy(&value, bytes.data(), sizeof value);
    const To result = static_cast<To>(value);
    std::memcpy(to, &result, sizeof result);
  }
}

}  // namespace

const char* name_of(Number number) { return describe(number).name; }
const char* name_of(pillion_type type) { return name_of(number_of(type)); }
size_t size_of(Number number) { return describe(number).bytes; }
size_t size_of(pillion_type type) { return size_of(number_of(type)); }

std::optional<Number> find_number(char kind, size_t bytes) {
  for (const auto& known : numbers)
    if (known.kind == kind && known.bytes == bytes) return known.number;
  return {};
}

bool fits(Number number, pillion_type type) {
  return with(number, [&](auto from) {
    return with(number_of(type),
                [&](auto to) { return keeps_all<decltype(from), decltype(to)>(); });
  });
}

void convert(Number number, bool swapped, const std::byte* from, int64_t count, pillion_type type,
             std::byte* to) {
  with(number, [&](auto a) {
    with(number_of(type), [&](auto b) {
      if constexpr (keeps_all<decltype(a), decltype(b)>())
        convert_each<decltype(a), decltype(b)>(swapped, from, count, to);
    });
  });
}

}  // namespace replay
