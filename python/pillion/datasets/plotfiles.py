# SPDX-License-Identifier: BSD-3-Clause
"""AMReX plotfiles, of the stage `write_plotfile` or of any code that uses AMReX: fields, levels and
boxes, and the values of each. A series is a folder of them, or one that was named by its pattern.

Values are indexed [z, y, x]; boxes are half-open, x first, in cells of their level.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pillion import shared_files
from pillion.datasets.file_arrays import Box, read_box
from pillion.datasets.plotfile_headers import (
    BoxList,
    Header,
    read_box_head,
    read_box_list,
    read_header,
    refusal,
)
from pillion.errors import Error
from pillion.yaml_text import ProductLoader

FOLDER = "_plotfiles"  # what the folders of the stage's datasets end with


def open_plotfile(path: str | Path) -> "Plotfile":
    """Opens one plotfile, which is a folder. Its header is read at once, lists of boxes and values
    when they are used. Raises Error if it is none.
    """
    return Plotfile(Path(path))


def is_plotfile(path: Path) -> bool:
    """Whether a folder is a plotfile, whole or not."""
    return not path.name.startswith(".") and (path / "Header").is_file()


def plotfiles_in(folder: str | Path) -> list[Path]:
    """The plotfiles in a folder, in the order of their names. Raises Error if it cannot be read."""
    try:
        return sorted(path for path in Path(folder).iterdir() if is_plotfile(path))
    except OSError as error:
        raise Error(f"the folder '{folder}' cannot be read: {error.strerror}") from error


class Plotfile:
    """A plotfile.

    Attributes:
        path: its folder.
        step, time: of the simulation.
        axes: 1 to 3.
        origin, length: of the mesh in space, x first.
        levels: from the coarsest to the finest.
        fields: names of fields, each with the names of its components in the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        header = read_header(path / "Header")
        self._header = header
        self.step, self.time, self.axes = header.step, header.time, header.axes
        self.origin = header.origin
        self.length = tuple(b - a for a, b in zip(header.origin, header.end, strict=True))
        self.levels = tuple(Level(path, header, n) for n in range(len(header.levels)))
        for level in self.levels[1:]:
            level.check_ratio(self.levels[level.number - 1])
        self.fields = fields_of(header.names, self._declared)

    @cached_property
    def about(self) -> dict[str, Any]:
        """The data's origin as Pillion noted it; empty in plotfiles of other programs."""
        path = self.path / "pillion.yaml"
        if not path.is_file():
            return {}
        try:
            found = yaml.load(shared_files.read_text(path), Loader=ProductLoader)
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise refusal(path, str(error)) from error
        return found if isinstance(found, dict) else {}

    @property
    def coarsening(self) -> int:
        """1, or the stride of the cells that were kept when sidecars could not keep up."""
        found = self.about.get("coarsening")
        return found if isinstance(found, int) else 1

    @property
    def units(self) -> dict[str, str]:
        """Units of fields, as far as they are known."""
        return {name: str(entry.get("units") or "") for name, entry in self._entries.items()}

    def type_of(self, field: str) -> np.dtype:
        """The type that a field had before it was written, if Pillion wrote the file, else that of
        the values.
        """
        known: dict[str, np.dtype] = {name: np.dtype(name) for name in ("float32", "float64")}
        stored = self.levels[0].dtype.newbyteorder("=")
        return known.get(str(self._entries.get(field, {}).get("type")), stored)

    @property
    def _entries(self) -> dict[str, dict[str, Any]]:
        said = self.about.get("fields")
        entries = said if isinstance(said, list) else []
        return {str(e["name"]): e for e in entries if isinstance(e, dict) and "name" in e}

    @property
    def _declared(self) -> dict[str, int]:
        """Numbers of components of fields, if Pillion wrote the file."""
        counts = {name: entry.get("components") for name, entry in self._entries.items()}
        return {name: n for name, n in counts.items() if isinstance(n, int) and n > 1}

    def expect_whole(self) -> None:
        """Raises Error unless all files have what their lists of boxes say."""
        for level in self.levels:
            level.expect_whole()


