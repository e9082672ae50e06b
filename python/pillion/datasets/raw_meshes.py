# SPDX-License-Identifier: BSD-3-Clause
"""Points and cells of a mesh at a step, from the blocks of raw files. They are in the order in
which datasets have the values: the axes `cell` and `point` of these are indices here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pillion.datasets.raw_blocks import RawBlock, RawIndex, coordinates_in, fields_in, garbled
from pillion.datasets.raw_datasets import heads, index_at
from pillion.errors import Error

Array = np.ndarray[Any, Any]
NO_ID = -1  # where a block gave none, and others did


@dataclass(frozen=True)
class StoredMesh:
    """Points and cells, in VTK's model. Points that blocks share are there once for each block.

    Attributes:
        coordinates: (points, 3) of an unstructured mesh, where axes that the mesh lacks are 0. A
            curvilinear mesh has [z, y, x, component], one point more along each axis than cells;
            the rest is None then.
        types: VTK's type of each cell.
        offsets: one more than cells: cell c has the points `points[offsets[c]:offsets[c + 1]]`.
        points: indices of points.
        face_offsets: of polyhedra: face f has the points
            `face_points[face_offsets[f]:face_offsets[f + 1]]`. This and the next three are None if
            no cell is a polyhedron.
        face_points: indices of points.
        polyhedron_offsets: one more than cells: cell c has the faces
            `polyhedron_faces[polyhedron_offsets[c]:polyhedron_offsets[c + 1]]`.
        polyhedron_faces: indices of faces.
        flags: bits of each cell, as VTK has them: 1 if it is a copy of another block's cell.
        point_ids, cell_ids: numbers in the whole mesh, or None.
        parents: of a boundary: the id of the cell that each cell bounds, or None.
        patches: of each cell, an index into `patch_names`, or None.
    """

    coordinates: Array
    types: Array | None = None
    offsets: Array | None = None
    points: Array | None = None
    face_offsets: Array | None = None
    face_points: Array | None = None
    polyhedron_offsets: Array | None = None
    polyhedron_faces: Array | None = None
    flags: Array | None = None
    point_ids: Array | None = None
    cell_ids: Array | None = None
    parents: Array | None = None
    patches: Array | None = None
    patch_names: tuple[str, ...] = ()


def mesh_at(path: Path, step: int) -> StoredMesh:
    """The mesh of the dataset with this head. Raises Error if it has no such step, or no points."""
    index, head = index_at(path, step), heads(path)
    try:
        mesh = head["mesh"]
        if mesh.get("kind") == "curvilinear":
            return StoredMesh(_coordinates_in_boxes(head, index))
        if mesh.get("kind") != "unstructured":
            raise Error(
                f"mesh '{mesh['name']}' in {path} has no points of its own; the coordinates of "
                "the dataset define its cells"
            )
        names = tuple(str(name) for name in mesh.get("patches") or ())
        return _joined(index.blocks, names)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise garbled(index.path, error) from error


def _coordinates_in_boxes(head: dict[str, Any], index: RawIndex) -> Array:
    name = str(head["mesh"]["coordinates"])
    of = coordinates_in(head, index) or {of.name: of for of in fields_in(head)}[name]
    shape = [int(n) + 1 for n in reversed(head["mesh"]["cells"])]
    out = np.empty((*shape, *of.inner), of.dtype)
    of.read(index, [(0, n) for n in shape], out)
    return out


def _joined(blocks: Sequence[RawBlock], patch_names: tuple[str, ...]) -> StoredMesh:
    cells = [{name: array.read() for name, array in block.cells.items()} for block in blocks]
    counts = [block.count for block in blocks]
    points = [hi - lo for lo, hi in (block.point_range or (0, 0) for block in blocks)]
    faces = [max(0, len(of["face_offsets"]) - 1) if "face_offsets" in of else 0 for of in cells]

    def join(name: str, shifts: Sequence[int]) -> Array:
        """Indices of all blocks, each in the numbers of the whole."""
        ends = np.cumsum([0, *shifts])
        found = [of[name] + first for of, first in zip(cells, ends[:-1], strict=True) if name in of]
        return np.concatenate([np.empty(0, np.int64), *found])

    def offsets(name: str, sizes: Sequence[int]) -> Array:
        """The offsets of the whole. A block without any has `sizes` things without entries."""
        lengths = [
            np.diff(block[name]) if name in block else np.zeros(size, np.int64)
            for block, size in zip(cells, sizes, strict=True)
        ]
        return np.concatenate([np.zeros(1, np.int64), *lengths]).cumsum()

    def of_each(name: str, dtype: str, standard: int) -> Array | None:
        return _of_each([of.get(name) for of in cells], counts, dtype, standard)

    polyhedra = {}
    if any(faces):
        polyhedra = {
            "face_offsets": offsets("face_offsets", faces),
            "face_points": join("face_points", points),
            "polyhedron_offsets": offsets("polyhedron_offsets", counts),
            "polyhedron_faces": join("polyhedron_faces", faces),
        }
    ids = [block.points["ids"].read() if "ids" in block.points else None for block in blocks]
    coordinates = [block.points["coordinates"].read() for block in blocks]
    return StoredMesh(
        np.concatenate([np.empty((0, 3)), *coordinates]),
        np.concatenate([np.empty(0, np.uint8), *(of["types"] for of in cells)]),
        offsets("offsets", counts),
        join("points", points),
        **polyhedra,
        flags=of_each("flags", "u1", 0),
        point_ids=_of_each(ids, points, "i8", NO_ID),
        cell_ids=of_each("ids", "i8", NO_ID),
        parents=of_each("parents", "i8", NO_ID),
        patches=of_each("patches", "i4", NO_ID),
        patch_names=patch_names,
    )


def _of_each(
    found: Sequence[Array | None], counts: Sequence[int], dtype: str, standard: int
) -> Array | None:
    """A value for each cell or point; None if no block has any."""
    if all(values is None for values in found):
        return None
    parts = [
        np.full(count, standard, dtype) if values is None else values.astype(dtype)
        for values, count in zip(found, counts, strict=True)
    ]
    return np.concatenate(parts)
