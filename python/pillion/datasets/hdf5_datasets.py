# SPDX-License-Identifier: BSD-3-Clause
"""Datasets of HDF5 files, one for each step, as the stage `write_hdf5` writes them.

A note in their folder lists the complete steps, with their times and numbers of particles. Without
the note, the files are read for this. Steps that hold a subsample (`when_full: coarsen`) do not
count as complete.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pillion import shared_files
from pillion.datasets.lazy import Key, bounds, take
from pillion.datasets.stored import ELEMENT, PARTICLE, Stored, StoredField, attrs_of_origin
from pillion.errors import Error
from pillion.step_names import step_pattern
from pillion.yaml_text import ProductLoader

try:
    import h5py
except ImportError:
    raise Error("datasets of HDF5 need the Python package h5py: pip install h5py") from None

NOTE = ".steps"
NO_COORDINATE = b"This is a netCDF dimension but not a netCDF variable"


@dataclass(frozen=True)
class Moment:
    """A step that is whole."""

    step: int
    time: float
    coarsening: int
    count: int  # of cells, particles or elements


@contextmanager
def _open(path: Path) -> Iterator[h5py.File]:
    try:
        with h5py.File(path, "r", locking=False) as file:
            yield file
    except (OSError, KeyError) as error:
        hint = ""
        if "filter" in str(error):
            hint = "; the Python package hdf5plugin has filters: pip install hdf5plugin"
        raise Error(f"cannot read {path}: {error}{hint}") from error


def _file(folder: Path, name: str, step: int) -> Path:
    return folder / f"{name}.{step:09}.h5"


@dataclass(frozen=True)
class _Values:
    """Reads a field of a step's file."""

    folder: Path
    name: str
    field: str

    def __call__(self, step: int, key: Key) -> np.ndarray:
        with _open(_file(self.folder, self.name, step)) as file:
            values = file[self.field]
            found = [bounds(index, n) for index, n in zip(key, values.shape, strict=True)]
            part = values[tuple(slice(lo, hi) for lo, hi, _ in found)]
        return take(part, tuple(index for _, _, index in found))


def moments(folder: Path, name: str) -> list[Moment]:
    """The steps that have files, in order."""
    pattern = step_pattern(re.escape(name) + r"\.", r"\.h5")
    there = {int(match[1]) for path in folder.iterdir() if (match := pattern.fullmatch(path.name))}
    note = folder / NOTE
    if not note.exists():
        return [_moment(folder, name, step) for step in sorted(there)]
    return [of for of in noted(shared_files.read_text(note, "ascii")) if of.step in there]


def noted(text: str) -> list[Moment]:
    """The steps of a note. A step that was written again replaces itself and all later ones."""
    found: list[Moment] = []
    for line in text.split("\n")[:-1]:
        words = line.split()
        if len(words) != 4:
            break
        of = Moment(int(words[0]), float(words[1]), int(words[2]), int(words[3]))
        while found and found[-1].step >= of.step:
            found.pop()
        found.append(of)
    return found


def _moment(folder: Path, name: str, step: int) -> Moment:
    with _open(_file(folder, name, step)) as file:
        count = next(iter(_fields(file).values())).shape[0]
        attrs = file.attrs
        return Moment(step, float(attrs["time"]), int(attrs.get("coarsening", 1)), int(count))


def _fields(file: h5py.File) -> dict[str, h5py.Dataset]:
    return {
        name: item
        for name, item in file.items()
        if isinstance(item, h5py.Dataset) and not item.is_scale
    }


def stored_hdf5(folder: Path, name: str, step: int | None = None) -> Stored:
    """All whole steps, or this one alone. Raises Error if there are none."""
    every = moments(folder, name)
    chosen = [m for m in every if m.step == step] if step is not None else _not_coarse(every)
    if not chosen:
        what = "no step that is whole" if step is None else f"no step {step}"
        raise Error(f"{folder} has {what}")
    with _open(_file(folder, name, chosen[-1].step)) as file:
        fields = {
            field: _stored_field(values, _Values(folder, name, field))
            for field, values in _fields(file).items()
        }
        coords = dict(_coords(file))
        origin = _origin(file)
        attrs: dict[str, Any] = {"mesh": str(file.attrs["mesh"])}
        units = str(file.attrs["time_units"])
    is_mesh = all(of.dims[0] not in (PARTICLE, ELEMENT) for of in fields.values())
    if coarse := [m.step for m in every if m.coarsening > 1]:
        attrs["coarse_steps"] = coarse
    return Stored(
        [m.step for m in chosen],
        [m.time for m in chosen],
        units,
        fields,
        coords,
        attrs_of_origin(origin, str(folder / f"{name}.STEP.h5")) | attrs,
        () if is_mesh else [m.count for m in chosen],
    )


def _origin(file: h5py.File) -> dict[str, Any]:
    try:
        return yaml.load(str(file.attrs.get("origin", "")), Loader=ProductLoader) or {}
    except yaml.YAMLError as error:
        raise Error(f"{file.filename} has an origin that is not YAML: {error}") from error


def _not_coarse(every: list[Moment]) -> list[Moment]:
    return [m for m in every if m.coarsening == 1]


def _stored_field(values: h5py.Dataset, read: _Values) -> StoredField:
    names = [
        dim[0].name.rsplit("/", 1)[-1] if len(dim) else f"axis{n}"
        for n, dim in enumerate(values.dims)
    ]
    units = str(values.attrs.get("units", ""))
    return StoredField(values.dtype, tuple(names), values.shape, units, read)


def _coords(file: h5py.File) -> Iterator[tuple[str, tuple[np.ndarray, str]]]:
    for name, item in file.items():
        if isinstance(item, h5py.Dataset) and item.is_scale:
            label = bytes(item.attrs.get("NAME", b""))
            if not label.startswith(NO_COORDINATE) and item.dtype.kind == "f":
                yield name, (item[...], str(item.attrs.get("units", "")))
