# SPDX-License-Identifier: BSD-3-Clause
"""Datasets of raw files: blocks as ranks had them, put together to whole fields.

A part of a mesh is read from the blocks that have some of it. Steps that hold a subsample
(`when_full: coarsen`) are left out.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pillion.datasets.kept import Kept
from pillion.datasets.lazy import Key, bounds, take
from pillion.datasets.raw_blocks import RawField, garbled, index_of, read_map
from pillion.datasets.stored import (
    AXES,
    ELEMENT,
    PARTICLE,
    POINTS,
    Stored,
    StoredField,
    attrs_of_origin,
    component_axis,
)
from pillion.errors import Error
from pillion.idx.origin import length_units

heads: Kept[dict[str, Any]] = Kept(read_map, 16 << 20)


@dataclass(frozen=True)
class _Blocks:
    """Reads a field from the blocks of a step; `cells` are those of the mesh, x first."""

    head: Path
    of: RawField
    cells: tuple[int, ...] | None

    def __call__(self, step: int, key: Key) -> np.ndarray:
        index = index_of(self._index(step))
        shape = (index.items,) if self.cells is None else self.cells[::-1]
        found = [bounds(at, n) for at, n in zip(key, shape, strict=False)]
        box = [(lo, hi) for lo, hi, _ in found]
        out = np.empty((*(hi - lo for lo, hi in box), *self.of.inner), self.of.dtype)
        self.of.read(index, box, out)
        return take(out, (*(within for _, _, within in found), *key[len(shape) :]))

    def _index(self, step: int) -> Path:
        steps = {entry["step"]: entry for entry in heads(self.head)["steps"]}
        if step not in steps:
            raise Error(f"{self.head} has step {step} no more")
        return self.head.parent / str(steps[step]["index"])


def stored_raw(path: Path) -> Stored:
    """The dataset whose head is this file."""
    head = heads(path)
    try:
        return _stored(path, head)
    except (KeyError, TypeError, ValueError) as error:
        raise garbled(path, error) from error


def _stored(path: Path, head: dict[str, Any]) -> Stored:
    steps = [entry for entry in head["steps"] or [] if entry["coarsening"] == 1]
    if not steps:
        raise Error(f"{path} has no step that is whole")
    mesh = head["mesh"]
    cells = tuple(int(n) for n in mesh["cells"]) if "cells" in mesh else None
    counts = []
    if cells is None:
        counts = [index_of(path.parent / str(entry["index"])).items for entry in steps]
    faces: tuple[np.ndarray, ...] = ()
    if mesh.get("kind") == "rectilinear":
        faces = index_of(path.parent / str(steps[-1]["index"])).faces
    item = ELEMENT if "order" in mesh else PARTICLE
    dims = (item,) if cells is None else AXES[-len(cells) :]
    shape = (counts[-1],) if cells is None else cells[::-1]
    fields = {}
    for number, entry in enumerate(head["fields"]):
        is_at_points = entry.get("centering") == "point"
        points = (int(mesh["order"]) + 1,) * int(mesh.get("dimensions", 3)) if is_at_points else ()
        components = int(entry["components"])
        several = (components,) if components > 1 else ()
        name, dtype = str(entry["name"]), np.dtype(entry["type"])
        of = RawField(name, number, dtype, several + points, mesh.get("covered") == "partial")
        more = (component_axis(components),) if several else ()
        fields[name] = StoredField(
            dtype,
            dims + more + (POINTS[-len(points) :] if points else ()),
            shape + of.inner,
            str(entry.get("units") or ""),
            _Blocks(path, of, cells),
        )
    attrs: dict[str, Any] = {"mesh": str(mesh["name"])}
    if coarse := [entry["step"] for entry in head["steps"] if entry["coarsening"] > 1]:
        attrs["coarse_steps"] = coarse
    return Stored(
        [int(entry["step"]) for entry in steps],
        [float(entry["time"]) for entry in steps],
        str(head.get("time_units") or ""),
        fields,
        {} if cells is None else _coords(mesh, length_units(head, [*fields]), faces),
        attrs_of_origin(head, str(path)) | attrs,
        counts,
    )


def _coords(
    mesh: dict[str, Any], units: str, faces: tuple[np.ndarray, ...]
) -> dict[str, tuple[np.ndarray, str]]:
    """Centres of cells."""
    found = {}
    for axis, cells in enumerate(mesh["cells"]):
        of_axis = "degrees" if _is_angle(mesh, axis) else units
        if faces:
            found["xyz"[axis]] = (faces[axis][1:] + faces[axis][:-1]) / 2, of_axis
            continue
        width = float(mesh["length"][axis]) / cells
        centres = float(mesh["origin"][axis]) + (np.arange(cells) + 0.5) * width
        found["xyz"[axis]] = centres, of_axis
    return found


def _is_angle(mesh: dict[str, Any], axis: int) -> bool:
    metric, axes = mesh.get("metric"), len(mesh["cells"])
    return (metric == "spherical" and axis < 2) or (
        metric == "cylindrical" and axis == 1 and axes == 3
    )
