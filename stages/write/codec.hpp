// SPDX-License-Identifier: BSD-3-Clause
// How blocks are compressed: as zlib streams or bare LZ4 blocks. What would not become smaller
// stays as it is, which the block's flags say.
#pragma once

#include <lz4.h>
#include <zlib.h>

#include <cstddef>
#include <pillion/idx/blocks.hpp>
#include <span>
#include <vector>

namespace pillion::stages {

/// Empty if the bytes would not become fewer.
inline std::vector<std::byte> packed(idx::Codec codec, std::span<const std::byte> bytes) {
  std::vector<std::byte> out(bytes.size());
  size_t size = 0;
  if (codec == idx::Codec::zip) {
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
