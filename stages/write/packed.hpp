// SPDX-License-Identifier: BSD-3-Clause
// Blocks as the simulation shares them, one value after the other as files have them.
#pragma once

#include <cstring>

#include "../common/messages.hpp"
#include "source.hpp"

namespace pillion::stages {

/// Whether elements lie one after the other along the axes of such an extent.
inline bool is_packed(const stage::Array& array, const int64_t (&extent)[3]) {
  int64_t stride = array.components;
  for (int d = 0; d < 3; ++d) {
    if (extent[d] > 1 && array.strides[d] != stride) return false;
    stride *= extent[d];
  }
  return array.components == 1 || array.strides[3] == 1;
}

/// The first axis fastest, components interleaved.
inline Bytes close_packed(const stage::Array& array, const int64_t (&extent)[3]) {
  const size_t size = bytes_of(array.type);
  Bytes out(static_cast<size_t>(extent[0] * extent[1] * extent[2] * array.components) * size);
  std::byte* to = out.data();
  const auto* from = static_cast<const std::byte*>(array.data);
  for (int64_t k = 0; k < extent[2]; ++k)
    for (int64_t j = 0; j < extent[1]; ++j)
      for (int64_t i = 0; i < extent[0]; ++i)
        for (int64_t c = 0; c < array.components; ++c, to += size) {
          const int64_t at = i * array.strides[0] + j * array.strides[1] + k * array.strides[2] +
                             c * array.strides[3];
          std::memcpy(to, from + at * static_cast<int64_t>(size), size);
        }
  return out;
}

}  // namespace pillion::stages
