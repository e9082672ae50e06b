# SPDX-License-Identifier: BSD-3-Clause
"""Frames of LAMMPS's binary dump files (names that end in `.bin`), format revision 2, which LAMMPS
writes since 2020. LAMMPS's tool binary2txt, which turns them into text, documents the format: a
head with the names of columns, and for each rank that wrote a number of values and these.
"""

import mmap
import struct

import numpy as np

_MAGIC = (b"DUMPATOM", b"DUMPCUSTOM")
_REVISION = 2
_PERIODIC = 0  # LAMMPS's numbers for boundaries: p, f, s, m


class EndOfFileError(ValueError):
    """The file ends in a frame."""


class _Numbers:
    """Reads one value after another. Raises EndOfFileError at the end of the file."""

    def __init__(self, data: mmap.mmap, at: int) -> None:
        self.data, self.at, self.order = data, at, "<"

    def read(self, types: str) -> tuple:
        form = self.order + types
        end = self.at + struct.calcsize(form)
        if end > len(self.data):
            raise EndOfFileError(f"the file ends before byte {end}")
        values = struct.unpack_from(form, self.data, self.at)
        self.at = end
        return values

    def text(self, size: int) -> str:
        if not 0 <= size <= 1 << 20:
            raise ValueError(f"a text of {size} bytes is in the head at byte {self.at}")
        return self.read(f"{size}s")[0].decode("ascii")


class BinaryHead:
    """The head in front of a frame's atoms. `at` is the place of the atoms, `end` that of the next
    frame. Raises ValueError.
    """

    def __init__(self, data: mmap.mmap, at: int) -> None:
        numbers = _Numbers(data, at)
        self._read_magic(numbers)
        self.step, self.count, is_tilted = numbers.read("qqi")
        self.flags = [flag == _PERIODIC for flag in numbers.read("6i")][::2]
        box = numbers.read("6d")
        tilt = numbers.read("3d") if is_tilted else (0.0, 0.0, 0.0)
        self.bounds = [[box[2 * d], box[2 * d + 1], tilt[d]] for d in range(3)]
        (width,) = numbers.read("i")
        numbers.text(numbers.read("i")[0])  # the style of units
        (has_time,) = numbers.read("b")
        self.time = numbers.read("d")[0] if has_time else None
        self.columns = tuple(numbers.text(numbers.read("i")[0]).split())
        if len(self.columns) != width or width == 0:
            raise ValueError(f"step {self.step} has {width} columns and {len(self.columns)} names")
        (self.ranks,) = numbers.read("i")
        self.order, self.at = numbers.order, numbers.at
        self.end = self._end(numbers)

    @staticmethod
    def _read_magic(numbers: _Numbers) -> None:
        (size,) = numbers.read("q")
        if size >= 0 or -size > 16:  # of the other byte order, or of LAMMPS before 2020
            numbers.at, numbers.order = numbers.at - 8, ">"
            (size,) = numbers.read("q")
        known = -size in map(len, _MAGIC) and numbers.read(f"{-size}s")[0] in _MAGIC
        if not known or numbers.read("i") != (1,):
            raise ValueError("a frame does not begin as those of LAMMPS since 2020 do")
        (revision,) = numbers.read("i")
        if revision != _REVISION:
            raise ValueError(f"its format has revision {revision}, and {_REVISION} is known")

    def _end(self, numbers: _Numbers) -> int:
        values = 0
        for _ in range(self.ranks):
            (count,) = numbers.read("i")
            if count >= 0 and numbers.at + 8 * count > len(numbers.data):
                raise EndOfFileError(f"step {self.step} has not all of its atoms")
            if count < 0:
                raise ValueError(f"step {self.step} has not all of its atoms")
            numbers.at += 8 * count
            values += count
        if values != self.count * len(self.columns):
            raise ValueError(f"step {self.step} has not all of its atoms")
        return numbers.at


def is_binary(data: mmap.mmap) -> bool:
    """Whether it begins with bytes that no text has."""
    return any(byte < 9 or byte > 126 for byte in data[:8])


def read_binary(data: bytes, ranks: int, order: str, columns: int) -> np.ndarray:
    """[column, atom] of the bytes from a head's `at` to its `end`."""
    parts, at = [], 0
    for _ in range(ranks):
        (count,) = struct.unpack_from(order + "i", data, at)
        parts.append(np.frombuffer(data, order + "f8", count, at + 4))
        at += 4 + 8 * count
    return np.concatenate(parts).reshape(-1, columns).T.astype(float)
