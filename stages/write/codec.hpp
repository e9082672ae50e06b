// SPDX-License-Identifier: BSD-3-Clause
// How blocks are compressed: as zlib streams, bare LZ4 blocks or zfp streams. What would not become
// smaller stays as it is, which the block's flags say.
#pragma once

#include <lz4.h>
#include <zlib.h>

#include <cstddef>
#include <pillion/idx/blocks.hpp>
#include <span>
#include <vector>

#include "zfp_codec.hpp"

namespace pillion::stages {

/// What the table of blocks says of one that became smaller.
inline uint32_t flags_of(idx::Codec codec) {
  constexpr uint32_t row_major = 0x10;
  return static_cast<uint32_t>(codec) | (codec == idx::Codec::zfp ? row_major : 0);
}

/// A block given in HZ order. Empty if the bytes would not become fewer.
inline std::vector<std::byte> packed(const idx::Dataset& dataset, const idx::Field& field,
                                     int64_t block, std::span<const std::byte> bytes) {
  if (field.codec == idx::Codec::zfp) return zfp_packed(dataset, field, block, bytes);
  std::vector<std::byte> out(bytes.size());
  size_t size = 0;
  if (field.codec == idx::Codec::zip) {
    auto room = static_cast<uLongf>(out.size());
    if (compress2(reinterpret_cast<Bytef*>(out.data()), &room,
                  reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()),
                  Z_BEST_SPEED) == Z_OK)
      size = room;
  } else {
    const int length = static_cast<int>(bytes.size());
    const int made = LZ4_compress_default(reinterpret_cast<const char*>(bytes.data()),
                                          reinterpret_cast<char*>(out.data()), length, length);
    if (made > 0) size = static_cast<size_t>(made);
  }
  out.resize(size < bytes.size() ? size : 0);
  out.shrink_to_fit();
  return out;
}

}  // namespace pillion::stages
