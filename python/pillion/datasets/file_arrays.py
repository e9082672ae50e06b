# SPDX-License-Identifier: BSD-3-Clause
"""Boxes of arrays whose values lie in a file as they do in memory: .npy files and raw blocks.

Only the bytes of the box are read, with positioned reads, into the array that the caller gives. A
buffer of bounded size is needed only where values change their type or their places.
"""

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from pillion.errors import Error

Span = tuple[int, int]  # [lo, hi) along an axis
Box = Sequence[Span]  # from the slowest axis to the fastest

_BUFFER = 4 << 20  # bytes


def read_box(
    path: Path, offset: int, dtype: np.dtype, shape: Sequence[int], box: Box, out: np.ndarray
) -> None:
    """Reads a box of the array of this shape and type that begins at the offset; the last axis is
    the fastest. `out` has the shape of the box, any strides, and a type that loses nothing. Raises
    Error if the file cannot be read or has ended before.
    """
    if out.size == 0:
        return
    with _opened(path) as file:
        if out.dtype == dtype and out.flags.c_contiguous:
            _read_runs(file, path, offset, shape, box, out)
            return
        for piece in _pieces(box, _BUFFER // dtype.itemsize):
            values = np.empty([hi - lo for lo, hi in piece], dtype)
            _read_runs(file, path, offset, shape, piece, values)
            place = (slice(a - lo, b - lo) for (a, b), (lo, _) in zip(piece, box, strict=True))
            out[tuple(place)] = values


def runs_of(shape: Sequence[int], box: Box) -> tuple[np.ndarray, int]:
    """Begin and length of the contiguous pieces of a box in the file, counted in values of the
    array. All pieces have one length; they are in the order of the box's values.
    """
    if any(lo >= hi for lo, hi in box):
        return np.empty(0, np.int64), 0
    length, whole = 1, len(shape)  # from the axis `whole` on the box has all that there is
    while whole > 0 and box[whole - 1] == (0, shape[whole - 1]):
        whole -= 1
        length *= shape[whole]
    first = 0
    if whole > 0:
        whole -= 1
        lo, hi = box[whole]
        first, length = lo * length, (hi - lo) * length
    begins = np.array([first], np.int64)
    stride = math.prod(shape[whole:])
    for axis in reversed(range(whole)):
        along = np.arange(*box[axis], dtype=np.int64) * stride
        begins = (along[:, None] + begins).reshape(-1)
        stride *= shape[axis]
    return begins, length


def _pieces(box: Box, most: int) -> Iterator[Box]:
    """The box in pieces of at most `most` values, along its slowest axes."""
    values = math.prod(hi - lo for lo, hi in box)
    axis = next((n for n, (lo, hi) in enumerate(box) if hi - lo > 1), None)
    if values <= most or axis is None:
        yield box
        return
    lo, hi = box[axis]
    step = max(1, most * (hi - lo) // values)
    for begin in range(lo, hi, step):
        part = [*box[:axis], (begin, min(begin + step, hi)), *box[axis + 1 :]]
        yield from _pieces(part, most)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            yield file
        finally:
            os.close(file)
    except OSError as error:
        raise Error(f"'{path}' cannot be read: {error.strerror}") from error


def _read_runs(
    file: int, path: Path, offset: int, shape: Sequence[int], box: Box, out: np.ndarray
) -> None:
    begins, length = runs_of(shape, box)
    size = length * out.itemsize
    memory = out.reshape(-1).view(np.uint8).data
    for number, begin in enumerate(begins.tolist()):
        at = number * size
        _read_all(file, path, offset + begin * out.itemsize, memory[at : at + size])


def _read_all(file: int, path: Path, offset: int, memory: memoryview) -> None:
    while len(memory) > 0:
        count = os.preadv(file, [memory], offset)
        if count == 0:
            raise Error(f"'{path}' cannot be read: it has become shorter since it was looked at")
        memory = memory[count:]
        offset += count
