# SPDX-License-Identifier: BSD-3-Clause
"""VTKHDF files of one step whose values are in blocks: unstructured grids, and boxes of cells at
levels of refinement. They are described as raw files are, so both are read in the same way.

https://docs.vtk.org/en/latest/vtk_file_formats/vtkhdf_file_format/vtkhdf_specifications.html
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from pillion.datasets.file_arrays import Box
from pillion.datasets.hdf5_arrays import h5py, opened
from pillion.datasets.hdf5_blocks import Hdf5Box, Hdf5Rows, slabs_of
from pillion.datasets.kept import Kept
from pillion.datasets.raw_blocks import Arrays, RawArray, RawBlock, RawField, RawIndex
from pillion.errors import Error

GRID, LEVELS = "UnstructuredGrid", "OverlappingAMR"
IMAGES = ("ImageData", "RectilinearGrid")  # arrays of whole meshes, which are divided in slabs
POINTS = "Points"  # the dataset of coordinates
_LAGRANGE, _LINEAR = {70: 2, 72: 3}, {9: 2, 12: 3}  # dimensions by VTK's types of cells
_POLYHEDRA = {  # by the names of `Session.share_cells`
    "face_offsets": "FaceOffsets",
    "face_points": "FaceConnectivity",
    "polyhedron_offsets": "PolyhedronOffsets",
    "polyhedron_faces": "PolyhedronToFaces",
}
_INDICES = np.dtype(np.int64)


@dataclass(frozen=True)
class VtkField(RawField):
    """A field of such a file."""

    group: str = ""  # of its dataset, in each level if there are levels
    dataset: str = ""
    type: str = GRID
    components: int = 1
    rows: int = 1  # as in Hdf5Rows
    has_points_in_items: bool = False

    @property
    def is_of_points(self) -> bool:
        return self.is_at_points or self.has_points_in_items

    def array_of(self, block: RawBlock) -> RawArray:
        level = f"Level{block.level}/" if self.type == LEVELS else ""
        dataset = f"VTKHDF/{level}{self.group}{self.dataset}"
        box = self.box_of(block)
        shape = (*(hi - lo for lo, hi in box), *self.inner)
        if self.type in IMAGES:
            corner = tuple(lo for lo, _ in box)
            return Hdf5Box(block.path, self.dtype, shape, 0, dataset, corner)
        return Hdf5Rows(
            block.path,
            self.dtype,
            shape,
            block.offsets[self.is_of_points],
            dataset,
            self.components,
            self.rows,
            self.has_points_in_items,
        )

    def expect_whole(self, index: RawIndex, shape: Sequence[int]) -> None:
        """Raises Error unless datasets have a row for all that the blocks have."""
        if self.type in IMAGES:
            return self._expect_shape(index, shape)
        needed: dict[str, int] = {}
        for block in index.blocks:
            array = self.array_of(block)
            assert isinstance(array, Hdf5Rows)
            rows = math.prod(array.shape[: len(array.shape) - len(self.inner)]) * self.rows
            needed[array.dataset] = max(needed.get(array.dataset, 0), array.offset + rows)
        with opened(index.path) as file:
            for dataset, rows in needed.items():
                there = len(file[dataset]) if dataset in file else 0
                if there != rows:
                    raise Error(
                        f"'{index.path}' cannot be read: its dataset '{dataset}' has {there} rows, "
                        f"and its blocks need {rows}"
                    )

    def _expect_shape(self, index: RawIndex, shape: Sequence[int]) -> None:
        with opened(index.path) as file:
            found = file[f"VTKHDF/{self.group}{self.dataset}"].shape
        if found != tuple(shape):
            raise Error(
                f"'{index.path}' cannot be read: its dataset '{self.group}{self.dataset}' has "
                f"shape {list(found)}, and its mesh needs {list(shape)}"
            )


@dataclass(frozen=True)
class VtkFile:
    """A file, whatever mesh it is read for."""

    type: str  # GRID, LEVELS or one of IMAGES
    arrays: dict[str, str]  # "PointData/" or "CellData/", by the names of arrays
    patches: tuple[str, ...]  # of a boundary that `write_vtkhdf` has written


def look_into_vtkhdf(path: Path) -> VtkFile | None:
    """None if the file is of another format, or its type has no blocks."""
    with opened(path) as file:
        top = file.get("VTKHDF")
        kind = _text(top.attrs.get("Type")) if isinstance(top, h5py.Group) else ""
        if kind not in (GRID, LEVELS, *IMAGES):
            return None
        if "Steps" in top and kind not in IMAGES:
            raise Error(
                f"'{path}' holds several steps, which are not read from unstructured grids and "
                "levels; write a file for each step"
            )
        of = top.get("Level0", {}) if kind == LEVELS else top
        arrays = {
            name: f"{group}/" for group in ("CellData", "PointData") for name in of.get(group, ())
        }
        names = top.get("FieldData/patch_names")
        patches = () if names is None or not _is_own(file) else tuple(map(_text, names[...]))
        return VtkFile(kind, arrays, patches)


def index_of_vtkhdf(path: Path, kind: str, axes: int) -> RawIndex:
    """The blocks of a file. `kind` and `axes` are those of the mesh that it is read for: a grid can
    be unstructured, curvilinear or spectral. Raises Error if it cannot be of that kind.
    """
    if not path.exists():
        raise Error(f"'{path}' cannot be read: there is no such file")
    return _indices[kind, axes](path)


def field_of_vtkhdf(path: Path, name: str, of: VtkFile, kind: str, components: int) -> VtkField:
    """A field on a mesh of that kind; `name` is POINTS or one of its arrays. `components` are
    expected of coordinates, which may be in a plane.
    """
    group = "" if name == POINTS else of.arrays[name]
    with opened(path) as file:
        top = file["VTKHDF"]
        dataset = (top["Level0"] if of.type == LEVELS else top)[group + name]
        axes = len(_cells_of(top)) if of.type in IMAGES else 1
        in_file = math.prod(dataset.shape[axes:])
        found = min(components, in_file) if name == POINTS or kind == "spectral" else in_file
        inner: tuple[int, ...] = (found,) if found > 1 else ()
        at_points, rows = group != "CellData/", 1
        if kind == "spectral":
            shape = _elements_of(path, top)
            rows = shape.points if at_points else shape.cells
            inner += (shape.order + 1,) * shape.axes if at_points else ()
        return VtkField(
            name,
            -1 if name == POINTS else 0,
            dataset.dtype,
            inner,
            is_at_points=at_points and kind != "spectral",
            group=group,
            dataset=name,
            type=of.type,
            components=found,
            rows=rows,
            has_points_in_items=at_points and kind == "spectral",
        )


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _is_own(file: h5py.File) -> bool:
    """Whether the stage `write_vtkhdf` has written it."""
    return "origin" in file.attrs and "mesh" in file.attrs


@dataclass(frozen=True)
class _Elements:
    """The size of each spectral element in a grid."""

    axes: int
    order: int
    cells: int

    @property
    def points(self) -> int:
        return (self.order + 1) ** self.axes


def _elements_of(path: Path, top: h5py.Group) -> _Elements:
    """Elements are one Lagrange cell each, or linear cells between their points."""
    cells, points = int(np.sum(top["NumberOfCells"])), int(np.sum(top["NumberOfPoints"]))
    kind = int(top["Types"][0]) if cells > 0 else 0
    ratio = points / max(cells, 1)
    if axes := _LAGRANGE.get(kind, 0):
        found = _Elements(axes, round(ratio ** (1 / axes)) - 1, 1)
    elif (axes := _LINEAR.get(kind, 0)) and ratio > 1:
        order = round(1 / (ratio ** (1 / axes) - 1))
        found = _Elements(axes, order, order**axes)
    else:
        found = _Elements(0, 0, 1)
    if found.order < 1 or points * found.cells != cells * found.points:
        raise Error(f"'{path}' cannot be read for a spectral mesh: its cells are no such elements")
    return found


def _read(path: Path, kind: str, axes: int) -> RawIndex:
    with opened(path) as file:
        top = file["VTKHDF"]
        try:
            kind_of_file = _text(top.attrs["Type"])
            if kind_of_file == LEVELS:
                blocks = _boxes(path, top, axes)
            elif kind_of_file in IMAGES:
                return slabs_of(path, _cells_of(top))
            else:
                blocks = _parts(path, file, kind)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise Error(
                f"'{path}' cannot be read: it lacks or garbles a part of its format: {error}"
            ) from error
    return RawIndex(path, tuple(blocks), None)


def _boxes(path: Path, top: h5py.Group, axes: int) -> list[RawBlock]:
    """Cells of boxes are one behind the other in the datasets of a level."""
    out: list[RawBlock] = []
    level = 0
    while f"Level{level}" in top:
        boxes = np.asarray(top[f"Level{level}/AMRBox"][...], np.int64).reshape(-1, 3, 2)
        first = 0
        for ends in boxes:
            box = tuple((int(lo), int(hi) + 1) for lo, hi in ends[:axes][::-1])
            out.append(RawBlock(path, box, (first,), level, True))
            first += math.prod(int(hi) + 1 - int(lo) for lo, hi in ends)
        level += 1
    return out


def _cells_of(top: h5py.Group) -> tuple[int, ...]:
    """Cells of an image or a rectilinear grid, [z, y, x]; without axes of one point."""
    if "WholeExtent" in top.attrs:
        ends = np.asarray(top.attrs["WholeExtent"], np.int64).reshape(3, 2)
        cells = (ends[:, 1] - ends[:, 0]).tolist()
    else:
        cells = [len(top[f"{axis}Coordinates"]) - 1 for axis in "XYZ"]
    while len(cells) > 1 and cells[-1] == 0:
        cells.pop()
    return tuple(cells[::-1])


def _starts(counts: np.ndarray, more: int = 0) -> list[int]:
    """The first rows of parts, which have `more` rows than these counts."""
    return [0, *np.cumsum(counts + more).tolist()]


def _parts(path: Path, file: h5py.File, kind: str) -> list[RawBlock]:
    top = file["VTKHDF"]
    cells, points = (
        np.asarray(top[f"NumberOf{what}"][...], np.int64).reshape(-1)
        for what in ("Cells", "Points")
    )
    first_cells, first_points = _starts(cells), _starts(points)
    boxes = _boxes_of_parts(path, file, kind, len(cells))
    each = _elements_of(path, top) if kind == "spectral" else _Elements(0, 0, 1)
    geometry = _geometry(path, file) if kind == "unstructured" else [({}, {})] * len(cells)
    out = []
    for part, (of_points, of_cells) in enumerate(geometry):
        span = first_cells[part] // each.cells, first_cells[part + 1] // each.cells
        point_span = first_points[part], first_points[part + 1]
        out.append(
            RawBlock(
                path,
                (span,) if boxes is None else boxes[part],
                (first_cells[part], first_points[part]),
                is_box=boxes is not None,
                id=part,
                point_range=point_span if kind == "unstructured" else None,
                points=of_points,
                cells=of_cells,
            )
        )
    return out


def _boxes_of_parts(path: Path, file: h5py.File, kind: str, parts: int) -> list[Box] | None:
    """The boxes of curvilinear or rectilinear blocks, as the stage `write_vtkhdf` stores them."""
    if kind not in ("curvilinear", "rectilinear"):
        return None
    if "block_boxes" not in file or len(file["block_boxes"]) != parts:
        raise Error(
            f"'{path}' cannot be read for a {kind} mesh: it lacks the dataset 'block_boxes' "
            "with the box of each part, which write_vtkhdf writes"
        )
    return [
        [(int(a), int(b)) for a, b in zip(lo[::-1], hi[::-1], strict=True)]
        for lo, hi in file["block_boxes"][...]
    ]


def _geometry(path: Path, file: h5py.File) -> list[tuple[Arrays, Arrays]]:
    """Points and cells of each part. Indices are counted from 0 within the part, and its offsets
    are one more than what they are of.
    """
    top = file["VTKHDF"]

    def rows(dataset: str, first: int, count: int, dtype: np.dtype, row: int = 0) -> RawArray:
        if first + count > len(top[dataset]):
            raise ValueError(f"dataset '{dataset}' has {len(top[dataset])} rows")
        shape = (count, row) if row else (count,)
        return Hdf5Rows(path, dtype, shape, first, f"VTKHDF/{dataset}", max(row, 1))

    def counts(what: str) -> np.ndarray:
        found = top.get(f"NumberOf{what}")
        return np.zeros(parts, np.int64) if found is None else np.asarray(found[...], np.int64)

    parts = len(top["NumberOfCells"])
    names = ("Cells", "Points", "ConnectivityIds", "Faces", "FaceConnectivityIds")
    of = {name: counts(name) for name in (*names, "PolyhedronToFaceIds")}
    first = {name: _starts(found) for name, found in of.items()}
    offsets, face_offsets = _starts(of["Cells"], 1), _starts(of["Faces"], 1)
    per_cell: dict[str, tuple[str, np.dtype]] = {
        "flags": ("CellData/vtkGhostType", np.dtype(np.uint8))
    }
    per_cell["ids"] = ("CellData/GlobalCellIds", _INDICES)
    if _is_own(file):
        per_cell["parents"] = ("CellData/parent", _INDICES)
        per_cell["patches"] = ("CellData/patch", np.dtype(np.int32))
    has_point_ids = "PointData/GlobalPointIds" in top
    out: list[tuple[Arrays, Arrays]] = []
    for p in range(parts):
        n = {name: int(found[p]) for name, found in of.items()}
        at = {name: found[p] for name, found in first.items()}
        of_points = {"coordinates": rows(POINTS, at["Points"], n["Points"], top[POINTS].dtype, 3)}
        if has_point_ids:
            of_points["ids"] = rows("PointData/GlobalPointIds", at["Points"], n["Points"], _INDICES)
        of_cells = {
            "types": rows("Types", at["Cells"], n["Cells"], np.dtype(np.uint8)),
            "offsets": rows("Offsets", offsets[p], n["Cells"] + 1, _INDICES),
            "points": rows("Connectivity", at["ConnectivityIds"], n["ConnectivityIds"], _INDICES),
        }
        if n["Faces"] > 0:
            place = {
                "face_offsets": (face_offsets[p], n["Faces"] + 1),
                "face_points": (at["FaceConnectivityIds"], n["FaceConnectivityIds"]),
                "polyhedron_offsets": (offsets[p], n["Cells"] + 1),
                "polyhedron_faces": (at["PolyhedronToFaceIds"], n["PolyhedronToFaceIds"]),
            }
            for name, dataset in _POLYHEDRA.items():
                of_cells[name] = rows(dataset, *place[name], _INDICES)
        for name, (dataset, dtype) in per_cell.items():
            if dataset in top:
                of_cells[name] = rows(dataset, at["Cells"], n["Cells"], dtype)
        out.append((of_points, of_cells))
    return out


_indices: dict[tuple[str, int], Kept[RawIndex]] = {
    (kind, axes): Kept(partial(_read, kind=kind, axes=axes))
    for kind in ("uniform", "rectilinear", "curvilinear", "unstructured", "spectral")
    for axes in range(4)
}
