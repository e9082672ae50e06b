# SPDX-License-Identifier: BSD-3-Clause
"""Datasets of plotfiles: a level of all steps, put together from its boxes. Cells without a box of
that level are NaN. Steps that hold a subsample (`when_full: coarsen`) are left out.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pillion.datasets.kept import Kept
from pillion.datasets.lazy import Key, bounds, take
from pillion.datasets.plotfiles import Plotfile, plotfiles_in
from pillion.datasets.stored import AXES, Stored, StoredField, attrs_of_origin, component_axis
from pillion.errors import Error
from pillion.idx.origin import length_units, time_units

headers: Kept[Plotfile] = Kept(lambda path: Plotfile(path.parent), 16 << 20)


@dataclass(frozen=True)
class _Boxes:
    """Reads a field of a level; `key` is for its axes, z first, and its components."""

    paths: dict[int, Path]  # of plotfiles, by step
    level: int
    cells: tuple[int, ...]  # of the level, x first
    field: str
    dtype: np.dtype

    def __call__(self, step: int, key: Key) -> np.ndarray:
        plotfile = headers(self.paths[step] / "Header")
        names = plotfile.fields[self.field]
        shape = self.cells[::-1]
        found = [bounds(at, n) for at, n in zip(key, shape, strict=False)]
        part = [(lo, hi) for lo, hi, _ in found]
        out = np.full([*(hi - lo for lo, hi in part), len(names)], np.nan, self.dtype)
        if self.level < len(plotfile.levels):
            plotfile.levels[self.level].read_part(names, part, out)
        within = tuple(within for _, _, within in found)
        return (
            take(out, (*within, *key[len(shape) :]))
            if len(names) > 1
            else take(out[..., 0], within)
        )


def stored_plotfiles(folder: Path, level: int | None = None) -> Stored:
    """The plotfiles in a folder, at a level, by default the coarsest."""
    level = 0 if level is None else level
    found = [headers(path / "Header") for path in plotfiles_in(folder)]
    whole = {of.step: of for of in found if of.coarsening == 1}
    if not whole:
        raise Error(f"{folder} has no plotfile that is whole")
    steps = sorted(whole)
    of_level = [whole[step] for step in steps if 0 <= level < len(whole[step].levels)]
    if not of_level:
        most = max(len(of.levels) for of in whole.values())
        raise Error(f"{folder} has no level {level}: there are {most}, from 0 on")
    last = of_level[-1]
    cells = last.levels[level].cells
    paths = {step: whole[step].path for step in steps}
    fields = {}
    hidden = {name for names in last.fields.values() if len(names) > 1 for name in names}
    for name, names in last.fields.items():
        if name in hidden:
            continue
        several, dtype = (len(names),) if len(names) > 1 else (), last.type_of(name)
        fields[name] = StoredField(
            dtype,
            AXES[-last.axes :] + ((component_axis(len(names)),) if several else ()),
            cells[::-1] + several,
            last.units.get(name, ""),
            _Boxes(paths, level, cells, name, dtype),
        )
    attrs = {
        "mesh": str(last.about.get("mesh") or ""),
        "level": level,
        "levels": max(len(of.levels) for of in whole.values()),
    }
    return Stored(
        steps,
        [whole[step].time for step in steps],
        time_units(last.about),
        fields,
        _coords(last, level),
        attrs_of_origin(last.about, str(folder)) | attrs,
    )


def _coords(plotfile: Plotfile, level: int) -> dict[str, tuple[np.ndarray, str]]:
    """Centres of cells."""
    units = length_units(plotfile.about, [*plotfile.fields])
    of = plotfile.levels[level]
    return {
        "xyz"[axis]: (plotfile.origin[axis] + (np.arange(n) + 0.5) * of.spacing[axis], units)
        for axis, n in enumerate(of.cells)
    }
