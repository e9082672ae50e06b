# SPDX-License-Identifier: BSD-3-Clause
"""Samples at regular distances, and what two such grids have in common. What a query returns is a
grid, and so is what a block holds: reading is copying between grids that overlap.
"""

from dataclasses import dataclass

from pillion.idx.bitmask import AXES, Point

Box = tuple[tuple[int, int], ...]  # [lo, hi) of each axis
Slices = tuple[slice, slice, slice]


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
    last_of_a, last_of_b = a.last, b.last
    for axis in reversed(range(AXES)):
        step = max(a.stride[axis], b.stride[axis])
        anchor = (a if a.stride[axis] == step else b).origin[axis]
        lo = max(a.origin[axis], b.origin[axis])
        first = lo + (anchor - lo) % step
        last = min(last_of_a[axis], last_of_b[axis])
        if first > last:
            return None
        for grid, out in ((a, in_a), (b, in_b)):
            own = grid.stride[axis]
            begin = (first - grid.origin[axis]) // own
            out.append(slice(begin, (last - grid.origin[axis]) // own + 1, step // own))
    return (in_a[0], in_a[1], in_a[2]), (in_b[0], in_b[1], in_b[2])
