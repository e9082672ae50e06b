# SPDX-License-Identifier: BSD-3-Clause
"""Datasets of series of openPMD that the stage `write_openpmd` has written, of one mesh, at a level
of refinement, or of one species. Steps that hold a subsample (`when_full: coarsen`) are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pillion import shared_files
from pillion.datasets.hdf5_arrays import opened
from pillion.datasets.hdf5_datasets import NOTE, noted
from pillion.datasets.kept import Stamp, stamp_of
from pillion.datasets.lazy import Key, bounds, take
from pillion.datasets.openpmd_blocks import first_cell, records_at
from pillion.datasets.openpmd_files import Iteration, Record, iterations, read_record
from pillion.datasets.stored import (
    AXES,
    PARTICLE,
    Stored,
    StoredField,
    attrs_of_origin,
    component_axis,
)
from pillion.errors import Error
from pillion.yaml_text import ProductLoader


@lru_cache(4096)
def _head(path: Path, _: Stamp) -> Iteration:
    found = iterations(path)
    if found is None or len(found) != 1:
        raise Error(f"'{path}' is not a step of a series of openPMD")
    return found[0]


def heads(path: Path) -> Iteration:
    """The contents of a file of one step, as it is now."""
    return _head(path, stamp_of(path))


@dataclass(frozen=True)
class _Values:
    """Reads a field of a step's file."""

    paths: Mapping[int, Path]
    field: str
    level: int
    cells: tuple[int, ...]  # of the level, z first; empty of particles
    dtype: np.dtype
    inner: tuple[int, ...]  # components, if there are several

    def __call__(self, step: int, key: Key) -> np.ndarray:
        path = self.paths[step]
        record = records_at(heads(path), self.level).get(self.field)
        shape = self.cells or (record.shape if record is not None else (0,))
        found = [bounds(index, n) for index, n in zip(key, shape, strict=False)]
        out = np.full(
            [*(hi - lo for lo, hi, _ in found), *self.inner],
            np.nan if self.dtype.kind == "f" else 0,
            self.dtype,
        )
        if record is not None:
            self._read(path, record, [(lo, hi) for lo, hi, _ in found], out)
        within = tuple(within for _, _, within in found)
        return take(out, (*within, *key[len(shape) :]))

    def _read(self, path: Path, record: Record, box: list[tuple[int, int]], out: Any) -> None:
        """Reads the part of the box that the record has; it begins anywhere in its level."""
        first = first_cell(heads(path), record) if self.cells else (0,)
        common = [
            (max(lo, begin), min(hi, begin + n))
            for (lo, hi), begin, n in zip(box, first, record.shape, strict=True)
        ]
        if any(lo >= hi for lo, hi in common):
            return
        there = [(lo - b, hi - b) for (lo, hi), b in zip(common, first, strict=True)]
        here = tuple(slice(lo - b, hi - b) for (lo, hi), (b, _) in zip(common, box, strict=True))
        with opened(path) as file:
            out[here] = read_record(file, record.parts, there)


def _cells(whole: Record, record: Record) -> tuple[int, ...]:
    """The cells of the level of a record."""
    along = zip(whole.shape, whole.spacing, record.spacing, strict=True)
    return tuple(round(n * coarse / fine) for n, coarse, fine in along)


def stored_openpmd(folder: Path, name: str, level: int | None = None) -> Stored:
    """The steps that are whole, at a level, by default the coarsest. Raises Error if there is none,
    or if the series has several meshes or species.
    """
    level = 0 if level is None else level
    note = folder / NOTE
    if not note.exists():
        raise Error(f"{folder} has no step that is whole")
    moments = [m for m in noted(shared_files.read_text(note, "ascii")) if m.coarsening == 1]
    paths = {m.step: folder / f"{name}_{m.step:09}.h5" for m in moments}
    of_steps = {step: heads(path) for step, path in paths.items() if path.exists()}
    with_level = [of for of in of_steps.values() if records_at(of, level)]
    if not with_level:
        raise Error(f"{folder} has no step that is whole" + (f" at level {level}" if level else ""))
    last = with_level[-1]
    records = records_at(last, level)
    meshes = sorted({record.mesh for record in last.records})
    if len(meshes) > 1:
        raise Error(
            f"{folder} holds several meshes and species, {', '.join(meshes)}: open it with "
            "openPMD-api, or write each of them in a stage of its own"
        )
    one = next(iter(records.values()))
    counts = []
    if one.is_particles:
        counts = [records_at(of, 0)[one.field].shape[0] for of in of_steps.values()]
    whole = records_at(last, 0)
    cells = () if one.is_particles else _cells(whole[one.field], one)
    origin = yaml.load(last.origin, Loader=ProductLoader) or {}
    attrs: dict[str, Any] = {"mesh": meshes[0]}
    if not one.is_particles:
        levels = 1 + max(record.level for of in of_steps.values() for record in of.records)
        attrs |= {"level": level, "levels": levels}
    return Stored(
        list(of_steps),
        [of.time for of in of_steps.values()],
        last.time_units,
        {
            field: _stored_field(field, record, cells, paths, level)
            for field, record in records.items()
        },
        {} if one.is_particles else _coords(whole[one.field], one, cells),
        attrs_of_origin(origin, str(folder)) | attrs,
        counts,
    )


def _stored_field(
    name: str, record: Record, cells: tuple[int, ...], paths: Mapping[int, Path], level: int
) -> StoredField:
    count, dtype = len(record.parts), np.dtype(record.type)
    several, inner = ((component_axis(count),), (count,)) if count > 1 else ((), ())
    axes = AXES[-len(cells) :] if cells else (PARTICLE,)
    values = _Values(paths, name, level, cells, dtype, inner)
    return StoredField(dtype, axes + several, (cells or record.shape) + inner, record.units, values)


def _coords(
    whole: Record, record: Record, cells: tuple[int, ...]
) -> dict[str, tuple[np.ndarray, str]]:
    """The places of values."""
    return {
        AXES[-len(cells) :][d]: (
            whole.offset[d] + (np.arange(n) + record.position[d]) * record.spacing[d],
            record.length_units,
        )
        for d, n in enumerate(cells)
    }
