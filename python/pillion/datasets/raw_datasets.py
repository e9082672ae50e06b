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
from pillion.datasets.raw_blocks import (
    RawField,
    RawIndex,
    coordinates_in,
    fields_in,
    garbled,
    index_of,
    read_map,
)
from pillion.datasets.stored import (
    AXES,
    CELL,
    ELEMENT,
    PARTICLE,
    POINT,
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
        index = index_at(self.head, step)
        shape = _shape_of(self.of, index, self.cells)
        found = [bounds(at, n) for at, n in zip(key, shape, strict=False)]
        box = [(lo, hi) for lo, hi, _ in found]
        out = np.empty((*(hi - lo for lo, hi in box), *self.of.inner), self.of.dtype)
        self.of.read(index, box, out)
        return take(out, (*(within for _, _, within in found), *key[len(shape) :]))


def _paths_in(head: Path) -> dict[int, str]:
    return {entry["step"]: str(entry["index"]) for entry in heads(head)["steps"] or []}


_paths: Kept[dict[int, str]] = Kept(_paths_in, 16 << 20)  # of the indices, by step


def index_at(head: Path, step: int) -> RawIndex:
    """The blocks of a step of the dataset. Raises Error if it has no such step, or no more."""
    paths = _paths(head)
    if step not in paths:
        raise Error(f"{head} has no step {step}")
    return index_of(head.parent / paths[step])


def _shape_of(of: RawField, index: RawIndex, cells: tuple[int, ...] | None) -> tuple[int, ...]:
    """The extents of all items of a step."""
    if cells is None:
        return (index.points if of.is_at_points else index.items,)
    return tuple(n + more for n, more in zip(cells[::-1], of.more, strict=True))


def _dims_of(of: RawField, mesh: dict[str, Any]) -> tuple[str, ...]:
    if "cells" in mesh:
        names = zip(AXES[-len(of.more) :], POINTS[-len(of.more) :], of.more, strict=True)
        return tuple(point if more else cell for cell, point, more in names)
    if mesh.get("kind") == "unstructured":
        return (POINT if of.is_at_points else CELL,)
    return (ELEMENT if "order" in mesh else PARTICLE,)


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
    indices = [index_of(path.parent / str(entry["index"])) for entry in steps[-1:]]
    if cells is None:
        indices = [index_of(path.parent / str(entry["index"])) for entry in steps]
    last, found = indices[-1], fields_in(head)
    units = {str(entry["name"]): str(entry.get("units") or "") for entry in head["fields"]}
    if (beside := coordinates_in(head, last)) is not None:
        found.append(beside)
        units[beside.name] = length_units(head, [*units])
    fields = {}
    for of in found:
        points = of.inner[-int(mesh.get("dimensions", 3)) :] if _is_at_nodes(of, head) else ()
        components = of.inner[: len(of.inner) - len(points)]
        dims = _dims_of(of, mesh) + tuple(map(component_axis, components))
        fields[of.name] = StoredField(
            of.dtype,
            dims + _dims_of_points(points, mesh),
            _shape_of(of, last, cells) + of.inner,
            units[of.name],
            _Blocks(path, of, cells),
        )
    has_points = {of.is_at_points for of in found} if cells is None else set()
    main = [index.points if has_points == {True} else index.items for index in indices]
    more = {POINT: [index.points for index in indices]} if len(has_points) == 2 else {}
    attrs: dict[str, Any] = {"mesh": str(mesh["name"])}
    if coarse := [entry["step"] for entry in head["steps"] if entry["coarsening"] > 1]:
        attrs["coarse_steps"] = coarse
    return Stored(
        [int(entry["step"]) for entry in steps],
        [float(entry["time"]) for entry in steps],
        str(head.get("time_units") or ""),
        fields,
        _coords(mesh, length_units(head, [*fields]), last.faces, [of.more[::-1] for of in found]),
        attrs_of_origin(head, str(path)) | attrs,
        main if cells is None else (),
        more,
    )


def _dims_of_points(points: tuple[int, ...], mesh: dict[str, Any]) -> tuple[str, ...]:
    """Names of the axes of an element's points. Points that are not those of the mesh have axes of
    their own, such as point3_z.
    """
    if not points:
        return ()
    of_mesh = points[0] == int(mesh["order"]) + 1
    names = POINTS if of_mesh else [name.replace("_", f"{points[0]}_") for name in POINTS]
    return tuple(names[-len(points) :])


def _is_at_nodes(of: RawField, head: dict[str, Any]) -> bool:
    """Whether a field has a value at each point of a spectral element."""
    return "order" in head["mesh"] and head["fields"][of.number].get("centering") == "point"


def _coords(
    mesh: dict[str, Any], units: str, faces: tuple[np.ndarray, ...], more: list[tuple[int, ...]]
) -> dict[str, tuple[np.ndarray, str]]:
    """Centres of cells along each axis, and points where some field has values at these: by field,
    how many more these are.
    """
    found: dict[str, tuple[np.ndarray, str]] = {}
    if "cells" not in mesh or mesh.get("kind") == "curvilinear":
        return found
    for axis, cells in enumerate(mesh["cells"]):
        of_axis = "degrees" if _is_angle(mesh, axis) else units
        if faces:
            along, centres = faces[axis], (faces[axis][1:] + faces[axis][:-1]) / 2
        else:
            first, width = float(mesh["origin"][axis]), float(mesh["length"][axis]) / cells
            along = first + np.arange(cells + 1) * width
            centres = first + (np.arange(cells) + 0.5) * width
        if any(of[axis] == 0 for of in more):
            found["xyz"[axis]] = centres, of_axis
        if any(of[axis] == 1 for of in more):
            found["point_" + "xyz"[axis]] = along, of_axis
    return found


def _is_angle(mesh: dict[str, Any], axis: int) -> bool:
    metric, axes = mesh.get("metric"), len(mesh["cells"])
    return (metric == "spherical" and axis < 2) or (
        metric == "cylindrical" and axis == 1 and axes == 3
    )
