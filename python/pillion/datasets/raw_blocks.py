# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of raw files: the YAML index of the blocks, their points and cells, and reading a part of
a field from the blocks that have some of it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pillion import shared_files
from pillion.datasets.file_arrays import Box, read_box
from pillion.datasets.kept import Kept
from pillion.errors import Error
from pillion.idx.origin import scalars_of
from pillion.yaml_text import ProductLoader, explained


@dataclass(frozen=True)
class RawArray:
    """An array of the points or cells of a block."""

    path: Path
    dtype: np.dtype
    shape: tuple[int, ...]
    offset: int  # of its first value in the file

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def read(self) -> np.ndarray:
        """Raises Error if the file cannot be read, or has ended before."""
        out = np.empty(self.shape, self.dtype)
        self.read_box([(0, n) for n in self.shape], out)
        return out

    def read_box(self, box: Box, out: np.ndarray) -> None:
        """Reads a box into an array of its shape, of a type that loses nothing. Raises Error."""
        read_box(self.path, self.offset, self.dtype, self.shape, box, out)


Arrays = Mapping[str, RawArray]


@dataclass(frozen=True)
class RawBlock:
    """A block of a step. Items are cells, particles or elements. Points of boxes are those of the
    box; only blocks of unstructured meshes have a range of points and `cells`."""

    path: Path
    box: Box  # of its items: [z, y, x] or, of particles and elements, which they are among all
    offsets: tuple[int, ...]  # in the file, by field
    level: int = 0  # of a mesh with levels: its items are cells of this one
    is_box: bool = False  # of cells with an index along each axis
    id: int = 0  # that the block had in the run; 0 of a box
    point_range: tuple[int, int] | None = None  # which they are among all points
    points: Arrays = field(default_factory=dict)  # `coordinates` and `ids`
    cells: Arrays = field(default_factory=dict)  # by the names of `Session.share_cells`

    @property
    def count(self) -> int:
        return math.prod(hi - lo for lo, hi in self.box)

    def box_with(self, more: tuple[int, ...]) -> Box:
        """The range of its points; of a box, with `more` items than cells along each axis of
        [z, y, x].
        """
        if self.point_range is not None:
            return [self.point_range]
        return [(lo, hi + n) for (lo, hi), n in zip(self.box, more, strict=True)]


@dataclass(frozen=True)
class RawIndex:
    """The contents of a raw dataset at a step."""

    path: Path
    blocks: tuple[RawBlock, ...]
    domain: Mapping[str, Any] | None  # of particles, as the file has it
    faces: tuple[np.ndarray, ...] = ()  # of a rectilinear mesh, by axis
    scalars: Mapping[str, float] = field(default_factory=dict)  # of the simulation at that step

    @property
    def items(self) -> int:
        return sum(block.count for block in self.blocks)

    @property
    def points(self) -> int:
        """The number of points of an unstructured mesh; each block counts its own."""
        return max((block.point_range[1] for block in self.blocks if block.point_range), default=0)

    def expect_geometry(self) -> None:
        """Raises Error unless files have the points and cells of all blocks."""
        sizes: dict[Path, int] = {}
        for block in self.blocks:
            for array in (*block.points.values(), *block.cells.values()):
                there = sizes.setdefault(array.path, _size_of(array.path))
                if array.offset + array.nbytes > there:
                    raise _cut_short(array.path, there, "points and cells need", array)


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise Error(f"'{path}' cannot be read: {error.strerror}") from error


def _cut_short(path: Path, there: int, what: str, array: RawArray) -> Error:
    needed = array.offset + array.nbytes
    return Error(
        f"'{path}' cannot be read: it is cut short: it has {there} bytes, and {what} {needed}"
    )


