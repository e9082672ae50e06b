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

// Tile by tile, so that every cache line is read and written once.

namespace {

/// One tile. With counts that are known when this is compiled, its loops are unrolled.
template <size_t bytes>
void copy_tile(std::byte* to, const std::byte* from, int64_t here, int64_t there, const Loop& of_to,
               const Loop& of_from) {
  for (int64_t v = 0; v < there; ++v)
    for (int64_t u = 0; u < here; ++u)
      std::memcpy(to + u * static_cast<int64_t>(bytes) + v * of_to.to,
                  from + u * of_from.from + v * static_cast<int64_t>(bytes), bytes);
}

/// A tile is about a cache line on both sides; larger ones would fall out of caches where strides
/// are powers of two.
template <size_t bytes>
void copy_tiles_of(std::byte* to, const std::byte* from, const Loop& here, const Loop& there) {
  constexpr int64_t side = bytes <= 4 ? 16 : bytes <= 8 ? 8 : 4;
  for (int64_t i = 0; i < here.count; i += side)
    for (int64_t j = 0; j < there.count; j += side) {
      std::byte* target = to + i * here.to + j * there.to;
      const std::byte* source = from + i * here.from + j * there.from;
      const int64_t wide = std::min(side, here.count - i), high = std::min(side, there.count - j);
      if (wide == side && high == side) copy_tile<bytes>(target, source, side, side, there, here);
      else copy_tile<bytes>(target, source, wide, high, there, here);
    }
}

}  // namespace

bool copy_tiles(std::byte* to, const std::byte* from, const Loop& here, const Loop& there,
                size_t bytes) {
  switch (bytes) {
    case 1: copy_tiles_of<1>(to, from, here, there); return true;
    case 2: copy_tiles_of<2>(to, from, here, there); return true;
    case 4: copy_tiles_of<4>(to, from, here, there); return true;
    case 8: copy_tiles_of<8>(to, from, here, there); return true;
    case 12: copy_tiles_of<12>(to, from, here, there); return true;
    case 16: copy_tiles_of<16>(to, from, here, there); return true;
    case 24: copy_tiles_of<24>(to, from, here, there); return true;
    default: return false;
  }
}

}  // namespace pillion::base
