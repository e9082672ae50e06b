# SPDX-License-Identifier: BSD-3-Clause
"""Parts of datasets of HDF5 that are arrays of a block: rows, or a box. They are read as those
of raw files are.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pillion.datasets.file_arrays import Box
from pillion.datasets.hdf5_arrays import opened, read_box
from pillion.datasets.raw_blocks import RawArray, RawBlock, RawField, RawIndex
from pillion.errors import Error

_SLABS = 256  # at most, from which ranks get equal shares


@dataclass(frozen=True)
class Hdf5Rows(RawArray):
    """An array that is some rows of a dataset; `offset` is the first of them."""

    dataset: str = ""
    components: int = 1  # of a row that are read
    rows: int = 1  # for each item; only the first of them if there are no `points`
    points: bool = False  # the rows of an item are its points, which lie behind its components

    def read_box(self, box: Box, out: np.ndarray) -> None:
        if out.size == 0:
            return
        (lo, hi), inner = box[0], math.prod(self.shape[1:])
        if not self.points:
            inner //= self.components
        stride = self.rows * (1 if self.points else inner)
        with opened(self.path) as file:
            place = f"'{self.path}', dataset '{self.dataset}' cannot be read"
            if self.dataset not in file:
                raise Error(f"{place}: it has changed since it was looked at")
            of = file[self.dataset]
            span = (self.offset + lo * stride, self.offset + hi * stride)
            row = [(0, extent) for extent in of.shape[1:]]
            values = np.empty((span[1] - span[0], *of.shape[1:]), of.dtype.newbyteorder("="))
            read_box(file, self.dataset, [span, *row], values)
        values = values.reshape(len(values), -1)[:, : self.components]
        if self.points:
            values = values.reshape(hi - lo, self.rows, -1).transpose(0, 2, 1)
        elif self.rows > 1:
            values = values[:: self.rows]
        values = values.reshape(hi - lo, *self.shape[1:])
        out[...] = values[(slice(None), *(slice(a, b) for a, b in box[1:]))]


@dataclass(frozen=True)
class Hdf5Box(RawArray):
    """An array that is a box of a dataset; `lo` is its corner there."""

    dataset: str = ""
    lo: tuple[int, ...] = ()

    def read_box(self, box: Box, out: np.ndarray) -> None:
        corner = self.lo + (0,) * (len(box) - len(self.lo))
        part = [(lo + a, lo + b) for (a, b), lo in zip(box, corner, strict=True)]
        values = np.empty([hi - lo for lo, hi in part], self.dtype.newbyteorder("="))
        with opened(self.path) as file:
            read_box(file, self.dataset, part, values)
        out[...] = values


@dataclass(frozen=True)
class Hdf5Elements(RawField):
    """A field that is a dataset with a row for each spectral element."""

    def array_of(self, block: RawBlock) -> RawArray:
        lo, hi = block.box[0]
        return Hdf5Box(block.path, self.dtype, (hi - lo, *self.inner), 0, self.name, (lo,))


def slabs_of(path: Path, extents: Sequence[int], is_box: bool = True) -> RawIndex:
    """Blocks of arrays of these extents, along the first of them."""
    count = max(1, min(extents[0], _SLABS))
    rest = tuple((0, n) for n in extents[1:])
    edges = [extents[0] * n // count for n in range(count + 1)]
    boxes = [((lo, hi), *rest) for lo, hi in itertools.pairwise(edges)]
    return RawIndex(path, tuple(RawBlock(path, box, (), is_box=is_box) for box in boxes), None)
