# SPDX-License-Identifier: BSD-3-Clause
"""The order of samples in an IDX dataset, as whole arrays of them, which block holds which samples,
and grids of samples.

A bitmask says, from the coarsest split to the finest, along which axis the grid is halved. The bits
of a sample's coordinates in that order make its Z address; that, with the number of trailing zeros
in front, makes its HZ address. Level 0 is HZ address 0, level H ≥ 1 the addresses from 2^(H-1) to
2^H. (V. Pascucci, R. J. Frank, "Global static indexing for real-time exploration of very large
regular grids", SC 2001.)

Block 0 holds all levels up to the number of bits per block; every other block is part of one level,
and its samples are a grid, at regular distances. What a query returns is a grid, too: reading is
copying between grids that overlap.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from pillion.errors import Error

AXES = 3
MOST_BITS = 62

Point = tuple[int, int, int]
Box = tuple[tuple[int, int], ...]  # [lo, hi) of each axis
Slices = tuple[slice, slice, slice]


@dataclass(frozen=True)
class Bitmask:
    """The axis of each bit, the coarsest first."""

    axes: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> "Bitmask":
        """Reads "V" and a digit for each bit; raises Error for anything else."""
        if not re.fullmatch(r"V[0-2]*", text) or len(text) > MOST_BITS + 1:
            raise Error(
                f"a bitmask is V and at most {MOST_BITS} digits, each 0, 1 or 2; this one is {text}"
            )
        return cls(tuple(int(digit) for digit in text[1:]))

    def __str__(self) -> str:
        return "V" + "".join(map(str, self.axes))

    @property
    def bits(self) -> int:
        """The finest level; there are 2^bits samples."""
        return len(self.axes)

    @cached_property
    def extents(self) -> Point:
        """Numbers of samples along each axis."""
        x, y, z = (1 << self.axes.count(axis) for axis in range(AXES))
        return x, y, z

    def part(self, first: int, last: int) -> "Bitmask":
        """The bits `first` to `last`, counted from 1."""
        return Bitmask(self.axes[first - 1 : last])

    def stride(self, level: int) -> Point:
        """Distances between samples of all levels up to this one."""
        return self.part(level + 1, self.bits).extents

    def z_part(self, axis: int, coordinates: np.ndarray) -> np.ndarray:
        """What coordinates along one axis give to Z addresses; those of all axes add up."""
        left = np.array(coordinates, dtype=np.int64)
        out = np.zeros_like(left)
        for bit, of in enumerate(reversed(self.axes)):
            if of == axis:
                out |= (left & 1) << bit
                left >>= 1
        return out

    def z_addresses(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Z addresses of the product of these coordinates, indexed [z, y, x]."""
        parts = [self.z_part(axis, c) for axis, c in enumerate((x, y, z))]
        return parts[2][:, None, None] | parts[1][None, :, None] | parts[0][None, None, :]

    def hz_of(self, z: np.ndarray) -> np.ndarray:
        """HZ addresses of Z addresses."""
        marked = z | np.int64(1 << self.bits)
        return (marked // (marked & -marked)) >> 1

    def z_of(self, hz: np.ndarray) -> np.ndarray:
        """Z addresses of HZ addresses."""
        marked = 2 * np.asarray(hz, dtype=np.int64) + 1
        return (marked << (self.bits - level_of(hz))) & ~np.int64(1 << self.bits)

    def points(self, z: np.ndarray) -> np.ndarray:
        """Coordinates (x, y, z), in the last dimension, of Z addresses."""
        out = np.zeros((*np.shape(z), AXES), dtype=np.int64)
        used = [0] * AXES
        for bit, axis in enumerate(reversed(self.axes)):
            out[..., axis] |= ((z >> bit) & 1) << used[axis]
            used[axis] += 1
        return out


def level_of(hz: np.ndarray) -> np.ndarray:
    """Levels of HZ addresses: how many bits these need."""
    left = np.array(hz, dtype=np.int64)
    out = np.zeros_like(left)
    for half in (32, 16, 8, 4, 2, 1):
        more = left >> half > 0
        out += half * more
        left = np.where(more, left >> half, left)
    return out + (left > 0)


@dataclass(frozen=True)
class Grid:
    """Samples at origin + k * stride, 0 <= k < extent; all in the order (x, y, z)."""

    origin: Point
    extent: Point
    stride: Point

    @property
    def shape(self) -> Point:
        """Of an array indexed [z, y, x]."""
        return self.extent[2], self.extent[1], self.extent[0]

    @property
    def size(self) -> int:
        return self.extent[0] * self.extent[1] * self.extent[2]

    @property
    def last(self) -> Point:
        x, y, z = (self.origin[a] + (self.extent[a] - 1) * self.stride[a] for a in range(AXES))
        return x, y, z


def grid_within(box: Box, stride: Point, offset: Point = (0, 0, 0)) -> Grid:
    """The samples of a box whose coordinates are offset + k * stride."""
    origin, extent = [], []
    for (lo, hi), step, first in zip(box, stride, offset, strict=True):
        origin.append(lo + (first - lo) % step)
        extent.append(max(0, -(-(hi - origin[-1]) // step)))
    return Grid((origin[0], origin[1], origin[2]), (extent[0], extent[1], extent[2]), stride)


def overlap(a: Grid, b: Grid) -> tuple[Slices, Slices] | None:
    """Where in arrays [z, y, x] of each the samples are that both have, or None.

    On each axis the samples of one must be among those of the other, were both without end.
    """
    in_a: list[slice] = []
    in_b: list[slice] = []
    for axis in reversed(range(AXES)):
        step = max(a.stride[axis], b.stride[axis])
        anchor = (a if a.stride[axis] == step else b).origin[axis]
        lo = max(a.origin[axis], b.origin[axis])
        first = lo + (anchor - lo) % step
        last = min(a.last[axis], b.last[axis])
        if first > last:
            return None
        for grid, out in ((a, in_a), (b, in_b)):
            own = grid.stride[axis]
            begin = (first - grid.origin[axis]) // own
            out.append(slice(begin, (last - grid.origin[axis]) // own + 1, step // own))
    return (in_a[0], in_a[1], in_a[2]), (in_b[0], in_b[1], in_b[2])


def blocks_of_level(
    mask: Bitmask, bits_per_block: int, level: int, box: Box
) -> Iterator[tuple[int, Grid]]:
    """Numbers and grids of the blocks of a level that have samples in a box, in any order.

    The level must be above `bits_per_block`.
    """
    leading = level - 1 - bits_per_block  # bits that tell blocks of this level apart
    cells = mask.part(1, leading)
    cell = mask.part(leading + 1, mask.bits).extents
    extent = mask.part(leading + 1, level - 1).extents
    stride, offset = mask.stride(level - 1), offset_of_level(mask, level)
    wanted = grid_within(box, stride, offset)
    if wanted.size == 0:
        return
    ranges = [
        np.arange(wanted.origin[a] // cell[a], wanted.last[a] // cell[a] + 1) for a in range(AXES)
    ]
    numbers = cells.z_addresses(*ranges) | (1 << leading)
    for (k, j, i), number in np.ndenumerate(numbers):
        x, y, z = (
            int(ranges[a][at]) * cell[a] + offset[a] for a, at in zip(range(AXES), (i, j, k))
        )
        yield int(number), Grid((x, y, z), extent, stride)


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
