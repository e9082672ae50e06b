# SPDX-License-Identifier: BSD-3-Clause
"""IDX datasets: a level of them as arrays [step, z, y, x].

Every 2nd, 4th, … cell is read from coarse levels, without reading finer ones.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import pillion.idx
from pillion.datasets.kept import Kept
from pillion.datasets.lazy import Index, Key, bounds, length, take
from pillion.datasets.stored import AXES, Stored, StoredField, attrs_of_origin, component_axis
from pillion.errors import Error
from pillion.idx.dataset import Grid
from pillion.idx.origin import field_units, length_units, time_units, times_of

opened: Kept[pillion.idx.Dataset] = Kept(pillion.idx.open, 16 << 20)


@dataclass(frozen=True)
class _Samples:
    """Reads a field at a level; `key` is for its axes, z first, and its components."""

    path: Path
    field: str
    level: int

    def __call__(self, step: int, key: Key) -> np.ndarray:
        dataset = opened(self.path)
        grid = dataset.grid(self.level)
        axes = dataset.axes
        along = key[:axes][::-1]  # x first, as grids have it
        level = _coarsest(dataset, self.level, grid, along)
        box, within = [], []
        strides = dataset.stride(level)
        for axis, index in enumerate(along):
            lo, hi, _ = bounds(index, grid.extent[axis])
            own, coarse = grid.stride[axis], strides[axis]
            first = grid.origin[axis] + lo * own
            last = grid.origin[axis] + max(hi - 1, lo) * own
            box.append((first, last + 1 if hi > lo else first))
            within.append(_within(index, grid.extent[axis], lo, coarse // own))
        values = dataset[self.field].read(step, level, box).values
        return take(values, (*within[::-1], *key[axes:]))


def _within(index: Index, size: int, lo: int, ratio: int) -> Index:
    """The index into what was read, from `lo` on and only each `ratio`-th."""
    if isinstance(index, slice):
        index = np.arange(*index.indices(size))
    found = (index - lo) // ratio
    if len(found) > 0 and np.array_equal(found, np.arange(found[0], found[0] + len(found))):
        return slice(int(found[0]), int(found[-1]) + 1)  # which needs no copy
    return found


def _coarsest(
    dataset: pillion.idx.Dataset, finest: int, grid: Grid, along: tuple[Index, ...]
) -> int:
    """The first level that has all the samples which are asked for."""
    common = []
    for axis, index in enumerate(along):
        size = grid.extent[axis]
        places = np.arange(size)[index] * grid.stride[axis] + grid.origin[axis]
        common.append(int(np.gcd.reduce(places)) if length(index, size) > 0 else 0)
    fits = (
        level
        for level in range(finest)
        if all(c % s == 0 for c, s in zip(common, dataset.stride(level), strict=True))
    )
    return next(fits, finest)


def stored_idx(path: Path, level: int | None = None) -> Stored:
    """The dataset whose text is this file, at a level, by default the finest that is stored."""
    dataset = opened(path)
    if level is None:
        level = dataset.levels
    if not 0 <= level <= dataset.levels:
        raise Error(f"{path} has the levels 0 to {dataset.levels}; {level} is not there")
    grid, names = dataset.grid(level), AXES[-dataset.axes :]
    origin = dataset.origin or {}
    units = field_units(origin)
    shape = grid.shape[-dataset.axes :]
    fields = {}
    for name in dataset.fields:
        of = dataset[name]
        more = of.components > 1
        fields[name] = StoredField(
            of.dtype,
            names + ((component_axis(of.components),) if more else ()),
            shape + ((of.components,) if more else ()),
            units.get(name, ""),
            _Samples(path, name, level),
        )
    attrs = {"level": level, "levels": dataset.levels}
    return Stored(
        dataset.steps,
        times_of(origin, len(dataset.steps)),
        time_units(origin),
        fields,
        _coords(dataset, grid, length_units(origin, dataset.fields)),
        attrs_of_origin(origin, str(path)) | attrs,
    )


def _coords(
    dataset: pillion.idx.Dataset, grid: Grid, units: str
) -> dict[str, tuple[np.ndarray, str]]:
    """Centres of cells, or their indices if the dataset does not have a physical box."""
    found: dict[str, tuple[np.ndarray, str]] = {}
    for axis in range(dataset.axes):
        places = grid.origin[axis] + grid.stride[axis] * np.arange(grid.extent[axis])
        if dataset.physical_box is not None:
            (lo, hi), (first, end) = dataset.physical_box[axis], dataset.box[axis]
            centres = lo + (places - first + 0.5) * ((hi - lo) / (end - first))
            found["xyz"[axis]] = centres, units
        else:
            found["xyz"[axis]] = places, ""
    return found
