# SPDX-License-Identifier: BSD-3-Clause
"""Which block holds which samples. Block 0 holds all levels up to the number of bits per block;
every other block is part of one level, and its samples are a grid.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from pillion.idx.bitmask import AXES, Bitmask, Point
from pillion.idx.grid import Box, Grid, grid_within


def blocks_of_level(
    mask: Bitmask, bits_per_block: int, level: int, box: Box
) -> Iterator[tuple[int, Grid]]:
    """Numbers and grids of the blocks of a level that have samples in a box, in any order.

    The level must be above `bits_per_block`.
    """
    leading = level - 1 - bits_per_block  # bits that tell blocks of this level apart
    cell = mask.part(leading + 1, mask.bits).extents
    extent = mask.part(leading + 1, level - 1).extents
    stride, offset = mask.stride(level - 1), offset_of_level(mask, level)
    numbers, ranges = _numbers_of_level(mask, bits_per_block, level, box)
    for (k, j, i), number in np.ndenumerate(numbers):
        x, y, z = (
            int(ranges[a][at]) * cell[a] + offset[a] for a, at in zip(range(AXES), (i, j, k))
        )
        yield int(number), Grid((x, y, z), extent, stride)


def numbers_within(mask: Bitmask, bits_per_block: int, finest: int, box: Box) -> np.ndarray:
    """Numbers of all blocks of the levels up to `finest` that have samples in a box, in order."""
    has_first = grid_within(box, mask.stride(bits_per_block)).size > 0
    of_levels = [
        _numbers_of_level(mask, bits_per_block, level, box)[0].reshape(-1)
        for level in range(bits_per_block + 1, finest + 1)
    ]
    return np.sort(np.concatenate([np.zeros(int(has_first), np.int64), *of_levels]))


def _numbers_of_level(
    mask: Bitmask, bits_per_block: int, level: int, box: Box
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Block numbers, indexed [z, y, x], and the places of these blocks along x, y and z."""
    leading = level - 1 - bits_per_block  # bits that tell blocks of this level apart
    cell = mask.part(leading + 1, mask.bits).extents
    wanted = grid_within(box, mask.stride(level - 1), offset_of_level(mask, level))
    if wanted.size == 0:
        return np.empty((0, 0, 0), np.int64), [np.empty(0, np.int64)] * AXES
    ranges = [
        np.arange(wanted.origin[a] // cell[a], wanted.last[a] // cell[a] + 1) for a in range(AXES)
    ]
    return mask.part(1, leading).z_addresses(*ranges) | (1 << leading), ranges


def offset_of_level(mask: Bitmask, level: int) -> Point:
    """The first sample of a level: its bit at that position is set."""
    axis, stride = mask.axes[level - 1], mask.stride(level)
    x, y, z = (stride[a] if a == axis else 0 for a in range(AXES))
    return x, y, z


def first_block(mask: Bitmask, bits_per_block: int) -> Grid:
    """The grid of block 0."""
    return Grid((0, 0, 0), mask.part(1, bits_per_block).extents, mask.stride(bits_per_block))


def extent_of_block(mask: Bitmask, bits_per_block: int, number: int) -> Point:
    """Numbers of samples of a block's grid along each axis."""
    if number == 0:
        return mask.part(1, bits_per_block).extents
    level = bits_per_block + number.bit_length()
    return mask.part(level - bits_per_block, level - 1).extents


def order_of_block(mask: Bitmask, bits_per_block: int, level: int) -> np.ndarray:
    """Places in a block in HZ order of the samples of its grid, indexed [z, y, x]; of block 0 if
    the level is one of those that it holds.
    """
    if level <= bits_per_block:
        return _order(mask.part(1, bits_per_block), True)
    return _order(mask.part(level - bits_per_block, level - 1), False)


# Bitmasks repeat themselves, so levels share what they need.
@lru_cache(maxsize=32)
def _order(part: Bitmask, hierarchical: bool) -> np.ndarray:
    places = part.z_addresses(*(np.arange(extent) for extent in part.extents))
    return part.hz_of(places) if hierarchical else places
