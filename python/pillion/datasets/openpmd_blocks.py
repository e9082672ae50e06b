# SPDX-License-Identifier: BSD-3-Clause
"""Boxes of meshes with levels or missing cells in files of the stage `write_openpmd`, which lists
them beside the records. They are read as those of raw files are.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pillion.datasets.file_arrays import Box
from pillion.datasets.hdf5_arrays import opened
from pillion.datasets.kept import Kept
from pillion.datasets.openpmd_files import Iteration, Record, iterations, read_record
from pillion.datasets.raw_blocks import RawArray, RawBlock, RawField, RawIndex
from pillion.errors import Error


def records_at(of: Iteration, level: int) -> dict[str, Record]:
    """The records at a level, by the names of fields."""
    return {record.field or record.name: record for record in of.records if record.level == level}


def first_cell(of: Iteration, record: Record) -> tuple[int, ...]:
    """The first cell of a record among those of its level."""
    whole = records_at(of, 0)[record.field]
    along = zip(record.offset, whole.offset, record.spacing, strict=True)
    return tuple(round((at - origin) / spacing) for at, origin, spacing in along)


@dataclass(frozen=True)
class _RecordBox(RawArray):
    """An array that is a box of a record; `lo` is its corner there."""

    parts: tuple[str, ...] = ()  # paths of the components
    lo: tuple[int, ...] = ()

    def read_box(self, box: Box, out: np.ndarray) -> None:
        axes = len(self.lo)
        ends = zip(box[:axes], self.lo, strict=True)
        with opened(self.path) as file:
            values = read_record(file, self.parts, [(lo + a, lo + b) for (a, b), lo in ends])
        inner: list[Any] = [slice(a, b) for a, b in box[axes:]]
        out[...] = values[(..., *inner)]


@dataclass(frozen=True)
class RecordField(RawField):
    """A field that is a record at each level."""

    parts: Mapping[int, tuple[str, ...]] = field(default_factory=dict)  # by level
    first: Mapping[int, tuple[int, ...]] = field(default_factory=dict)  # cells of the records

    def array_of(self, block: RawBlock) -> RawArray:
        extent = tuple(hi - lo for lo, hi in block.box)
        corner = zip(block.box, self.first[block.level], strict=True)
        lo = tuple(at - first for (at, _), first in corner)
        parts = self.parts[block.level]
        return _RecordBox(block.path, self.dtype, extent + self.inner, 0, parts, lo)


def field_of_record(path: Path, of: Iteration, record: Record) -> RecordField:
    """A field of a file that lists boxes, from its record at the coarsest level. Raises Error if a
    box is not in the record of its level.
    """
    levels = {r.level: r for r in of.records if (r.field, r.mesh) == (record.field, record.mesh)}
    first = {level: first_cell(of, r) for level, r in levels.items()}
    blocks = index_of_openpmd(path, record.mesh).blocks
    for block in blocks:
        if block.level not in levels or not all(
            at <= lo < hi <= at + n
            for (lo, hi), at, n in zip(
                block.box, first[block.level], levels[block.level].shape, strict=True
            )
        ):
            raise Error(
                f"'{path}' cannot be read: a box of mesh '{record.mesh}' at level {block.level} is "
                "not in its record"
            )
    covered = sum(block.count for block in blocks if block.level == 0)
    return RecordField(
        record.field,
        -1,
        np.dtype(record.type),
        (len(record.parts),) if len(record.parts) > 1 else (),
        is_partial=covered < math.prod(record.shape),
        parts={level: r.parts for level, r in levels.items()},
        first=first,
    )


def index_of_openpmd(path: Path, mesh: str) -> RawIndex:
    """The boxes of a mesh at all levels. Raises Error if the file cannot be read or lists none."""
    found = _indices(path).get(mesh)
    if found is None:
        raise Error(f"'{path}' cannot be read: it lists no boxes of mesh '{mesh}'")
    return found


def _read(path: Path) -> dict[str, RawIndex]:
    lists = {
        (record.mesh, record.level): record.boxes
        for iteration in iterations(path) or []
        for record in iteration.records
        if record.boxes
    }
    out: dict[str, list[RawBlock]] = {}
    with opened(path) as file:
        for (mesh, level), dataset in sorted(lists.items()):
            for lo, hi in file[dataset][...].tolist():
                box = tuple(zip(lo, hi, strict=True))
                # It has an offset, as blocks that are not slabs of one array do.
                out.setdefault(mesh, []).append(RawBlock(path, box, (0,), level, True))
    return {mesh: RawIndex(path, tuple(blocks), None) for mesh, blocks in out.items()}


_indices: Kept[dict[str, RawIndex]] = Kept(_read)
