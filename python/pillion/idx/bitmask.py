# SPDX-License-Identifier: BSD-3-Clause
"""The order of samples in an IDX dataset, as whole arrays of them.

A bitmask says, from the coarsest split to the finest, along which axis the grid is halved. The bits
of a sample's coordinates in that order make its Z address; that, with the number of trailing zeros
in front, makes its HZ address. Level 0 is HZ address 0, level H ≥ 1 the addresses from 2^(H-1) to
2^H. (V. Pascucci, R. J. Frank, "Global static indexing for real-time exploration of very large
regular grids", SC 2001.)
"""

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pillion.errors import Error

AXES = 3
MOST_BITS = 62

Point = tuple[int, int, int]


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
