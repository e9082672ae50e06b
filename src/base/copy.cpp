// SPDX-License-Identifier: BSD-3-Clause
// Streaming stores, by the instructions that every x86-64 processor has; elsewhere a plain copy.
#include "base/copy.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>

#include <cstdint>
#endif

namespace pillion::base {

#if defined(__SSE2__)

namespace {

constexpr size_t line = 64;

void stream_line(std::byte* to, const std::byte* from) {
  const auto* source = reinterpret_cast<const __m128i*>(from);
  auto* target = reinterpret_cast<__m128i*>(to);
  for (int i = 0; i < 4; ++i) _mm_stream_si128(target + i, _mm_loadu_si128(source + i));
}

}  // namespace

void stream(std::byte* to, const std::byte* from, size_t size) {
  const size_t before = std::min(size, (line - reinterpret_cast<std::uintptr_t>(to) % line) % line);
  std::memcpy(to, from, before);
  size_t at = before;
  for (; at + line <= size; at += line) stream_line(to + at, from + at);
  std::memcpy(to + at, from + at, size - at);
  _mm_sfence();
}

#else

void stream(std::byte* to, const std::byte* from, size_t size) { std::memcpy(to, from, size); }

#endif

}  // namespace pillion::base
