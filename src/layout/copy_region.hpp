// SPDX-License-Identifier: BSD-3-Clause
// Copies a box of cells from one arrangement in memory to another, in runs as long as both allow.
#pragma once

#include "model/block.hpp"

namespace pillion::layout {

/// Where the cells of a box are: element (i, j, k), component c, of the box that begins at `lo` is
/// at data[(i - lo[0]) * strides[0] + ... + c * strides[3]], in elements.
template <class Byte>
struct CellArrangement {
  Byte* data = nullptr;
  std::array<int64_t, 3> lo{};
  std::array<int64_t, 4> strides{};
  std::vector<int64_t> offsets{};  ///< of components in arrays of their own, see model::Array
};

using Source = CellArrangement<const std::byte>;
using Target = CellArrangement<std::byte>;

Source source_of(const model::Array& array, const model::Box& box);

/// The region alone, components interleaved, first axis fastest.
template <class Byte>
CellArrangement<Byte> packed_at(Byte* data, const model::Box& region, int32_t components) {
  return {data, region.lo, model::packed_strides(region, components)};
}

/// Where a cell is, given the bytes of an element.
template <class Byte>
Byte* address(const CellArrangement<Byte>& arrangement, const std::array<int64_t, 3>& cell,
              size_t element) {
  int64_t at = 0;
  for (size_t d = 0; d < 3; ++d) at += (cell[d] - arrangement.lo[d]) * arrangement.strides[d];
  return arrangement.data + at * static_cast<int64_t>(element);
}

/// Copies `region`, given where the target's cells are counted; those of the source are counted
/// from `shift` before.
void copy_region(const Target& to, const Source& from, const model::Box& region,
                 const std::array<int64_t, 3>& shift, int32_t components, size_t element);

}  // namespace pillion::layout
