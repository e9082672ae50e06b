# SPDX-License-Identifier: BSD-3-Clause
"""Datasets of raw files: blocks as ranks had them, put together to whole fields.

A part of a mesh is read from the blocks that have some of it. Steps that hold a subsample
(`when_full: coarsen`) are left out.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pillion.datasets.kept import Kept
from pillion.datasets.lazy import Key, bounds, take
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
from pillion.yaml_text import ProductLoader


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        found = yaml.load(path.read_text(encoding="utf-8"), Loader=ProductLoader)
    except OSError as error:
        raise Error(f"cannot read {path}: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise Error(f"{path} is no index of raw files: {error}") from error
    if not isinstance(found, dict):
        raise Error(f"{path} is no index of raw files")
    return found


indices: Kept[dict[str, Any]] = Kept(_read_yaml, 16 << 20)


@dataclass(frozen=True)
class _Field:
    number: int
    dtype: np.dtype
    components: int
    points: tuple[int, ...] = ()  # of an element


@dataclass(frozen=True)
class _Blocks:
    """Reads a field from the blocks of a step; `cells` are those of the mesh, x first."""

    head: Path
    of: _Field
    cells: tuple[int, ...] | None

    def __call__(self, step: int, key: Key) -> np.ndarray:
        blocks = indices(self._index(step)).get("blocks") or []
        return self._items(blocks, key) if self.cells is None else self._mesh(blocks, key)

    def _index(self, step: int) -> Path:
        steps = {entry["step"]: entry for entry in indices(self.head)["steps"]}
        if step not in steps:
            raise Error(f"{self.head} has step {step} no more")
        return self.head.parent / str(steps[step]["index"])

    def _values(self, block: dict[str, Any], shape: tuple[int, ...]) -> np.ndarray:
        path, of = self.head.parent / str(block["file"]), self.of
        shape += (of.components, *of.points)
        if 0 in shape:
            return np.empty(shape, of.dtype)
        try:
            return np.memmap(path, of.dtype, "r", block["offsets"][of.number], shape)
        except (OSError, ValueError) as error:
            raise Error(f"cannot read {path}: {error}") from error

    def _mesh(self, blocks: list[dict[str, Any]], key: Key) -> np.ndarray:
        assert self.cells is not None
        axes = len(self.cells)
        shape = self.cells[::-1]
        found = [bounds(index, n) for index, n in zip(key, shape, strict=False)]
        low, high = [f[0] for f in found], [f[1] for f in found]
        out = np.empty((*(f[1] - f[0] for f in found), self.of.components), self.of.dtype)
        missing = out.size
        for block in blocks:
            lo, hi = block["lo"][::-1], block["hi"][::-1]
            begin = [max(a, b) for a, b in zip(lo, low, strict=True)]
            end = [min(a, b) for a, b in zip(hi, high, strict=True)]
            if any(b >= e for b, e in zip(begin, end, strict=True)):
                continue
            values = self._values(block, tuple(b - a for a, b in zip(lo, hi, strict=True)))
            there = tuple(slice(b - a, e - a) for a, b, e in zip(lo, begin, end, strict=True))
            here = tuple(slice(b - a, e - a) for a, b, e in zip(low, begin, end, strict=True))
            out[here] = values[there]
            missing -= out[here].size
        if missing > 0:
            raise Error(f"{self.head}: blocks of a step do not cover the mesh")
        if self.of.components == 1:
            out = out[..., 0]
        return take(out, (*(f[2] for f in found), *key[axes:]))

    def _items(self, blocks: list[dict[str, Any]], key: Key) -> np.ndarray:
        parts = [self._values(block, (int(block["count"]),)) for block in blocks]
        none = np.empty((0, self.of.components, *self.of.points), self.of.dtype)
        out = np.concatenate(parts) if parts else none
        return take(out[:, 0] if self.of.components == 1 else out, key)


def stored_raw(path: Path) -> Stored:
    """The dataset whose head is this file."""
    head = indices(path)
    try:
        return _stored(path, head)
    except (KeyError, TypeError, ValueError) as error:
        raise Error(f"{path} has a head that lacks or garbles an entry: {error!r}") from error


def _stored(path: Path, head: dict[str, Any]) -> Stored:
    steps = [entry for entry in head["steps"] or [] if entry["coarsening"] == 1]
    if not steps:
        raise Error(f"{path} has no step that is whole")
    mesh = head["mesh"]
    cells = tuple(int(n) for n in mesh["cells"]) if "cells" in mesh else None
    counts = [] if cells else [_count(path.parent / str(entry["index"])) for entry in steps]
    item = ELEMENT if "order" in mesh else PARTICLE
    dims = (item,) if cells is None else AXES[-len(cells) :]
    shape = (counts[-1],) if cells is None else cells[::-1]
    fields = {}
    for number, entry in enumerate(head["fields"]):
        points = (int(mesh["order"]) + 1,) * 3 if entry.get("centering") == "points" else ()
        of = _Field(number, np.dtype(entry["type"]), int(entry["components"]), points)
        more = (component_axis(of.components),) if of.components > 1 else ()
        fields[str(entry["name"])] = StoredField(
            of.dtype,
            dims + more + (POINTS if points else ()),
            shape + ((of.components,) if more else ()) + points,
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
        {} if cells is None else _coords(mesh, length_units(head, [*fields])),
        attrs_of_origin(head, str(path)) | attrs,
        counts,
    )


def _count(index: Path) -> int:
    return sum(int(block["count"]) for block in indices(index).get("blocks") or [])


def _coords(mesh: dict[str, Any], units: str) -> dict[str, tuple[np.ndarray, str]]:
    """Centres of cells."""
    found = {}
    for axis, cells in enumerate(mesh["cells"]):
        width = float(mesh["length"][axis]) / cells
        centres = float(mesh["origin"][axis]) + (np.arange(cells) + 0.5) * width
        found["xyz"[axis]] = centres, units
    return found
