// SPDX-License-Identifier: BSD-3-Clause
// Tile by tile, so that every cache line is read and written once.
#include "base/tiles.hpp"

#include <algorithm>
#include <cstring>

namespace pillion::base {

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
    case 4: copy_tiles_of<4>(to, from, here, there); return true;
    case 8: copy_tiles_of<8>(to, from, here, there); return true;
    case 12: copy_tiles_of<12>(to, from, here, there); return true;
    case 16: copy_tiles_of<16>(to, from, here, there); return true;
    case 24: copy_tiles_of<24>(to, from, here, there); return true;
    default: return false;
  }
}

}  // namespace pillion::base
