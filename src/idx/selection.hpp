// SPDX-License-Identifier: BSD-3-Clause
// From a box at a level to blocks, and from these to an array: samples that are asked for are a
// grid, those of a block are one, too, and reading copies what the two have in common.
#pragma once

#include <pillion/idx/blocks.hpp>
#include <vector>

namespace pillion::idx {

/// The samples of [lo, hi) at offset + k * stride. Extents are 0 where there are none.
Grid grid_within(const Point& lo, const Point& hi, const Point& stride, const Point& offset);

struct BlockOfLevel {
  int64_t number = 0;
  int level = 0;  ///< of its samples; of block 0, bits_per_block
};

/// The blocks that hold the levels above `after`, up to `level`, in [lo, hi), by number. `after` is
/// -1 for all. Block 0 is there if any of its levels has a sample in the box.
std::vector<BlockOfLevel> blocks_in(const Dataset& dataset, int after, int level, const Point& lo,
                                    const Point& hi);

/// At which place in memory the samples of a grid are, counted in samples. Parts that follow from
/// each axis alone make up a number, which in hierarchical order is a Z address yet.
struct Order {
  std::array<std::vector<int64_t>, 3> parts;
  int hierarchical_bits = -1;  ///< -1: the number is the place
};

Order in_rows(const Point& extent);
/// Bytes between neighbours along each axis of an array in rows.
Point strides_in_rows(const Point& extent, size_t sample_size);
/// Of a block that is in HZ order.
Order in_block(const Dataset& dataset, int level);

/// Copies the samples that two grids have in common; samples have `size` bytes. `to_strides` are
/// the bytes between neighbours in the array `to_values`. Along each axis the samples of one of the
/// grids must be among those of the other, were that without end.
void copy_common(const Grid& from, const Order& order, const std::byte* values, const Grid& to,
                 const Point& to_strides, std::byte* to_values, size_t size);

}  // namespace pillion::idx