class Level:
    """A level of a plotfile.

    Attributes:
        number: 0 is the coarsest.
        cells: of the whole domain, x first.
        spacing: sides of a cell.
    """

    def __init__(self, path: Path, header: Header, number: int) -> None:
        self._header, self._head = header, header.levels[number]
        self._path = path / f"{self._head.path}_H"
        self.number = number
        self.cells, self.spacing = self._head.cells, self._head.spacing

    @cached_property
    def _list(self) -> BoxList:
        found = read_box_list(self._path, self._head)
        if found.components != len(self._header.names):
            raise refusal(
                self._path,
                f"it has {found.components} components, and the plotfile {len(self._header.names)}",
            )
        if (found.boxes < 0).any() or (found.boxes > np.array(self.cells)).any():
            raise refusal(self._path, "a box lies outside of the level's domain")
        return found

    @property
    def boxes(self) -> np.ndarray:
        """Integers [box, 2, axis]: the lower corner and the upper one, half-open, x first."""
        return self._list.boxes

    def ratio_to(self, coarser: "Level") -> tuple[int, ...]:
        """By how much its cells are smaller along each axis."""
        return tuple(a // b for a, b in zip(self.cells, coarser.cells, strict=True))

    def check_ratio(self, coarser: "Level") -> None:
        if any(a % b != 0 for a, b in zip(self.cells, coarser.cells, strict=True)):
            raise refusal(
                self._path,
                f"level {self.number} has {self.cells} cells, which is no multiple of "
                f"{coarser.cells} on the level below",
            )

    @cached_property
    def dtype(self) -> np.dtype:
        """The type of values: the same in all boxes of a level, in files of AMReX and Pillion."""
        if self._list.dtype is not None:
            return self._list.dtype
        return self._place(0).dtype if len(self.boxes) > 0 else np.dtype(np.float64)

    def read(
        self, box: int, field: str | Sequence[str], out: np.ndarray | None = None
    ) -> np.ndarray:
        """The values of one box. Several names give [z, y, x, component]."""
        lo, hi = self.boxes[box]
        spans = list(zip(lo.tolist(), hi.tolist(), strict=True))[::-1]
        names = [field] if isinstance(field, str) else list(field)
        shape = [b - a for a, b in spans] + ([] if isinstance(field, str) else [len(names)])
        if out is None:
            out = np.empty(shape, self.dtype.newbyteorder("="))
        self._read_into(box, names, spans, out.reshape([*shape[: len(spans)], len(names)]))
        return out

    def read_part(self, field: Sequence[str], part: Box, out: np.ndarray) -> int:
        """Reads a part of the level's domain, z first, into [z, y, x, component] from all boxes
        that have some of it. Returns the number of cells that were there; others stay as they are.
        """
        lo, hi = (np.array([span[n] for span in part][::-1]) for n in (0, 1))
        common = np.stack(
            [np.maximum(self.boxes[:, 0], lo), np.minimum(self.boxes[:, 1], hi)], axis=1
        )
        found = 0
        for box in np.flatnonzero((common[:, 0] < common[:, 1]).all(axis=1)).tolist():
            spans = [(int(a), int(b)) for a, b in zip(*common[box], strict=True)][::-1]
            at = (slice(a - p, b - p) for (a, b), (p, _) in zip(spans, part, strict=True))
            self._read_into(box, field, spans, out[tuple(at)])
            found += math.prod(b - a for a, b in spans)
        return found

    def _read_into(self, box: int, names: Sequence[str], spans: Box, out: np.ndarray) -> None:
        """`spans` are cells of the box, z first."""
        place = self._place(box)
        within = [(a - p, b - p) for (a, b), p in zip(spans, place.lo, strict=True)]
        size = math.prod(place.shape) * place.dtype.itemsize
        for c, name in enumerate(names):
            if name not in self._header.names:
                known = ", ".join(self._header.names)
                raise Error(f"'{self._path.parent.parent}' has no field '{name}'; it has {known}")
            offset = place.offset + size * self._header.names.index(name)
            read_box(place.path, offset, place.dtype, place.shape, within, out[..., c])

    def _place(self, box: int) -> "_Place":
        of = self._list
        path, offset, axes = (
            self._path.parent / of.files[box],
            int(of.offsets[box]),
            len(self.cells),
        )
        stored = of.boxes[box] + np.outer([-1, 1], of.ghosts)
        dtype = of.dtype
        if dtype is None:
            offset, dtype, found, components = read_box_head(path, offset, axes)
            found = found - np.array(self._head.lo)
            if components != of.components or not (found == stored).all():
                raise refusal(path, f"box {box} is not the one that its level lists")
        shape = tuple((stored[1] - stored[0])[::-1].tolist())
        return _Place(path, offset, dtype, tuple(stored[0][::-1].tolist()), shape)

    def expect_whole(self) -> None:
        """Raises Error unless all files have all values of all boxes."""
        last: dict[str, int] = {}
        offsets = self._list.offsets
        for box, file in enumerate(self._list.files):
            if file not in last or offsets[box] > offsets[last[file]]:
                last[file] = box
        for box in last.values():
            place = self._place(box)
            count = math.prod(place.shape) * self._list.components
            needed = place.offset + count * place.dtype.itemsize
            try:
                there = place.path.stat().st_size
            except OSError as error:
                raise refusal(place.path, str(error.strerror)) from error
            if there < needed:
                raise refusal(
                    place.path, f"it is cut short: it has {there} bytes, and its boxes {needed}"
                )


@dataclass(frozen=True)
class _Place:
    """The place of a box's values; z first."""

    path: Path
    offset: int
    dtype: np.dtype
    lo: tuple[int, ...]  # with its ghost cells
    shape: tuple[int, ...]


def fields_of(names: Sequence[str], declared: dict[str, int]) -> dict[str, tuple[str, ...]]:
    """Fields, each with the names of its components. NAME_0, NAME_1 and so on are one field NAME
    if Pillion `declared` it to have that many components or, in other plotfiles, if no component is
    missing; the components remain fields, too.
    """
    out: dict[str, tuple[str, ...]] = {name: (name,) for name in names}
    for name in names:
        whole = name.removesuffix("_0")
        if whole == name or whole in out:
            continue
        parts: list[str] = []
        while (part := f"{whole}_{len(parts)}") in names:
            parts.append(part)
        if len(parts) == declared.get(whole, len(parts)) and len(parts) > 1:
            out[whole] = tuple(parts)
    return out
