# SPDX-License-Identifier: BSD-3-Clause
"""Packets of elements, as stages/encode/packet.cpp makes them: sections of values of one kind."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pillion.errors import Error

ROUNDED, COEFFICIENTS, VALUES = 0, 1, 2
STEPS_PER_OCTAVE = 16


@dataclass
class Packet:
    """The numbers of each element and component, and their kind (e, c). Numbers are
    (e, c, n, n, n), or (e, c, n, n) of elements of two dimensions.
    """

    numbers: NDArray[np.float64]
    values: NDArray[Any]  # in the field's type, where that is what is stored
    kinds: NDArray[np.uint8]


@cache
def by_degree(n: int, dimensions: int) -> NDArray[np.intp]:
    """Places of coefficients in the order in which they are stored."""
    degree = np.indices((n,) * dimensions).sum(axis=0)
    return np.argsort(degree.ravel(), kind="stable")


class _Reader:
    def __init__(self, data: bytes):
        self.data = np.frombuffer(data, np.uint8)
        self.at = 0

    def take(self, count: int) -> NDArray[np.uint8]:
        out = self.data[self.at : self.at + count]
        if len(out) != count:
            raise Error("a packet of elements ends too early")
        self.at += count
        return out

    def planes(self, width: int, shape: tuple[int, ...]) -> NDArray[Any]:
        """Numbers of `width` bytes each, stored as planes: the first bytes of all numbers come
        first.
        """
        count = int(np.prod(shape))
        planes = self.take(width * count).reshape(*shape[:-1], width, shape[-1])
        return np.ascontiguousarray(np.moveaxis(planes, -2, -1)).view(f"<u{width}")[..., 0]


@dataclass(frozen=True)
class PacketShape:
    """Components, and n points along each axis of an element, the same in all packets."""

    components: int
    n: int
    dimensions: int

    @property
    def size(self) -> int:
        """Points of an element."""
        return int(self.n**self.dimensions)

    @property
    def order(self) -> NDArray[np.intp]:
        return by_degree(self.n, self.dimensions)


def unpacked(data: bytes, elements: int, of: PacketShape, dtype: np.dtype[Any]) -> Packet:
    reader = _Reader(data)
    count, size = elements * of.components, of.size
    kinds = reader.take(count)
    steps = reader.take(2 * count).view("<i2").astype(np.int64)
    numbers = np.zeros((count, size))
    values = np.zeros((count, size), dtype)
    rounded = kinds == ROUNDED
    numbers[rounded] = _rounded(reader, int(rounded.sum()), of) * _steps(steps[rounded])[:, None]
    some = kinds == COEFFICIENTS
    numbers[some] = _coefficients(reader, int(some.sum()), of, dtype)
    as_values = kinds == VALUES
    words = reader.planes(dtype.itemsize, (int(as_values.sum()) * size,))
    values[as_values] = words.view(dtype).reshape(-1, size)
    shape = (elements, of.components, *(of.n,) * of.dimensions)
    return Packet(numbers.reshape(shape), values.reshape(shape), kinds.reshape(shape[:2]))


def _steps(index: NDArray[np.int64]) -> NDArray[np.float64]:
    octave, within = np.divmod(index, STEPS_PER_OCTAVE)
    return np.ldexp(np.exp2(within / STEPS_PER_OCTAVE), octave)


def _rounded(reader: _Reader, rows: int, of: PacketShape) -> NDArray[np.float64]:
    """Multiples, by row and coefficient; columns of like width are read together."""
    size = of.size
    widths = reader.take(size)
    columns = np.zeros((size, rows), np.int64)
    ends = np.flatnonzero(np.diff(widths)) + 1
    for first, last in zip([0, *ends], [*ends, size]):
        width = int(widths[first])
        if width == 0 or rows == 0:
            continue
        zigzag = reader.planes(width, (last - first, rows)).astype(np.uint64)
        columns[first:last] = (zigzag >> 1).astype(np.int64) ^ -(zigzag & 1).astype(np.int64)
    out = np.empty((rows, size))
    out[:, of.order] = columns.T
    return out


def _coefficients(
    reader: _Reader, rows: int, of: PacketShape, dtype: np.dtype[Any]
) -> NDArray[np.float64]:
    size = of.size
    bits = reader.take(rows * ((size + 7) // 8)).reshape(rows, (size + 7) // 8)
    there = np.unpackbits(bits, axis=1, count=size, bitorder="little").astype(bool)
    words = reader.planes(dtype.itemsize, (int(there.sum()),))
    ordered = np.zeros((rows, size))
    ordered[there] = words.view(dtype)
    out = np.empty((rows, size))
    out[:, of.order] = ordered
    return out