def read_map(path: Path) -> dict[str, Any]:
    """The head of a dataset or the index of a step. Raises Error if it is none."""
    try:
        found = yaml.load(shared_files.read_text(path), Loader=ProductLoader)
    except OSError as error:
        raise Error(f"'{path}' cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Error(f"'{path}' cannot be read: {error}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark is not None else ""
        why = explained("", error).partition(": ")[2].removeprefix("not valid YAML: ")
        raise Error(
            f"'{path}' cannot be read: {line}it is not an index of raw files: {why}"
        ) from error
    if not isinstance(found, dict):
        raise Error(f"'{path}' cannot be read: it is not an index of raw files")
    return found


def garbled(path: Path, error: Exception) -> Error:
    """For entries of such a file that are missing or are not what they should be."""
    return Error(f"'{path}' cannot be read: it lacks or garbles an entry: {error!r}")


Geometry = list[tuple[Arrays, Arrays]]  # points and cells, by block


def _read_index(path: Path) -> RawIndex:
    found = read_map(path)
    try:
        folder = path.parent.parent
        # Steps share it: as a rule the mesh stays.
        geometry = _geometries(folder / str(found["mesh"])) if "mesh" in found else None
        blocks = tuple(_blocks(found, folder, geometry))
        faces = tuple(np.array(axis, np.float64) for axis in found.get("coordinates") or ())
        return RawIndex(path, blocks, found.get("domain"), faces, scalars_of(found))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise garbled(path, error) from error


def _read_geometry(path: Path) -> Geometry:
    found, folder = read_map(path), path.parent.parent
    try:
        return [
            (_arrays(entry.get("points") or {}, folder), _arrays(entry.get("cells") or {}, folder))
            for entry in found["blocks"] or []
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise garbled(path, error) from error


def _blocks(index: dict[str, Any], folder: Path, geometry: Geometry | None) -> Iterator[RawBlock]:
    """Files are named as seen from the folder of the head, which is that above the index."""
    before = points = 0
    entries = index.get("blocks") or []
    if geometry is None:
        geometry = [({}, {})] * len(entries)
    # Two datasets of one run may list blocks in different orders.
    pairs = sorted(zip(entries, geometry, strict=True), key=lambda pair: int(pair[0].get("id", 0)))
    for entry, of_block in pairs:
        count = int(entry["count"])
        box: list[tuple[int, int]] = [(before, before + count)]
        if "lo" in entry:
            ends = zip(reversed(entry["lo"]), reversed(entry["hi"]), strict=True)
            box = [(int(lo), int(hi)) for lo, hi in ends]
        before += count
        point_range = None
        if "point_count" in entry:
            point_range = points, points + int(entry["point_count"])
            points = point_range[1]
        yield RawBlock(
            folder / str(entry["file"]),
            tuple(box),
            tuple(int(offset) for offset in entry["offsets"]),
            int(entry.get("level", 0)),
            "lo" in entry,
            int(entry.get("id", 0)),
            point_range,
            *of_block,
        )


def _arrays(entry: Mapping[str, Any], folder: Path) -> Arrays:
    out = {}
    for name, of in entry.items():
        if name == "file":
            continue
        shape = tuple(int(n) for n in of["shape"])
        out[str(name)] = RawArray(
            folder / str(entry["file"]), np.dtype(of["type"]), shape, int(of["offset"])
        )
    return out


_geometries: Kept[Geometry] = Kept(_read_geometry, 16 << 20)
_indices: Kept[RawIndex] = Kept(_read_index, 4 << 20)


def index_of(path: Path) -> RawIndex:
    """The index of a step. Raises Error if it cannot be read."""
    if not path.exists():
        raise Error(f"'{path}' cannot be read: there is no such file")
    return _indices(path)


@dataclass(frozen=True)
class RawField:
    """A field of such a dataset: which of the blocks' fields it is, and what each item has."""

    name: str
    number: int  # -1: the coordinates of points, which are with the points
    dtype: np.dtype
    inner: tuple[int, ...]  # components if there are several, then points of an element
    is_partial: bool = False  # blocks need not cover the mesh
    is_at_points: bool = False  # its items are points, faces or edges, which blocks may share
    more: tuple[int, ...] = ()  # of boxes: how many more of these than cells along [z, y, x]

    def box_of(self, block: RawBlock) -> Box:
        """The range of items that a block has of the field."""
        return block.box_with(self.more) if self.is_at_points else block.box

    def array_of(self, block: RawBlock) -> RawArray:
        """The field in a block."""
        box = self.box_of(block)
        if self.number < 0:
            return block.points["coordinates"]
        shape = (*(hi - lo for lo, hi in box), *self.inner)
        return RawArray(block.path, self.dtype, shape, block.offsets[self.number])

    def read(self, index: RawIndex, box: Box, out: np.ndarray) -> None:
        """Reads a box of items into an array of its shape and `inner`, of a type that loses
        nothing; of a mesh with levels, cells of the coarsest. Cells that a partial mesh lacks
        become NaN, or 0 if the values are integers. Raises Error if a file cannot be read, or if
        blocks do not cover the box of another mesh.
        """
        if self.is_partial:
            out[...] = np.nan if out.dtype.kind == "f" else 0
        missing = math.prod(hi - lo for lo, hi in box)
        seen = np.zeros([hi - lo for lo, hi in box] if self.is_at_points else 0, bool)
        for block in index.blocks:
            ends = zip(box, self.box_of(block), strict=True)
            common = [(max(a, c), min(b, d)) for (a, b), (c, d) in ends]
            if block.level > 0 or any(lo >= hi for lo, hi in common):
                continue
            ends = zip(common, box, strict=True)
            here = tuple(slice(lo - first, hi - first) for (lo, hi), (first, _) in ends)
            self._read_common(block, common, out[here])
            if self.is_at_points:  # which blocks share
                seen[here] = True
            missing -= math.prod(hi - lo for lo, hi in common)
        is_covered = seen.all() if self.is_at_points else missing == 0
        if not self.is_partial and not is_covered:
            raise Error(f"'{index.path}' cannot be read: blocks of a step do not cover the mesh")

    def read_block(self, block: RawBlock, out: np.ndarray) -> None:
        """Reads all items of a block, as `read` does."""
        self._read_common(block, self.box_of(block), out)

    def _read_common(self, block: RawBlock, common: Box, out: np.ndarray) -> None:
        ends = zip(common, self.box_of(block), strict=True)
        within = [(lo - first, hi - first) for (lo, hi), (first, _) in ends]
        inner: list[tuple[int, int]] = [(0, extent) for extent in self.inner]
        self.array_of(block).read_box(within + inner, out)

    def expect_whole(self, index: RawIndex, shape: Sequence[int]) -> None:
        """Raises Error unless all files have what the blocks of a step should have, and all blocks
        together, of the coarsest level, have as many values as an array of this shape.
        """
        for block in index.blocks:
            if len(block.offsets) <= self.number or any(lo > hi for lo, hi in block.box):
                raise Error(f"'{index.path}' cannot be read: a block of '{block.path}' is garbled")
            array = self.array_of(block)
            there = _size_of(array.path)
            if array.offset + array.nbytes > there:
                raise _cut_short(array.path, there, f"field '{self.name}' needs", array)
        each = math.prod(self.inner)
        found = sum(block.count for block in index.blocks if block.level == 0)
        if self.is_at_points and all(block.point_range is None for block in index.blocks):
            extents = shape[: len(shape) - len(self.inner)]
            wanted = math.prod(n - more for n, more in zip(extents, self.more, strict=True))
        else:
            found = index.points if self.is_at_points else found
            wanted = math.prod(shape) // each
        if found != wanted and not self.is_partial:
            raise Error(
                f"'{index.path}' cannot be read: its blocks have {found * each} values of field "
                f"'{self.name}', and the mesh {wanted * each}"
            )


def fields_in(head: Mapping[str, Any]) -> list[RawField]:
    """The fields of a dataset, from its head."""
    mesh, out = head["mesh"], []
    for number, entry in enumerate(head["fields"]):
        components = int(entry["components"])
        inner: tuple[int, ...] = (components,) if components > 1 else ()
        more = _more_than_cells(entry, len(mesh.get("cells", ())))
        is_at_points = entry.get("centering") == "point" or any(more)
        if is_at_points and "order" in mesh:
            points = int(entry.get("points", int(mesh["order"]) + 1))
            inner += (points,) * int(mesh.get("dimensions", 3))
            is_at_points = False
        is_partial = mesh.get("covered") == "partial"
        dtype = np.dtype(entry["type"])
        name = str(entry["name"])
        out.append(RawField(name, number, dtype, inner, is_partial, is_at_points, more))
    return out


def _more_than_cells(entry: Mapping[str, Any], axes: int) -> tuple[int, ...]:
    """How many more values than cells a field has along [z, y, x]."""
    centering = entry.get("centering")
    if centering not in ("face", "edge"):
        return (int(centering == "point"),) * axes
    one = axes - 1 - "xyz".index(str(entry["axis"]))
    return tuple(int((axis == one) == (centering == "face")) for axis in range(axes))


def coordinates_in(head: Mapping[str, Any], index: RawIndex) -> RawField | None:
    """The coordinates of a curvilinear mesh, unless they are among the fields of the dataset."""
    mesh = head["mesh"]
    name = str(mesh.get("coordinates") or "")
    if mesh.get("kind") != "curvilinear" or name in {str(f["name"]) for f in head["fields"]}:
        return None
    for block in index.blocks:
        array = block.points["coordinates"]
        return RawField(name, -1, array.dtype, array.shape[-1:], False, True, (1,) * len(block.box))
    return None
